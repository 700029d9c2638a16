#!/bin/sh
# couplet train, run as a user would run it: the files and messages of a run. See train_parts.sh for the arguments.
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/train_parts.sh"
# shellcheck disable=SC2086 # options are words
small="--steps 12 $small"

# ---- results ----

for method in softmax jem hybrid; do
    # shellcheck disable=SC2086
    expect 0 "selected, scaled" gray.npz $small --method $method --threads 1 --out $method
    result=$method/result.json
    missing=
    for split in validation test; do
        views="end selected scaled"
        [ $method = hybrid ] && views="$views bayes"
        for view in $views; do
            for metric in n accuracy balanced_accuracy auc ece mce nll brier intervals/accuracy intervals/ece intervals/nll; do
                [ -n "$(member $result $split/$view/$metric)" ] || missing="$missing $split/$view/$metric"
            done
        done
    done
    expect_empty "result.json of $method has all metrics for all weights and both splits" "$missing"
    expect_success "$method has 36 test images" test "$(member $result test/end/n)" = 36
    expect_success "$method records its method and that the file is not official" \
        test "$(member $result method) $(member $result data/official)" = "\"$method\" false"
    expect_success "$method had no event of the guard" test "$(member $result guard/events)" = 0
    expect_success "$method lists nine labeled rows of the training split" \
        awk '/"labeled": \[/ { list = 1; next } /\]/ { list = 0 } list { n++; bad += $1 + 0 < 0 || $1 + 0 > 39 } END { exit n != 9 || bad }' $result
    expect_success "$method leaves no checkpoint" test ! -e $method/checkpoint.safetensors
    expect_success "$method writes its selected weights" test -s $method/selected.safetensors
    expect_success "$method records whether its temperature is at a bound" \
        test "$(grep -c "is at the bound" $result)" = "$(member $result temperature | awk '{ print $1 == 100 || $1 == 0.01 ? 1 : 0 }')"
    expect_success "$method records a lambda if it has one" \
        test "$(member $result lambda)" = "$([ $method = hybrid ] && echo 1)"
    expect_empty "seconds of $method are only in the log" "$(grep seconds $result)"
    expect_success "seconds of $method are in the log" grep -q '"seconds"' $method/log.jsonl
done
# Color 0 is not written.
expect_success "no two curves of the training have the same color" \
    test "$(grep -o '"label"' hybrid/training.figure.json | wc -l)" -eq \
    "$(($(grep -o '"color":[0-9]*' hybrid/training.figure.json | sort -u | wc -l) + 1))"
expect_empty "only the hybrid has Gaussians' posteriors" "$(members softmax/result.json | grep bayes; members jem/result.json | grep bayes)"
expect_success "softmax writes no chains" test ! -e softmax/chains.safetensors
expect_success "all methods have the same labeled rows" test \
    "$(sed -n '/"labeled"/,/\]/p' softmax/result.json)" = "$(sed -n '/"labeled"/,/\]/p' hybrid/result.json)"

# shellcheck disable=SC2086
{
    train gray.npz $small --threads 2 --quiet --out two
    same_runs "1 and 2 threads write the same bytes" hybrid two
    train gray.npz $small --threads 1 --json --out json >printed.json 2>/dev/null
    same_runs "--json writes the same bytes" hybrid json
    expect_success "--json prints the contents of result.json" cmp printed.json json/result.json
    expect_empty "--quiet prints nothing" "$(train gray.npz $small --quiet --seed 2 --out quiet 2>&1)"
    expect_success "another seed draws other rows" test \
        "$(sed -n '/"labeled"/,/\]/p' quiet/result.json)" != "$(sed -n '/"labeled"/,/\]/p' hybrid/result.json)"
    expect 0 "holds this run already, finished" gray.npz $small --out hybrid
    expect_empty "--quiet prints nothing of a finished run" "$(train gray.npz $small --quiet --out hybrid 2>&1)"
    expect 1 "with another --seed" gray.npz $small --seed 3 --out hybrid
    expect 1 "with another --method" gray.npz $small --method jem --out hybrid
    expect 1 "with another arguments" phantom $small --out hybrid
    same_runs "a refused run changes nothing" hybrid two

    "$draw_images" color.npz 9 11 3 4 48 30 31
    expect 0 "color, your own file" color.npz $small --conditional --norm group --out color
    expect_success "color.npz is 9 x 11 x 3" test "$(sed -n '/"shape"/,/\]/p' color/result.json | tr -d '" \n')" = "shape:[9,11,3],"
    "$draw_images" narrow.npz 9 7 1 2 20 10 10
    expect 2 "an input has shape (9, 7, 1); the network wrn takes (N, H, W, 1) with H, W >= 8" narrow.npz $small
    "$draw_images" short.npz 8 8 1 2 5 1 1
    expect 0 "is at the bound of what is tried" short.npz --preset quick --steps 4 --every 4 --buffer 8 --chains 8 --sgld 2 --labels 1 --norm batch --out short
    expect_success "result.json has the note on the temperature too" grep -q "is at the bound of what is tried" short/result.json

    cp -r hybrid changed && cp gray.npz kept.npz && "$draw_images" gray.npz 8 8 1 3 40 30 36 2
    expect 1 "the data has changed since" gray.npz $small --out changed
    mv kept.npz gray.npz
    expect 0 "holds this run already, finished" gray.npz $small --out changed
    same_runs "a run refused for its data is unchanged" hybrid changed

    name=$(printf '%0200d' 0)
    expect 1 "the path is too long; at most 723 bytes are possible" gray.npz $small --out "$name/$name/$name/$name"
    expect_success "nothing is made for a path that is too long" test ! -e "$name"
}

# ---- settings ----

# shellcheck disable=SC2086
{
    words="--every 4 --buffer 64 --batch 8 --chains 8 --labels 3 --quiet"
    train gray.npz --preset quick $words --unlabeled 8 --epochs 2 --sgld 2 --out epochs
    expect_success "two epochs of 40 images in batches of 8 are 10 steps" test "$(member epochs/result.json selected_step)" -le 10
    expect_success "the last of them is measured" grep -q '"step":10,' epochs/log.jsonl
    train gray.npz $words --preset paper --epochs 1 --unlabeled 8 --sgld 3 --out paper
    found="$(for name in rate sgld alpha clamp range flip shift clip square slope epochs; do member paper/config.json options/$name; done)"
    expect_success "config.json has the preset's values, except for the given options" \
        test "$(echo $found)" = '0.0001 3 2 0 "any" "none" 0 0 0 "0" 1'
    train gray.npz $words --preset paper --steps 4 --unlabeled 8 --sgld 2 --out short-paper
    expect_success "a number of steps overrides a preset's epochs" test "$(member short-paper/result.json settings/steps)" = 4
    train gray.npz $words --preset jem --epochs 1 --unlabeled 8 --sgld 2 --out jems
    expect_success "the preset jem has the method jem" test "$(member jems/result.json method)" = '"jem"'
    train gray.npz $small --lambda auto --quiet --out auto
    chosen=$(member auto/result.json lambda)
    expect_success "--lambda auto chooses a lambda" test "$(member auto/result.json lambda_chosen)" = true
    expect_success "every lambda's validation NLL is recorded, and the chosen lambda has the lowest" \
        awk -v chosen="$chosen" '/"lambdas": \[/ { list = 1 } list && /\]/ { list = 0 }
            list && /"lambda":/ { lambda = $2 + 0 }
            list && /"nll":/ { n++; nll = $2 + 0; if (n == 1 || nll < least) { least = nll; best = lambda } bad += nll <= 0 }
            END { exit n != 3 || bad || best != chosen }' auto/result.json
    expect_empty "a given lambda has no list" "$(grep '"lambdas"' hybrid/result.json)"
    expect_success "its weights are those of the folder of its lambda" cmp auto/selected.safetensors "auto/lambda-$chosen/selected.safetensors"
    expect_empty "no checkpoint is left by any of them" "$(ls auto/*/checkpoint.safetensors auto/checkpoint.safetensors 2>/dev/null)"
    train gray.npz $small --lambda "$chosen" --quiet --out chosen
    expect_success "the same lambda by itself gives the same weights" cmp auto/selected.safetensors chosen/selected.safetensors
}
expect 0 "with --preset paper" --help

# ---- messages ----

expect 1 "none.npz" none.npz
echo "no zip" >text.npz
expect 1 "text.npz" text.npz
expect 2 "1 needed" --steps 3
expect 2 "--net wrn:depth=12: \"depth\" is 12; it must be one of 10, 16, 22" gray.npz --preset quick --depth 12
expect 2 "--chains 8 are more than the --buffer of 4 holds" gray.npz --chains 8 --buffer 4
expect 2 "--alpha" gray.npz --alpha 0
expect 2 "--lambda: \"many\" is not valid" gray.npz --lambda many
expect 2 "--energy: \"-1\" is not valid" gray.npz --energy=-1
expect 2 "--energy: \"nan\" is not valid" gray.npz --energy nan
expect 2 "--every 1 is too often in 100000000 steps; take at least 101" gray.npz --preset quick --steps 100000000 --every 1
expect 2 "there is no option --epoch; did you mean --epochs" gray.npz --epoch 3
expect 2 "there is no option --inject" gray.npz --inject weights
export COUPLET_INJECT=teeth@3
expect 1 "COUPLET_INJECT: \"teeth@3\" is no fault" gray.npz --out fault
export COUPLET_INJECT=weights@3,stop
expect 1 "COUPLET_INJECT: \"stop\" is no fault" gray.npz --out fault
unset COUPLET_INJECT
rm -r fault
expect 2 "softmax|jem|hybrid" gray.npz --method svm
expect 1 "cannot open it" gray.npz --labeled-rows absent
expect_empty "what was refused left no folder" "$(ls -d runs 2>/dev/null)"
finish
