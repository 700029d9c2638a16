#!/bin/sh
# couplet evaluate, generate and impute, run as a user would run them, on a short training on small images, and the report of
# everything. Arguments: the program, draw_images.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
draw_images=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

quietly() { # words...
    "$couplet" "$@" --quiet </dev/null
}

"$draw_images" cells.npz 8 8 1 3 40 30 36 || exit 1
quietly train cells.npz --steps 4 --every 4 --buffer 64 --chains 4 --unlabeled 4 --batch 4 --sgld 2 --out trained
for threads in 1 2; do
    quietly evaluate trained cells.npz --split val --threads $threads --out "evaluate-$threads"
    quietly generate trained --per-class 2 --threads $threads --out "generate-$threads"
    quietly impute trained --from-set cells.npz --count 3 --chains 2 --threads $threads --out "impute-$threads"
done
for file in evaluate/result.json evaluate/reliability.svg evaluate/confusion.svg evaluate/energies.svg generate/result.json \
    generate/samples.png generate/samples.npz generate/film.png impute/result.json impute/filled.png impute/filled.npy; do
    expect_success "$file has the same bytes with 1 and 2 threads" cmp "${file%%/*}-1/${file#*/}" "${file%%/*}-2/${file#*/}"
done

"$couplet" evaluate trained cells.npz --split val --out evaluate-1 </dev/null >said 2>&1
expect_success "a finished evaluation shows its results" grep -q "accuracy, %" said
"$couplet" generate trained --per-class 2 --json --out json </dev/null >printed.json 2>/dev/null
expect_success "--json prints the contents of result.json" cmp printed.json json/result.json
"$couplet" impute trained </dev/null >said 2>&1
expect_success "impute without images says what to give" grep -q "give IMAGES.npy" said

# ---- changed inputs ----

refused() { # sentence, text, words...
    sentence=$1 part=$2
    shift 2
    "$couplet" "$@" </dev/null >said 2>&1
    code=$?
    if [ $code -eq 1 ] && grep -q -e "$part" said; then ok "$sentence"; else not_ok "$sentence" "code $code: $(cat said)"; fi
}

quietly train cells.npz --seed 2 --steps 4 --every 4 --buffer 64 --chains 4 --unlabeled 4 --batch 4 --sgld 2 --out again
for command in evaluate generate impute; do
    case $command in
    evaluate) words="cells.npz --split val" ;;
    generate) words="--per-class 2" ;;
    *) words="--from-set cells.npz --count 3 --chains 2" ;;
    esac
    # shellcheck disable=SC2086 # words
    {
        [ $command = evaluate ] || expect_said 2 'alpha: "0" is not valid; expected a number from 1e-12 to 1000000000 or "run"' \
            "$couplet" $command trained $words --alpha 0 --out none
        [ $command = evaluate ] || expect_said 2 'steps: "1.5" is not valid; expected a whole number from 1 to 1000000 or "run"' \
            "$couplet" $command trained $words --steps 1.5 --out none
        mv trained kept && cp -r kept trained && printf '\n' >>trained/result.json
        refused "$command of a retrained model is refused" "the training has changed since" \
            $command trained $words --out $command-1
        cp again/selected.safetensors again/end.safetensors again/result.json trained/
        refused "$command of different weights is refused" "the model has changed since" $command trained $words --out $command-1
        cp kept/selected.safetensors kept/end.safetensors trained/ && rm trained/result.json
        refused "$command of a model that is no longer finished is refused" "the training has changed since" \
            $command trained $words --out $command-1
        "$couplet" $command trained $words --out $command-half </dev/null >said 2>&1
        expect_success "$command of an unfinished training says so" grep -q "is not finished: its weights and their temperature may still change" said
        expect_success "its result.json says so too" grep -q "is not finished: its weights and their temperature may still change" $command-half/result.json
        expect_success "and so does the field of its model" grep -q '"finished": false' $command-half/result.json
        expect_success "for a finished training the field is true" grep -q '"finished": true' $command-1/result.json
        rm -r trained && mv kept trained
        expect_success "$command of the unchanged model is shown" quietly $command trained $words --out $command-1
    }
done

{ head -c $(($(wc -c <cells.npz) - 2)) cells.npz && printf '\001\000x'; } >others.npz # the zip file has a comment
mask() { # bytes of the first pixels
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (8, 8), }"
    printf "$1" && head -c 60 /dev/zero
}
mask '\001\001\001\000' >mask.npy
quietly evaluate trained cells.npz --ood cells.npz --split val --out of-file
quietly impute trained --from-set cells.npz --count 3 --chains 2 --out filled-file
cp cells.npz kept.npz && cp others.npz cells.npz
refused "evaluate on changed data is refused" "the data has changed since" \
    evaluate trained cells.npz --ood cells.npz --split val --out of-file
refused "impute of changed data is refused" "the data has changed since" \
    impute trained --from-set cells.npz --count 3 --chains 2 --out filled-file
mv kept.npz cells.npz
expect_success "evaluate on the unchanged data is shown" \
    quietly evaluate trained cells.npz --ood cells.npz --split val --out of-file
cp filled-file/filled.npy holes.npy
quietly impute trained holes.npy --mask mask.npy --chains 2 --out masked
expect_success "impute with the unchanged mask is shown" quietly impute trained holes.npy --mask mask.npy --chains 2 --out masked
mask '\001\001\000\000' >mask.npy
refused "impute with a changed mask is refused" "the mask has changed since" \
    impute trained holes.npy --mask mask.npy --chains 2 --out masked
cp masked/filled.npy holes.npy && mask '\001\001\001\000' >mask.npy
refused "impute of changed images is refused" "the data has changed since" \
    impute trained holes.npy --mask mask.npy --chains 2 --out masked

escape=$(printf '\033')
cp -r trained "tr${escape}ained" && "$couplet" generate "tr${escape}ained" --per-class 1 --steps 1 --out named >said 2>&1 </dev/null
mv "tr${escape}ained/result.json" kept.json && "$couplet" generate "tr${escape}ained" --per-class 1 --steps 1 --out half >>said 2>&1 </dev/null
expect_success "no control character of a run's name reaches the terminal" sh -c "grep -q 'tr?ained is not finished' said && ! grep -q '$escape' said"

quietly report trained evaluate-1 generate-1 impute-1 --out page.html
for part in "how many of the images are in each bin" "as color its share of the row" "images of uniform noise: lower is more probable" \
    ": samples of p(x|c), one row per class" "The first chain of each class" "filled by the model, and as they are"; do
    expect_success "the report has the caption: $part" grep -q "$part" page.html
done
expect_success "the report contains the pictures" test "$(grep -c 'data:image/png;base64' page.html)" -ge 3

# ---- two classes: one definition of all metrics ----

"$draw_images" two.npz 8 8 1 2 40 30 36 || exit 1
"$couplet" train two.npz --method softmax --labels 3 --steps 4 --every 4 --out softmax </dev/null >trained.txt 2>&1
"$couplet" evaluate softmax two.npz --out tested </dev/null >evaluated.txt 2>&1
for file in trained.txt evaluated.txt; do
    expect_success "$file says what Brier is with two classes" grep -q "twice scikit-learn's brier_score_loss" $file
done
metrics() { # result.json, an object, one in it with metrics: their names and numbers
    awk -v outer="$2" -v inner="$3" '$1 == outer && $2 == "{" { found = 1 } found && $1 == inner { inside = 1; next } inside && /"intervals"/ { exit } inside' "$1" | tr -d ' '
}
metrics softmax/result.json '"test":' '"selected":' >trained.metrics
metrics tested/result.json '"metrics":' '"plain":' >evaluated.metrics
expect_success "train and evaluate give a metric the same name and number" cmp trained.metrics evaluated.metrics
expect_success "there are at least eight" test "$(wc -l <trained.metrics)" -ge 8
finish
