#!/bin/sh
# couplet study, run as a user would run it: many runs by several processes, their files and messages.
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/train_parts.sh"
quick="--preset quick --every 4 --buffer 64 --sgld 2 --batch 8 --unlabeled 8 --chains 8"
tiny="--labels 1,3 --methods softmax,hybrid --seeds 0-1 --steps 8 --threads 1 $quick"

study() {
    "$couplet" study "$@" </dev/null
}

about study

same_tables() { # sentence, folder, folder
    for file in table.txt table.csv table.tex runs.csv result.json; do
        expect_success "$1: $file" cmp "$2/$file" "$3/$file"
    done
}

field() { # file, column: in its second line
    awk -F, -v column="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i } NR == 2 { print $at }' "$1"
}

error_bars() { # of a figure
    awk '/class="errors"/ { inside = 1 } /<\/g>/ { inside = 0 } inside && /<path/ { n++ } END { print n + 0 }' "$1"
}

events() { # folder, event: how often it is in the logs of the runs
    cat "$1"/runs/*/log.jsonl | grep -c "\"event\":\"$2\",\"time\""
}

bins() { # result.json, "count", "confidence" or "accuracy": of the test split at the end, a line a bin
    awk -v key="\"$2\": \\[" '/^  "test": / { test = 1 } test && /^    "end": / { end = 1 } end && /"bins": / { bins = 1 }
        bins && $0 ~ key { inside = 1; next } inside && /\]/ { exit } inside { gsub(/[ ,]/, ""); print }' "$1"
}

# The expected pooled diagram: one line per bin, the accuracy of both runs' predictions together.
pooled() { # two runs' result.json
    for key in count accuracy; do
        bins "$1" $key >"first.$key" && bins "$2" $key >"second.$key"
    done
    paste first.count first.accuracy second.count second.accuracy |
        awk '{ n = $1 + $3; if (n) printf "%.6f\n", ($1 * $2 + $3 * $4) / n; else print "nan" }'
}

# The expected difference of the first method and softmax in the table, from runs.csv: "+1.25 (2 of 2".
difference() { # runs.csv, labels, column, 1 or -1: more is better, or less, decimals
    awk -F, -v labels="$2" -v column="$3" -v way="$4" -v decimals="${5:-2}" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i; next }
        $3 == labels && $4 == "softmax" { base[$5] = $at }
        $3 == labels && $4 == "hybrid" { own[$5] = $at }
        END {
            for (seed in own) if (own[seed] != "" && base[seed] != "") { d = own[seed] - base[seed]; sum += d; n++; wins += way * d > 0 }
            printf "%+.*f (%d of %d,", decimals, sum / n, wins, n
        }' "$1"
}

# shellcheck disable=SC2086 # options are words
{
    # ---- the same tables for all ways to make the runs ----

    study gray.npz $tiny --jobs 1 --out one >one.txt 2>&1
    study gray.npz $tiny --jobs 2 --quiet --out two
    same_tables "one process and two give the same tables" one two
    expect_success "a table is printed" grep -q "gray  *3  *hybrid" one.txt
    for file in result.json table.txt table.csv table.tex runs.csv boxes.svg samples-gray-1-hybrid-0.png; do
        expect_success "the files are named: $file" grep -q "^Results: one/ (\(.* \)*${file}[,)]" one.txt
    done
    expect_success "table.txt names its seeds and split" grep -q "over 2 seeds on the test split" one/table.txt
    expect_success "table.tex too" grep -q "^% .*over 2 seeds on the test split" one/table.tex
    expect_success "and the box plot" grep -q "<title>.*end of training, test split, 2 runs a box<" one/boxes.svg
    mkdir "my data" && cp gray.npz "my data"
    study "my data/gray.npz" $tiny --out "my list" --list >commands
    expect_success "--list has a line for every run" test "$(wc -l <commands)" -eq 8
    xargs -d '\n' -P 2 -I '{}' sh -c '{}' <commands
    expect_empty "once all runs are done, --list prints nothing" "$(study gray.npz $tiny --out "my list" --list)"
    study gray.npz --labels 1,3 --methods softmax,hybrid --seeds 0-1 --steps 8 $quick --jobs 0 --quiet --out "my list"
    expect_success "--jobs 0 draws samples with one thread" \
        test "$(cat "my list"/samples/runs/*/log.jsonl | grep '"event":"start"' | grep -c '"threads":1,')" -eq 2
    same_tables "xargs gives the same tables, even with spaces in names" one "my list"
    expect_success "--jobs 0 also draws samples" cmp one/samples-gray-1-hybrid-0.png "my list/samples-gray-1-hybrid-0.png"
    study gray.npz $tiny --quiet --out one
    expect_success "no run is made twice" test "$(events one finish)" -eq 8 -a "$(events one start)" -eq 8
    same_runs "a run does not depend on the number of processes" one/runs/gray-3-hybrid-1 two/runs/gray-3-hybrid-1
    train gray.npz --method hybrid --labels 3 --seed 1 --steps 8 $quick --quiet --out alone
    same_runs "a run of a study equals one of couplet train" one/runs/gray-3-hybrid-1 alone

    expect_success "the study's settings are the given ones" grep -q '"sgld": 2' one/config.json
    expect_empty "and no others of train" "$(grep '"rate"' one/config.json)"

    pooled one/runs/gray-3-softmax-0/result.json one/runs/gray-3-softmax-1/result.json >expected
    sed -n 's/^"softmax, 3 labels","accuracy",spans,[^,]*,\([^,]*\),.*/\1/p' one/reliability-gray.csv |
        awk '{ if ($1 == "nan") print; else printf "%.6f\n", $1 }' >found
    expect_success "a bin has the predictions of all seeds, each counted once" cmp expected found
    expect_success "and some bins are not empty" grep -q "^0\.[0-9]*[1-9]" found
    for labels in 1 3; do
        for metric in end_accuracy end_balanced_accuracy selected_accuracy selected_balanced_accuracy; do
            expect_success "differences are means over seeds: $metric, $labels labels" \
                grep -qF -e "$(difference one/runs.csv $labels test_$metric 1)" one/table.txt
        done
        for view in end selected; do
            expect_success "so are those of the AUC, in thousandths: $view, $labels labels" \
                grep -qF -e "$(difference one/runs.csv $labels test_${view}_auc 1 3)" one/table.txt
        done
        expect_success "and less ECE is better, $labels labels" \
            grep -qF -e "$(difference one/runs.csv $labels test_end_ece -1)" one/table.txt
    done
    for file in table.txt result.json; do
        expect_success "accuracy has balanced accuracy and AUC beside it in $file" sh -c \
            "tr -d '\\\\\\n' <one/$file | grep -q 'accuracy, % (selected)[^A-Za-z]*balanced, % (selected)[^A-Za-z]*AUC (selected)'"
    done
    for file in table selected differences differences_selected more; do
        expect_success "$file.tex has a row per method and ends" sh -c "grep -q '& hybrid' one/$file.tex && tail -1 one/$file.tex | grep -q 'end{tabular}'"
    done
    expect_success "the best accuracy of a group is bold" grep -q '& [a-z]* & .textbf{[0-9.]*} & ([0-9.]*) &' one/selected.tex
    expect_success "the tables fit into a terminal" test "$(grep -v "^[A-Z]" one/table.txt | wc -L)" -le 150
    expect_success "boxes.csv has the measure and the number of labels" \
        test "$(grep -c '^"gray: ECE, %","hybrid",box,"3",' one/boxes.csv)" -eq 2
    expect_success "the given settings are listed" grep -q "^Options of couplet train that were given: .*--sgld=2" one/table.txt
    expect_success "samples name their run" grep -q "gray-1-hybrid-0: samples of p(x|c)" one/samples-gray-1-hybrid-0.figure.json

    # ---- runs copied from elsewhere, without their data ----

    mkdir -p brought/runs elsewhere
    cp gray.npz elsewhere
    for run in one/runs/*; do
        mkdir "brought/runs/${run##*/}" && cp "$run/config.json" "$run/result.json" "brought/runs/${run##*/}"
    done
    study elsewhere/gray.npz $tiny --quiet --out brought
    same_tables "two small files per run are enough, and the data may be elsewhere" one brought
    expect_empty "nothing was computed for it" "$(ls brought/runs/*/log.jsonl 2>/dev/null)"
    expect 0 "gone/gray.npz is missing; its finished runs are used" gone/gray.npz $tiny --out brought
    same_tables "tables are the same without the data" one brought
    mv brought/runs/gray-1-softmax-0 kept
    expect 1 "1 of 8 runs is missing in the tables; the same command makes what is missing, once the data are here" gone/gray.npz $tiny --out brought
    expect_success "means are over the existing runs" grep -q "gray  *1  *softmax  *[0-9.]*, 1 of 2" brought/table.txt
    expect_success "and so are differences" grep -qF -e "$(difference brought/runs.csv 1 test_end_accuracy 1)" brought/table.txt
    expect 0 "left      1, for 1 of them the last command had no data" --status brought
    expect_empty "there is no remaining time for it" "$(study --status brought | grep "time to go")"
    expect_empty "a run with missing data is not started" "$(ls brought/failed 2>/dev/null)"
    expect_empty "nor listed" "$(study gone/gray.npz $tiny --out brought --list 2>/dev/null)"
    expect 1 "1 of 8 runs cannot be listed before the data are here" gone/gray.npz $tiny --out brought --list
    mv kept brought/runs/gray-1-softmax-0
    expect 1 "gone/gra.npz is missing; it is left out" gone/gra.npz $tiny --out brought
    study gone/gray.npz $quick --steps 8 --seeds 0-1 --labels 1-133 --methods softmax,hybrid --jobs 0 --quiet --out brought 2>/dev/null
    expect_success "boxes have all numbers of labels" grep -q ">133<" brought/boxes.svg
    study gone/gray.npz $tiny --sweep "lambda=$(seq -s, 101)" --jobs 0 --quiet --out brought 2>/dev/null
    expect_success "a sweep has all values" grep -q ">101<" brought/sweep.svg
    mkdir gray-1 && cp gray.npz gray-1/gray-2.npz
    study gray-1/gray-2.npz $quick --steps 8 --seeds 0 --methods softmax --labels 1 --quiet --out second
    expect 1 "gray.npz is missing; it is left out" gray-1/gray.npz $tiny --out second
    expect 1 "gone.npz is missing; it is left out" gray.npz gone.npz $tiny --out one
    expect 1 "nothing is left to do" gone.npz gone2.npz $tiny --out one
    head -c 500 gray.npz >half.npz
    expect 1 "half.npz" gray.npz half.npz $tiny --out one
    expect 1 "; it is left out" gray.npz half.npz $tiny --out one
    expect 1 "Results: one/" gray.npz half.npz $tiny --out one
    "$draw_images" elsewhere/gray.npz 8 8 1 3 41 30 36
    expect 1 "its data were another file than this gray" elsewhere/gray.npz $tiny --out brought
    study elsewhere/gray.npz $quick --steps 8 --seeds 7 --methods softmax --labels 1 --quiet --out brought
    study gone/gray.npz $quick --steps 8 --seeds 0,7 --methods softmax --labels 1 --jobs 0 --quiet --out brought 2>/dev/null
    expect_success "a run has the md5 of its own data" test "$(cut -d, -f2 brought/runs.csv | sort -u | grep -c '^[0-9a-f]\{32\}$')" -eq 2

    # ---- runs in one file ----

    cp -r one packed
    expect 0 "packed/runs.jsonl: 8 finished runs" --pack packed
    mv packed/runs folders
    study gray.npz $tiny --jobs 0 --quiet --samples 0 --out packed
    same_tables "a file with a line for every run gives the same tables" one packed
    expect_success "and to the same figures" sh -c "cmp one/boxes.svg packed/boxes.svg && cmp one/reliability-gray.svg packed/reliability-gray.svg"
    study gone/gray.npz $tiny --quiet --samples 0 --out packed 2>/dev/null
    same_tables "also without the data" one packed
    expect_success "nothing was computed for it" test ! -e packed/runs
    expect 0 "8 of 8 runs done" --status packed
    mkdir only && cp packed/runs.jsonl only
    study gray.npz $tiny --jobs 0 --quiet --samples 0 --out only
    same_tables "the file alone is enough" one only
    study gray.npz $quick --steps 8 --seeds 0-2 --methods softmax --labels 3 --threads 1 --quiet --out packed
    expect_success "only the run of a new seed is made" test "$(ls packed/runs)" = gray-3-softmax-2
    expect 0 "6 more runs of other commands there are not in the tables" gray.npz $quick --steps 8 --seeds 0-2 --methods softmax --labels 3 --out packed
    expect 0 "packed/runs.jsonl: 9 finished runs" --pack packed
    expect 1 "runs.jsonl of only holds gray-3-softmax-0, a finished run of train with another --steps" gray.npz $quick --steps 9 --seeds 0 --labels 3 --methods softmax --out only
    mkdir only/runs && cp -r folders/gray-3-hybrid-0 only/runs && rm only/runs/gray-3-hybrid-0/result.json
    expect 1 "1 of 8 runs is missing" gray.npz $tiny --jobs 0 --out only
    study gray.npz $tiny --quiet --samples 0 --out only
    same_tables "a run with an unfinished folder is finished in that folder" one only
    sed -i '3s/.$//' only/runs.jsonl
    expect 1 "only/runs.jsonl, line 3" gray.npz $tiny --out only
    expect 1 "remove the line" gone/gray.npz $tiny --out only
    sed -i 3d only/runs.jsonl
    study gray.npz $tiny --quiet --samples 0 --out only
    same_tables "the run of a removed line is made again" one only
    expect 1 "elsewhere holds no finished runs" --pack elsewhere
    expect 2 "--pack cannot be combined with --out" --pack packed --out packed

    # ---- names that could drive a terminal ----

    evil=$(printf 'e\033[7mv\nil.npz')
    cp gray.npz "$evil"
    study "$evil" $quick --steps 4 --labels 1 --seeds 0 --methods softmax --out evil >evil.txt 2>&1
    expect_success "the table has the name without control characters" grep -q '^e?\[7mv?il ' evil.txt
    for file in evil.txt evil/table.txt evil/table.tex; do
        expect_empty "nothing in $file can drive a terminal" "$(tr -d '\n' <"$file" | tr -dc '\000-\037')"
    done

    # ---- damage and failure ----

    for file in config.json log.jsonl; do
        cp -r one unwritable && rm -f unwritable/$file && mkdir unwritable/$file
        expect 1 "unwritable/$file" gray.npz $tiny --out unwritable
        rm -r unwritable
    done
    expect 1 "nowhere: there is no such folder" gray.npz $tiny --out nowhere --jobs 0
    expect_success "and none was made" test ! -e nowhere
    cp -r one worn
    echo '{"experiment":' >worn/runs/gray-1-softmax-0/result.json
    echo '{}' >worn/runs/gray-1-softmax-1/result.json
    echo '[1]' >worn/runs/gray-3-softmax-0/config.json
    rm worn/runs/gray-1-hybrid-0/result.json
    echo '{oops}' >worn/runs/gray-1-hybrid-0/log.jsonl
    rm worn/runs/gray-3-softmax-1/result.json
    rm worn/runs/gray-3-hybrid-1/result.json
    : >worn/runs/gray-3-hybrid-1/checkpoint.safetensors
    expect 1 "worn/runs/gray-1-softmax-0 is damaged; the same command without --jobs 0 makes it again" gray.npz $tiny --out worn --jobs 0
    expect_success "if no run is made, nothing is moved" test -s worn/runs/gray-1-softmax-0/result.json -a ! -e worn/runs/gray-1-softmax-0.damaged-1
    expect 0 "worn/runs/gray-1-softmax-0 is damaged; it is made again" gray.npz $tiny --out worn
    same_tables "damaged runs are made again" one worn
    for run in gray-1-hybrid-0 gray-1-softmax-1 gray-3-softmax-0; do
        expect_success "the old files are kept next to it: $run" test -d worn/runs/$run.damaged-1
    done
    expect_success "also if only the checkpoint was damaged" test -d worn/runs/gray-3-hybrid-1.damaged-1
    echo '{"experiment": "train", "options": [1]}' >worn/runs/gray-3-softmax-0/config.json
    expect_success "a report treats options that are not an object as none" "$couplet" report worn/runs/gray-3-softmax-0 --out worn.html
    rm -r worn/runs
    study gray.npz $tiny --alpha 3 --quiet --out worn
    "$couplet" generate worn/runs/gray-3-hybrid-0 --quiet --out fresh
    expect_success "samples are those of the new runs, not of the old ones" cmp worn/samples-gray-3-hybrid-0.png fresh/samples.png
    expect_success "and they differ from the old samples" sh -c "! cmp -s worn/samples-gray-3-hybrid-0.png one/samples-gray-3-hybrid-0.png"
    cp -r one failing
    rm -r failing/runs/gray-1-softmax-0 failing/runs/gray-3-softmax-0
    touch failing/runs/gray-1-softmax-0
    expect 1 "gray-1-softmax-0 failed: couplet train: " gray.npz $tiny --out failing
    expect_success "a run that fails does not stop the others" test -s failing/runs/gray-3-softmax-0/result.json
    expect_success "the table has the existing runs, and no sd of one run" grep -qE "gray +1 +softmax +[0-9.]+, 1 of 2 " failing/table.txt
    expect_success "nor does table.csv" grep -qE "^gray,1,softmax,1,0,[0-9.]+,,[0-9.]+,," failing/table.csv
    expect_success "the reliability diagram gives the number of its runs" grep -q "softmax, 1 label, 1 of 2 runs" failing/reliability-gray.svg
    expect_empty "if no run is missing it gives no number" "$(grep "2 of 2 runs" failing/reliability-gray.svg)"
    expect_success "so does the box plot" grep -q "<title>.*, 1 to 2 runs a box<" failing/boxes.svg
    expect_success "its output is kept" grep -q "is a file" failing/failed/gray-1-softmax-0.txt
    expect 0 "gray-1-softmax-0: couplet train: " --status failing
    rm failing/runs/gray-1-softmax-0
    study gray.npz $tiny --quiet --out failing
    same_tables "once the cause is removed, the run is made" one failing
    expect_success "and the failure is forgotten" test ! -e failing/failed
    mkdir failing/failed && echo killed >failing/failed/gray-1-softmax-0.txt
    study gray.npz $tiny --jobs 0 --quiet --out failing
    expect_success "also one that was reported after the run was done" test ! -e failing/failed
    export COUPLET_INJECT=weights@2
    expect 1 "hybrid diverged in 2 of 2" gray.npz $quick --steps 40 --rollbacks 0 --methods hybrid --labels 3 --seeds 0-1 --out lost
    unset COUPLET_INJECT
    expect_success "a diverged run is in no mean" grep -q "diverged (2 of 2)" lost/table.txt
    expect_empty "nor in a diagram" "$(ls lost/reliability-* 2>/dev/null)"

    # ---- more seeds, a sweep ----

    expect 0 "3 seeds" gray.npz $quick --steps 8 --seeds 0-2 --methods softmax --labels 3 --out one
    expect_success "only the new run was made" test "$(events one start)" -eq 9
    study gray.npz $quick --steps 8 --seeds 0-1 --methods hybrid --labels 3 --sweep lambda=0,1,10 --quiet --out sweep
    expect_success "a sweep has its values in the table" grep -q "gray  *3  *hybrid  *10 " sweep/table.txt
    expect_success "and a figure" test -s sweep/sweep.svg
    study gray.npz $quick --steps 8 --seeds 0-1 --labels 3 --sweep lambda=1,10 --quiet --out sweep
    expect_success "methods that do not read the option are trained once" test "$(ls -d sweep/runs/*-softmax* sweep/runs/*-jem* | wc -l)" -eq 4
    expect_success "and have a row without a value" grep -q "gray  *3  *jem  *- " sweep/table.txt
    expect_success "and a band in the figure" test "$(grep -c 'class="band"' sweep/sweep.svg)" -ge 4
    expect_success "and there is a note" grep -q "^softmax does not read --lambda" sweep/table.txt
    expect_success "they are compared with all values" test "$(grep -c "gray  *3  *hybrid  *10* .* of 2, p" sweep/table.txt)" -eq 4
    train gray.npz --preset quick --method softmax --labels 3 --seed 0 --steps 8 --every 4 --batch 8 --unlabeled 8 --quiet --out other-energies --lambda 9 \
        --energy 2 --square 2 --slope 2 --slope-every 3 --conditional --chains 4 --sgld 3 --alpha 3 --noise 1 --clamp 1 --range any \
        --start uniform --buffer 99 --fresh 1 --restart 1
    expect_success "softmax reads none of the energy options" \
        cmp other-energies/end.safetensors sweep/runs/gray-3-softmax-0/end.safetensors
    train gray.npz --method jem --labels 3 --seed 0 --steps 8 $quick --quiet --lambda 9 --out other-lambda
    expect_success "and jem no lambda" cmp other-lambda/end.safetensors sweep/runs/gray-3-jem-0/end.safetensors
    expect_success "the option is forwarded" grep -q '"lambda": "10"' sweep/runs/gray-3-hybrid-lambda=10-0/config.json

    # ---- figures of other commands in the same folder ----

    cp -r two other
    study gray.npz $tiny --quiet --out other --report
    expect 0 "Report: other/report.html" gray.npz $tiny --out other --split validation
    expect_success "config.json has the split" grep -q '"split": "validation"' other/config.json
    expect_success "a report shows the command" grep -q -e '--split validation' other/report.html
    expect_empty "a result has only one split" "$(grep '"test_end_accuracy"' other/result.json)"
    for file in table.txt table.tex boxes.svg report.html; do
        expect_success "$file says that it is of the validation split" grep -q "validation split" "other/$file"
        expect_empty "and no longer that it is of the test split" "$(grep "test split" "other/$file")"
    done
    expect_success "words in a report's table are left-aligned" grep -q '<td class="left">hybrid</td><td>' other/report.html
    touch other/samples-mine.png other/reliability-notes.csv other/mine.svg
    expect_success "samples have their seed in the name" test -s other/samples-gray-3-hybrid-0.png
    study gray.npz $quick --steps 8 --seeds 1 --methods hybrid --labels 1,3 --quiet --out other
    expect_success "with other seeds, samples are of the first of these" test -s other/samples-gray-3-hybrid-1.png
    study gray.npz $quick --steps 8 --seeds 0-1 --methods hybrid --labels 1,3 --quiet --out other
    expect_empty "samples of a run that is no longer the first are gone" "$(ls other/samples-*-1.* 2>/dev/null)"
    study gray.npz $quick --steps 8 --seeds 1,0 --methods hybrid --labels 1,3 --quiet --out other
    expect_empty "and samples of other runs are gone" "$(ls other/samples-*-0.* 2>/dev/null)"
    expect_empty "differences to softmax are listed only if it is among the methods" "$(grep "than softmax" other/result.json)"
    cp gray.npz "my data/two, or 2.npz"
    study "my data/two, or 2.npz" $quick --steps 8 --seeds 1 --methods hybrid --labels 1 --samples 0 --quiet --out other
    expect_empty "figures of other sets are gone" "$(ls other/reliability-gray* other/samples-gray* 2>/dev/null)"
    expect_success "figures of this set exist" test -s other/boxes.svg -a -s "other/reliability-two, or 2.svg"
    expect_success "a name with a comma is one field" grep -q '^"two, or 2",[0-9a-f]*,1,hybrid,1,done,' other/runs.csv
    expect_success "in both files" grep -q '^"two, or 2",1,hybrid,1,0,' other/table.csv
    expect 0 "2.npz is missing; its finished runs are used" "gone/two, or 2.npz" $quick --steps 8 --seeds 1 --methods hybrid --labels 1 --out other --jobs 0
    mkdir -p copies
    for end in "" _2 _3; do cp gray.npz copies/bloodmnist_rebuilt$end.npz; done
    study copies/*.npz $quick --steps 4 --seeds 1 --methods softmax --labels 1 --quiet --out copied
    for end in "" _2 _3; do
        expect_success "copies of a set are distinguished: bloodmnist_rebuilt$end" grep -q "^Blood (bloodmnist_rebuilt$end) *1 *softmax" copied/table.txt
    done
    study gray.npz $quick --steps 8 --seeds 0-1 --methods hybrid --labels 3 --sweep lambda=1 --quiet --out other
    expect_empty "a sweep has no boxes" "$(ls other/boxes.* other/reliability-two* 2>/dev/null)"
    expect_success "for two runs there is an error bar for accuracy and one for ECE" test "$(error_bars other/sweep.svg)" -eq 2
    touch other/boxes.csv
    study gray.npz $quick --steps 8 --seeds 0 --methods hybrid --labels 3 --sweep lambda=1 --quiet --out other
    expect_success "for one run there is no error bar" test "$(error_bars other/sweep.svg)" -eq 0
    for file in samples-mine.png reliability-notes.csv mine.svg boxes.csv; do
        expect_success "files that the previous command did not write stay: $file" test -e "other/$file"
    done
    touch beside
    echo '["../beside", "mine.svg"]' >other/files.json
    study gray.npz $quick --steps 8 --seeds 0 --methods hybrid --labels 3 --sweep lambda=1 --quiet --out other
    expect_success "nothing outside the folder is removed" test -e beside -a ! -e other/mine.svg

    # ---- patients ----

    "$draw_images" slices.npz 8 8 1 3 40 30 36 1 val test
    study slices.npz $quick --steps 8 --seeds 0 --methods softmax --labels 3 --quiet --out patients
    for metric in accuracy balanced_accuracy auc; do
        for by in "" patient_; do
            expected=$(member patients/runs/slices-3-softmax-0/result.json "test/selected/${by:+by_patient/}$metric")
            expect_success "runs.csv has the numbers of the run: $by$metric" \
                awk "BEGIN { found = \"$(field patients/runs.csv test_selected_$by$metric)\"; exit !(found != \"\" && (found - $expected) ^ 2 < 1e-9) }"
        done
    done
    expect_empty "without patients the field is empty" "$(field two/runs.csv test_selected_patient_accuracy)"

    # ---- the commands for Slurm, with fake programs; test_study_slurm.sh uses a real Slurm ----

    mkdir bin
    printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>asked\necho 7\n' >bin/sbatch
    printf '#!/bin/sh\n' | tee bin/squeue >bin/scontrol
    chmod +x bin/*
    path=$PATH
    PATH=$PWD/bin:$PATH
    for option in --array=1-2%8 "--time=1 -a 1-2" --dependency=after:3 "--depend after:3"; do
        expect 1 "ArrayTaskThrottle=N" gray.npz $tiny --out "50%d of it" "--slurm=$option"
    done
    expect_success "then nothing is submitted" test ! -e asked
    expect 0 "Watch them: squeue --me; couplet study --status '50%d of it'" gray.npz $tiny --out "50%d of it" "--slurm=--time=1 -A me"
    expect_success "a % in the folder's name is escaped" grep -qxF -e "--output=50%%d of it/slurm/1.%a.txt" asked
    expect_success "for the tables too" grep -qxF -e "--output=50%%d of it/slurm/1.merge.txt" asked
    expect_success "other options are forwarded to both" test "$(grep -cx -e --time=1 asked)" -eq 2
    expect 0 "There is nothing to submit; the same command with --jobs 0 instead of --slurm makes tables" gray.npz $tiny --out two --slurm

    printf '#!/bin/sh\necho MaxArraySize = 4\n' >bin/scontrol
    printf '#!/bin/sh\ncase "$*" in *slurm/2.sh) exit 1 ;; *dependency*) echo 9 ;; *) echo 7 ;; esac\n' >bin/sbatch
    expect 1 "Submitted job 7: 3 runs" gray.npz $tiny --out refused --slurm
    rm -r refused
    expect 1 "Submitted job 9: the tables, when these have ended" gray.npz $tiny --out refused --slurm
    rm -r refused
    expect 1 "End them: scancel 7 9" gray.npz $tiny --out refused --slurm
    COUPLET_INJECT=stop@5 SLURM_ARRAY_TASK_ID=1 sh refused/slurm/1.sh >said 2>&1
    code=$?
    task=refused/runs/$(head -n 1 refused/slurm/1.names)
    expect_success "a task that gets SIGTERM saves its step, and is not a failure" test $code -eq 130 -a ! -e refused/failed -a \
        "$(grep -c '"event":"stop","step":6,' "$task/log.jsonl")" -eq 1
    SLURM_ARRAY_TASK_ID=1 sh refused/slurm/1.sh >said 2>&1
    expect_success "started again, it goes on from there to its end" test -s "$task/result.json" -a \
        "$(grep -c '"event":"start","step":6,' "$task/log.jsonl")" -eq 1
    rm -r "$task"
    : >refused/slurm/1.list
    expect_success "a task without a command fails" sh -c '! SLURM_ARRAY_TASK_ID=1 sh refused/slurm/1.sh >said 2>&1'
    expect 0 "gray-1-softmax-0: slurm/1.list has no command here (exit code 1)" --status refused
    printf '#!/bin/sh\nexit 3\n' >bin/sbatch
    expect 1 "sbatch failed: does Slurm answer?" gray.npz $tiny --out submitted --slurm
    rm bin/sbatch
    PATH=$PWD/bin
    expect 1 "sbatch was not found: is Slurm installed here?" gray.npz $tiny --out submitted --slurm
    PATH=$path

    # ---- messages ----

    expect 0 "3 of 3 runs done" --status one
    expect 0 "others    6, which the last command did not ask for" --status one
    expect 0 "6 more runs of other commands there are not in the tables" gray.npz $quick --steps 8 --seeds 0-2 --methods softmax --labels 3 --out one
    expect_success "the status is also JSON" test "$(study --status one --json | grep -c '"state": "done"')" -eq 3
    expect 0 "and any option of couplet train" --help
    expect 0 "folder of the study, new or existing; required" --help
    expect 0 "only tables and figures of the finished ones" --help
    expect 1 "is not a study" --status elsewhere
    expect 1 "with another --steps" gray.npz $quick --steps 9 --seeds 0-1 --out one --labels 3
    expect 1 "is not empty and is not a study" gray.npz $tiny --out elsewhere
    mkdir -p elsewhere/runs/train-20260131-235959
    expect 1 "is not empty and is not a study" gray.npz $tiny --out elsewhere
}
expect 2 "--seeds: 3-1 runs backward" gray.npz --seeds 3-1 --out x
expect 2 "--seeds: \"3-\" is not valid" gray.npz --seeds 3- --out x
expect 2 "--labels: \"1-,3\" is not valid" gray.npz --labels 1-,3 --out x
expect 2 "--sweep: --threads does not change what is trained" gray.npz --sweep threads=1,2 --out x
expect 1 "has a newline, which --list and --slurm cannot have in a command" gray.npz --list --out "x
y"
expect 2 "--seeds: \"1,,2\" is not valid" gray.npz --seeds 1,,2 --out x
expect 2 "--seeds: 4 appears twice" gray.npz --seeds 4,3-5 --out x
expect 2 "--labels: \"0\" is not valid; expected whole numbers from 1 on and ranges: 1-9" gray.npz --labels 0 --out x
expect 2 "--methods: softmax appears twice" gray.npz --methods softmax,softmax --out x
expect 2 "is not one of softmax|jem|hybrid" gray.npz --methods svm --out x
expect 2 "--sweep: \"lambda\" is not valid" gray.npz --sweep lambda --out x
expect 2 "--sweep: for labels there is --labels N,N,..." gray.npz --sweep labels=1,2 --out x
expect 2 "--sweep: for method there is --methods" gray.npz --sweep method=jem --out x
expect 2 "--sweep: for seed there is --seeds" gray.npz --sweep seed=1,2 --out x
expect 2 "no option --lamda; did you mean lambda?" gray.npz --sweep lamda=1,2 --out x
expect 2 "this was for gray-1-hybrid-lambda=x of --sweep" gray.npz --sweep lambda=0,x --out x
expect 2 "--sweep: no method of --methods softmax,jem reads --lambda" gray.npz --sweep lambda=1,2 --methods softmax,jem --out x
expect 2 "--lambda is swept, and given as well" gray.npz --sweep lambda=1,2 --lambda 3 --out x
forty=0000000000000000000000000000000000000000
expect_success "long values that differ only at the end are two cases" \
    test "$(study gray.npz --methods hybrid --labels 1 --seeds 0 --sweep lambda=1.${forty}1,1.${forty}2 --list --out late | wc -l)" -eq 2
many=$forty$forty$forty$forty
expect 1 "two runs would both be called gray-1-hybrid-head=hybrid_mean_sd=0.6" gray.npz --sweep head=hybrid:mean_sd=0.6${many}1,hybrid:mean_sd=0.6${many}2 --out x
expect 2 "is not one of softmax|jem|hybrid" gray.npz --methods $many --sweep lambda=1,2 --out x
expect 2 "\"depth\" is 12; it must be one of 10, 16, 22" gray.npz --depth 12 --out x
expect 2 "there is no option --seed; did you mean --seeds" gray.npz --seed 3 --out x
expect 2 "0 arguments given, at least 1 needed: DATA..." --out x
expect 2 "--out DIR is needed" gray.npz
expect 2 "--list cannot be combined with --slurm" gray.npz --out x --list --slurm
expect 2 "--status cannot be combined with \"gray.npz\"" gray.npz --status one
expect 2 "--status cannot be combined with --out" --status one --out one
expect_empty "refused commands left no files" "$(ls -A x 2>/dev/null)"
finish
