#!/bin/sh
# The program of docs/train.md compiles as printed, learns, and goes on from its checkpoint as if it had not stopped.
# Arguments: the top folder, the build folder, the static library, the C compiler.
. "$(dirname "$0")/report.sh"
top=$1 build=$2 library=$3 cc=$4
case $library in /*) ;; *) library=$build/$library ;; esac
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
mkdir "$work/straight" "$work/halted"

awk '/^<!-- program: hybrid/ { found = 1 }
    inside && /^```/ { exit }
    inside { print }
    found && /^```c/ { inside = 1 }' "$top/docs/train.md" >"$work/hybrid.c"
lines=$(($(wc -l <"$work/hybrid.c")))
expect_success "docs/train.md's program has at most 90 lines (it has $lines)" test "$lines" -gt 0 -a "$lines" -le 90
expect_success "it compiles" "$cc" -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -Wall -Wextra -Werror -I"$build" -I"$top" \
    "$work/hybrid.c" "$library" -lm -pthread -o "$work/hybrid"
expect_success "it runs" sh -c "cd '$work/straight' && ../hybrid >said"
expect_success "it learns: $(tail -n 1 "$work/straight/said")" \
    awk 'END { exit !($6 >= 90) }' "$work/straight/said"
expect_success "it stops halfway" sh -c "cd '$work/halted' && ../hybrid 400"
expect_success "it goes on" sh -c "cd '$work/halted' && ../hybrid | grep 'going on from step 400'"
expect_success "it ends in the same bytes" cmp "$work/straight/hybrid.safetensors" "$work/halted/hybrid.safetensors"

awk '/^<!-- python: read/ { found = 1 }
    inside && /^```/ { exit }
    inside { print }
    found && /^```python/ { inside = 1 }' "$top/docs/formats.md" >"$work/read.py"
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    expect_success "docs/formats.md's reader reads the checkpoint" \
        sh -c "/usr/bin/python3 '$work/read.py' '$work/halted/hybrid.safetensors' | grep -q 'couplet.replay.visits'"
else
    skip "docs/formats.md's reader reads the checkpoint" "numpy is missing"
fi
finish
