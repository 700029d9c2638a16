#!/bin/sh
# couplet study --active: what to label next, simulated. See train_parts.sh for the arguments.
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/train_parts.sh"
quick="--preset quick --every 4 --buffer 64 --sgld 2 --batch 8 --unlabeled 8 --chains 8 --steps 8 --threads 1"
tiny="--labels 1,3,4 --methods hybrid --active random,entropy,mixed --seeds 3-4 $quick"

study() {
    "$couplet" study "$@" </dev/null
}

about study

labeled() { # run: its labeled rows, one per line
    awk '/"labeled": \[/ { inside = 1; next } inside && /\]/ { exit } inside { gsub(/[ ,]/, ""); print }' "$1/result.json" | sort
}

first_of_rank() { # run, rule, seed, count: the rows that couplet rank lists
    "$couplet" rank "$1" gray.npz --by "$2" --seed "$3" --count "$4" </dev/null | sed 1d | cut -d, -f1
}

same_tables() { # sentence, folder, folder
    for file in table.txt table.csv table.tex runs.csv result.json active.svg; do
        expect_success "$1: $file" cmp "$2/$file" "$3/$file"
    done
}

# shellcheck disable=SC2086 # options are words
{
    # ---- the runs ----

    study gray.npz $tiny --jobs 1 --out one >one.txt 2>&1
    expect_success "one run a seed is the start of all rules" test -d one/runs/gray-1-hybrid-3 -a -d one/runs/gray-1-hybrid-4
    expect_success "each further number of labels is a run a rule and seed" test "$(ls one/runs | wc -l)" -eq 14
    train gray.npz --method hybrid --labels 1 --seed 3 $quick --quiet --out start
    same_runs "the start is a training with drawn labels" one/runs/gray-1-hybrid-3 start
    for rule in random entropy mixed; do
        second=one/runs/gray-3-hybrid-rule=$rule-after-1-3
        third=one/runs/gray-4-hybrid-rule=$rule-after-1-3-3
        { labeled start && first_of_rank start $rule 3 6; } | sort >expected
        labeled $second >found
        expect_success "couplet rank --by $rule says which rows are added" cmp expected found
        { labeled $second && first_of_rank $second $rule 3 3; } | sort >expected
        labeled $third >found
        expect_success "and which are added to those, by the run before" cmp expected found
        expect_success "no row is labeled twice" test "$(sort -u found | wc -l)" -eq 12
    done
    train gray.npz --method hybrid --labeled-rows "one/rows/gray-4-hybrid-rule=mixed-after-1-3-3.csv" --seed 3 $quick --quiet --out alone
    expect_success "a run is one of couplet train --labeled-rows" cmp alone/end.safetensors "$third/end.safetensors"

    # ---- tables and figure ----

    expect_success "the table has a row for the start" grep -Eq "^gray +1 +hybrid +- +[0-9.]+ \(" one/table.txt
    expect_success "and one for every number of labels and rule" grep -Eq "^gray +4 +hybrid +mixed +[0-9.]+ \(" one/table.txt
    expect_success "differences are to random rows of the same seeds" grep -q "accuracy - random (end)" one/table.txt
    expected=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "test_end_accuracy") at = i; next }
        $3 == 4 && $5 == "random" { base[$6] = $at } $3 == 4 && $5 == "entropy" { own[$6] = $at }
        END { for (seed in own) { d = own[seed] - base[seed]; sum += d; wins += d > 0; n++ }; printf "%+.2f (%d of %d,", sum / n, wins, n }' one/runs.csv)
    expect_success "and means over seeds" grep -Eq "^gray +4 +hybrid +entropy +$(printf %s "$expected" | sed 's/[+()]/\\&/g')" one/table.txt
    expect_success "runs.csv has balanced accuracy and AUC by run" \
        test "$(sed -n 's/^gray,[0-9a-f]*,4,hybrid,entropy,4,done,//p' one/runs.csv | cut -d, -f1-3 | tr -d '0-9.e+-')" = ",,"
    expect_success "the figure has a line a rule and measure" test "$(grep -c '<g class="line"' one/active.svg)" -ge 6
    expect_success "with a band each" test "$(grep -c '<g class="errors".* opacity="0.15">' one/active.svg)" -eq 6
    expect_success "its CSV has the mean by the number of labels" grep -Eq '^"gray: accuracy, %","hybrid, entropy",line,"4",[0-9.]+,[0-9.]+,' one/active.csv
    expect_success "the files are named" grep -q "^Results: one/ (result.json, active.svg" one.txt

    # ---- again, in parallel, interrupted, elsewhere ----

    study gray.npz $tiny --jobs 2 --quiet --out two
    same_tables "two processes give the same tables and figure" one two
    cp -r one part
    rm -r part/rows part/runs/gray-4-* part/runs/gray-3-hybrid-rule=entropy-after-1-4
    expect 0 "left      7" --status part
    expect 1 "7 of 14 runs are missing in the tables" gray.npz $tiny --jobs 0 --out part
    study gray.npz $tiny --quiet --out part
    same_tables "what is missing is made" one part
    expect_success "and nothing else" test "$(cat part/runs/*/log.jsonl | grep -c '"event":"finish"')" -eq 14
    cp -r one stopped
    rm -r stopped/runs/gray-4-*
    COUPLET_INJECT=stop@5 "$couplet" study gray.npz $tiny --quiet --out stopped >/dev/null 2>&1 </dev/null
    mkdir elsewhere && cp gray.npz elsewhere && cp -r stopped elsewhere/moved
    (cd elsewhere && study gray.npz $tiny --quiet --out moved)
    same_tables "stopped runs are continued, also in another folder" one elsewhere/moved
    expect_success "from where they stopped" grep -q '"event":"start","step":6,' "elsewhere/moved/runs/gray-4-hybrid-rule=random-after-1-3-4/log.jsonl"
    cp -r one packed
    study --pack packed >packed.txt
    mkdir only && cp packed/runs.jsonl only
    study gray.npz $tiny --jobs 0 --quiet --out only
    same_tables "runs in one file give the same tables" one only
    cp -r one failing
    rm -r failing/runs/gray-3-hybrid-rule=random-after-1-3 failing/runs/gray-4-hybrid-rule=random-after-1-3-3 \
        failing/runs/gray-1-hybrid-3/selected.safetensors
    expect 1 "gray-3-hybrid-rule=random-after-1-3 failed: " gray.npz $tiny --out failing
    expect 1 "selected.safetensors" gray.npz $tiny --out failing
    expect_success "a run whose rows cannot be chosen is not started, nor are those after it" \
        test ! -e failing/runs/gray-3-hybrid-rule=random-after-1-3 -a ! -e failing/runs/gray-4-hybrid-rule=random-after-1-3-3
    study gray.npz --labels 1,4 --methods hybrid --active random --seeds 3 $quick --quiet --out one
    expect_success "rows chosen in other steps are other runs" test -s "one/runs/gray-4-hybrid-rule=random-after-1-3/result.json"

    # ---- rows without a label ----

    "$draw_images" some.npz 8 8 1 3 40 30 36 1 half
    study some.npz --labels 1,2 --methods softmax --active random,margin --seeds 0 $quick --quiet --out some
    labeled "some/runs/some-2-softmax-rule=margin-after-1-0" >found
    expect_success "only rows with a label are chosen" test "$(wc -l <found)" -eq 6 -a -z "$(grep '[13579]$' found)"
    expect 2 "some has 20 training images with a label" some.npz --labels 1,7 --methods softmax --active random --out some
}

# ---- what is refused ----

active="gray.npz --methods softmax --out x --active"
# shellcheck disable=SC2086
{
    expect 2 "--active: \"best\" is not one of entropy|margin|density|mixed|random" $active random,best
    expect 2 "--active: \"entrop\" is not one of" $active entrop
    expect 2 "--active: a value is missing" $active random,,entropy
    expect 2 "--active: random appears twice" $active random,random
    expect 2 "--active: mixed needs a density, and softmax has none" $active random,mixed
    expect 2 "--active: density needs a density" $active density
    expect 2 "--labels: --active needs several numbers, such as 1,3,7" $active random --labels 1
    expect 2 "--labels: with --active, numbers must ascend" $active random --labels 3,1
    expect 2 "--labels: 20 in 3 classes are 60 images; gray has 40 training images with a label" $active random --labels 1,20
    expect 2 "--active and --sweep cannot be combined" $active random --sweep rate=0.1,0.2
    expect 2 "--active cannot be combined with --list or --slurm" $active random --list
    expect 2 "--active cannot be combined with --list or --slurm" $active random --slurm
}
expect_success "nothing is made for what is refused" test ! -e x
finish
