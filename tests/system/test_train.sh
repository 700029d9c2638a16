#!/bin/sh
# The program of docs/train.md compiles as printed, learns, and goes on from its checkpoint as if it had not stopped.
# Arguments: the top folder, the build folder, the C compiler.
# shellcheck disable=SC2154 # installed.sh sets what is used here
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/installed.sh"
mkdir "$work/straight" "$work/halted"

extract_short "$top/docs/train.md" hybrid
expect_success "it compiles" compile_as_told couplet "$work/hybrid" -O1 "$work/hybrid.c"
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
