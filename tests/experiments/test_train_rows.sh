#!/bin/sh
# Training on tables and sequences, and what the other commands do with the models. See train_parts.sh for the arguments.
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/train_parts.sh"
# shellcheck disable=SC2086 # options are words
rest=$small
small="$rest --steps 12 --threads 1"

"$draw_images" table.npz 0 0 5 3 60 30 36 || exit 1
"$draw_images" series.npz 0 6 2 3 60 30 36 1 lengths || exit 1
"$draw_images" one.npz 0 1 1 2 12 6 6 || exit 1

# shellcheck disable=SC2086
{
    # ---- every method on every kind ----

    for set in table series one; do
        for method in softmax jem hybrid pseudo; do
            expect 0 "selected, scaled" $set.npz $small --method $method --out $set-$method
            expect_success "$method on $set.npz had no event of the guard" test "$(member $set-$method/result.json guard/events)" = 0
        done
    done
    expect 0 "selected, scaled" series.npz $small --net mlp:sizes=8 --out series-mlp
    expect 0 "selected, Gaussians" table.npz $defaults --steps 12 --threads 1 --joint-steps 8 --out table-stages
    expect 0 "selected, Gaussians" series.npz $defaults --steps 12 --threads 1 --joint-steps 8 --out series-stages
    expect_success "a table is learned by a perceptron" grep -q '"model\\":\\"mlp' table-hybrid/selected.safetensors
    expect_success "sequences are learned by an LSTM" grep -q '"model\\":\\"lstm' series-hybrid/selected.safetensors
    train table.npz $rest --method softmax --steps 200 --quiet --out learned
    expect_success "three classes that are far apart are learned" \
        test "$(member learned/result.json test/end/accuracy | awk '{ print ($1 > 90) }')" = 1
    expect_success "the result has the shape of a row" test "$(sed -n '/"shape"/,/\]/p' series-hybrid/result.json | tr -d '" \n')" = "shape:[6,2],"

    # ---- the same bytes, also when stopped; nothing beyond a length counts ----

    COUPLET_INJECT=stop@7 "$couplet" train series.npz $small --quiet --out stopped </dev/null >/dev/null 2>&1
    expect 0 "selected, scaled" series.npz $small --out stopped
    same_runs "a stopped training on sequences ends in the same bytes" series-hybrid stopped
    train series.npz $rest --steps 12 --threads 2 --quiet --out two
    same_runs "1 and 2 threads write the same bytes" series-hybrid two

    # ---- what is refused ----

    expect 2 "takes (N, H, W, 1) with H, W >= 8" table.npz $small --net wrn --out refused
    expect 2 "--flip is for images" table.npz $small --flip x --out refused
    expect 2 "--shift is for images" series.npz $small --shift 1 --out refused
    expect_success "nothing is made for what is refused" test ! -e refused

    # ---- other commands ----

    expect_said 0 "table: a table of 5 features, 3 classes" "$couplet" data table.npz
    expect_said 0 "series: sequences of 6 steps of 2 features or shorter, 3 classes" "$couplet" data series.npz
    expect_said 1 "--sheet is for images" "$couplet" data series.npz --sheet sheet.png
    expect_said 0 "Data: series, your own file" "$couplet" evaluate series-hybrid series.npz --out evaluated
    expect_success "evaluate finds the training's accuracy" \
        test "$(member evaluated/result.json metrics/plain/accuracy)" = "$(member series-hybrid/result.json test/selected/accuracy)"
    for set in table series; do
        "$couplet" evaluate $set-hybrid $set.npz --quiet --out $set-evaluated </dev/null
        "$couplet" predict $set-hybrid $set.npz >$set.csv </dev/null
        expect_success "predict on $set.npz writes what evaluate writes" cmp $set.csv $set-evaluated/predictions.csv
    done
    expect_said 1 "inputs of shape (5); the model series-hybrid takes (N, T, 2) with T >= 1" "$couplet" evaluate series-hybrid table.npz
    expect_said 1 "generate draws images" "$couplet" generate table-hybrid --out drawn
    expect_said 0 "labels  method" "$couplet" study table.npz series.npz $rest --steps 8 --methods softmax,hybrid --seeds 0-1 --jobs 1 --out study
    expect_success "a study of rows draws no samples" test ! -e study/samples

    # ---- what to label next ----

    "$couplet" rank series-hybrid series.npz --by mixed --count 1000 --quiet --out ranked.csv
    expect_success "all rows without a label are ranked" test "$(wc -l <ranked.csv)" = 52
    labeled=$(awk '/"labeled": \[/ { list = 1; next } /\]/ { list = 0 } list { print $1 + 0 }' series-hybrid/result.json)
    for row in $labeled; do grep "^$row," ranked.csv; done >both
    expect_empty "no labeled row is ranked" "$(cat both)"
    expect_said 0 "row,score,class,probability,entropy,margin,density" "$couplet" rank series-hybrid series.npz --count 1
    expect_said 0 "5 of 36 rows of the test split without a label are in test.csv" \
        "$couplet" rank table-softmax table.npz --split test --count 5 --out test.csv
    expect_said 1 "a softmax model has no density" "$couplet" rank table-softmax table.npz --by density
    expect_said 1 "inputs of shape (5)" "$couplet" rank series-softmax table.npz

    # ---- impute ----

    npy() { # shape, octal bytes: an array of float32
        printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': $1, }"
        # shellcheck disable=SC2059 # the bytes are the format
        printf "$2"
    }
    values() { # file: its numbers, one on each line
        tail -c +129 "$1" | od -An -v -tf4 -w4 | tr -d ' '
    }
    one='\000\000\200\077' nan='\000\000\300\177' infinite='\000\000\200\177'

    for hole in center half random; do
        expect_said 0 "by the model" "$couplet" impute table-hybrid --from-set table.npz --hole $hole --count 5 --chains 2 --out t-$hole
        expect_said 0 "by the model" "$couplet" impute series-hybrid --from-set series.npz --hole $hole --count 5 --chains 2 --out s-$hole
    done
    expect_success "rows have no picture" test ! -e t-half/filled.png
    expect_success "half of the steps within the lengths 1, 2, 3, 4 and 5 are missing" \
        test "$(member s-half/result.json missing_pixels)" = 18
    npy "(2, 5)" "$one$nan$one$one$one$one$one$one$one$nan" >holes.npy
    expect_said 0 "2 values are missing, 20.0 % of 2 rows" "$couplet" impute table-hybrid holes.npy --chains 2 --out holes
    expect_success "what is known stays as it is, and what is missing is filled" \
        test "$(values holes/filled.npy | awk 'NR == 2 || NR == 10 { bad += tolower($0) ~ /nan|inf/; next } { bad += $0 != 1 } END { print NR, bad + 0 }')" = "10 0"
    npy "(1, 6, 2)" "$one$one$nan$one$nan$nan$nan$nan$nan$nan$infinite$nan" >late.npy
    npy "(1,)" '\000\000\000\100' >two.npy
    expect_said 0 "1 values are missing, 25.0 % of 1 rows" "$couplet" impute series-hybrid late.npy --length two.npy --chains 2 --out late
    expect_said 1 "a value that is not finite at step 5, feature 0" "$couplet" impute series-hybrid late.npy --out refused
    npy "(1,)" '\000\000\340\100' >seven.npy
    expect_said 1 "sequence 0 has length 7; 1 to 6 are possible" "$couplet" impute series-hybrid late.npy --length seven.npy --out refused
    expect_said 1 "the model's rows are (N, 5)" "$couplet" impute table-hybrid late.npy --out refused
    expect_said 1 "only sequences have lengths" "$couplet" impute table-hybrid holes.npy --length two.npy --out refused
    npy "(2, 5)" "$one$one$one$one$one$one$one$one$one$one" >known.npy
    expect_said 1 "no value is missing" "$couplet" impute table-hybrid known.npy --out refused
    expect_said 2 "takes no --length" "$couplet" impute series-hybrid --from-set series.npz --length two.npy --out refused
}
finish
