#!/bin/sh
# couplet tape, run as a user would run it. Argument: the program.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

couplet() { "$couplet" "$@"; }
about couplet

demos=$(couplet tape --list | cut -d ' ' -f 1)
for name in chain fan-out broadcast perceptron conv-block gaussian-head second-order wrn; do
    expect 0 "$name " tape --list
done

whole() { # page: is it one, with a replay in it, below 3 MB, that fetches nothing?
    head -n 1 "$1" | grep -qx '<!DOCTYPE html>' && tail -n 1 "$1" | grep -qx '</html>' &&
        grep -q '<script id="replay" type="application/json">{"title":' "$1" && [ "$(wc -c <"$1")" -lt 3145728 ] &&
        ! grep -o 'http[^" ]*' "$1" | grep -v '^http://www.w3.org/2000/svg'
}

completions=$(couplet --completion bash)
for name in $demos; do
    expect 0 "$name.html#end is the finished replay" tape "$name"
    expect_success "$name.html is a complete page" whole "$name.html"
    expect_success "$name.html quotes the program, which is not in this folder" grep -q '"source":"[^"]*cp_' "$name.html"
    expect_success "shells complete $name" sh -c "echo '$completions' | grep -q -e '\<$name\>'"
done

expect 0 "d loss / d w = 1.09" tape chain --gradients --out elsewhere.html
expect_success "--out sets the name of the page" whole elsewhere.html
expect_success "the same tape gives the same page" cmp chain.html elsewhere.html
expect 2 "did you mean chain?" tape chian
expect 2 "couplet tape --list" tape nothing-of-the-kind
expect 2 "DEMO is needed" tape
expect 1 "cannot create a file in its folder" tape chain --out no/such/folder/page.html
[ ! -w /dev/full ] || expect 1 "writing failed" tape chain --out /dev/full

short_of_room() { (trap '' XFSZ && ulimit -f 8 && couplet "$@"); }
about short_of_room
expect 1 "writing failed" tape wrn --out elsewhere.html
expect_success "an older page stays if no new one can be written" cmp chain.html elsewhere.html
about couplet
expect 2 "no option --seed" tape chain --seed 1
finish
