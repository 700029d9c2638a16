#!/bin/sh
# couplet evaluate, generate and impute as they are started by hand, on a short training on phantom, and the report of all of it.
# Argument: the program.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

quietly() { # words...
    "$couplet" "$@" --quiet </dev/null
}

quietly train phantom --steps 4 --every 4 --buffer 64 --chains 4 --unlabeled 4 --batch 4 --sgld 2 --out trained
for threads in 1 2; do
    quietly evaluate trained phantom --split val --threads $threads --out "evaluate-$threads"
    quietly generate trained --per-class 2 --threads $threads --out "generate-$threads"
    quietly impute trained --from-set phantom --count 3 --chains 2 --threads $threads --out "impute-$threads"
done
for file in evaluate/result.json evaluate/reliability.svg evaluate/confusion.svg evaluate/energies.svg generate/result.json \
    generate/samples.png generate/samples.npz generate/film.png impute/result.json impute/filled.png impute/filled.npy; do
    expect_success "$file has the same bytes with 1 and 2 threads" cmp "${file%%/*}-1/${file#*/}" "${file%%/*}-2/${file#*/}"
done

"$couplet" evaluate trained phantom --split val --out evaluate-1 </dev/null >said 2>&1
expect_success "an evaluation that is finished shows what it found" grep -q "accuracy, %" said
"$couplet" generate trained --per-class 2 --json --out json </dev/null >printed.json 2>/dev/null
expect_success "--json prints what is in result.json" cmp printed.json json/result.json
"$couplet" impute trained </dev/null >said 2>&1
expect_success "impute without images tells what to give" grep -q "give IMAGES.npy" said

quietly report trained evaluate-1 generate-1 impute-1 --out page.html
for part in "how many of the images are in each bin" "the color is the share of the row" "images of uniform noise: lower is more probable" \
    "Samples of p(x|c), one row a class" "The first chain of each class" "filled by the model, and as they are"; do
    expect_success "the report has the caption: $part" grep -q "$part" page.html
done
expect_success "the report has the pictures in itself" test "$(grep -c 'data:image/png;base64' page.html)" -ge 3
finish
