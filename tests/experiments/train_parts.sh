# Shared functions of the tests of `couplet train`, which source this file after report.sh. Their arguments: the program
# couplet, the program draw_images, and optionally a word.
# shellcheck shell=sh disable=SC2034

couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
draw_images=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

"$draw_images" gray.npz 8 8 1 3 40 30 36 || exit 1
small="--every 4 --buffer 64 --sgld 2 --batch 8 --unlabeled 8 --chains 8 --labels 3 --warmup 0"

train() {
    "$couplet" train "$@" </dev/null
}

about train

# One line for each member of a JSON file: "test/end/accuracy 33.3".
members() {
    awk '{
        match($0, /^ */); depth = RLENGTH / 2
        if (!match($0, /"[^"]*": /)) next
        key[depth] = substr($0, RSTART + 1, RLENGTH - 4)
        path = key[1]
        for (i = 2; i <= depth; i++) path = path "/" key[i]
        value = substr($0, RSTART + RLENGTH); sub(/,$/, "", value)
        print path, value
    }' "$1"
}

member() { # file, path
    members "$1" | awk -v path="$2" '$1 == path { sub(/^[^ ]* /, ""); print; exit }'
}

# Sets of files that must be equal, except for the times in logs.
same_runs() { # sentence, folder, folder
    expect_empty "$1" "$(diff -rq -x log.jsonl "$2" "$3" 2>&1)"
}

wait_for() { # seconds, command...
    tenths=$((10 * $1))
    shift
    while [ "$tenths" -gt 0 ] && ! "$@"; do
        sleep 0.1
        tenths=$((tenths - 1))
    done
}

has_lines() {
    [ -f "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]
}
