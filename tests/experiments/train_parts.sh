# Shared functions of the tests of `couplet train`, which source this file after report.sh. Their arguments: the program
# couplet, the program draw_images, and optionally a word.
# shellcheck shell=sh disable=SC2034

couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
draw_images=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

"$draw_images" gray.npz 8 8 1 3 40 30 36 || exit 1
defaults="--every 4 --buffer 64 --sgld 2 --batch 8 --unlabeled 8 --chains 8 --labels 3 --warmup 0"
small="--preset quick $defaults"

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

# Halts a run of a study that has saved something and is not finished: what a test does next finds it half done, however slow the
# machine is. Sets $name and $process.
halt_a_run() { # study's folder
    for log in "$1"/runs/*/log.jsonl; do
        run=${log%/log.jsonl}
        name=${run##*/}
        has_lines "$log" 3 && [ -e "$run/checkpoint.safetensors" ] && [ ! -e "$run/result.json" ] || continue
        process=$(sed -n 's/.*"process":\([0-9]*\).*/\1/p' "$log" | tail -1)
        halt "$process" || continue
        [ -e "$run/checkpoint.safetensors" ] && [ ! -e "$run/result.json" ] && return 0
        kill -CONT "$process"
    done
    return 1
}

all_ended() { # processes
    for one in "$@"; do ! kill -0 "$one" 2>/dev/null || return 1; done
}

# Begins with the function and halts a run of it; begins anew when all runs were finished before one could be halted.
begin_and_halt() { # study's folder, words for begin...; $first is the study's process
    halted=$1
    shift
    while :; do
        begin "$@" --out "$halted"
        first=$!
        wait_for halts_or_ends && [ -n "$process" ] && return 0
        wait "$first"
        rm -rf "$halted"
    done
}

halts_or_ends() {
    halt_a_run "$halted" && return 0
    process=
    all_ended "$first"
}
