#!/bin/sh
# The program of docs/loop.md compiles as printed, learns, and goes on from its checkpoint as if it had not stopped; a checkpoint
# that is damaged or cannot be written is reported and never replaced by a new run.
# Arguments: the top folder, the build folder, the C compiler.
# shellcheck disable=SC2154 # installed.sh sets what is used here
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/installed.sh"
mkdir "$work/straight" "$work/halted"

extract_short "$top/docs/loop.md" hybrid
expect_success "it compiles" compile_as_told couplet "$work/hybrid" -O1 "$work/hybrid.c"
expect_success "it runs" sh -c "cd '$work/straight' && ../hybrid >said"
expect_success "it learns: $(tail -n 1 "$work/straight/said")" \
    awk 'END { exit !($6 >= 90) }' "$work/straight/said"
expect_success "it stops halfway" sh -c "cd '$work/halted' && ../hybrid 400"
expect_success "it continues" sh -c "cd '$work/halted' && ../hybrid | grep 'continuing from step 400'"
expect_success "it ends in the same bytes" cmp "$work/straight/hybrid.safetensors" "$work/halted/hybrid.safetensors"

# Runs the program for 1 step in a folder; it must fail, say these words and nothing of a missing file.
fails() { # folder, words
    (cd "$1" && ../hybrid 1 >said 2>&1) && return 1
    grep -q "$2" "$1/said" && ! grep -q "No such file" "$1/said"
}

mkdir "$work/damaged" "$work/full"
head -c 20000 "$work/straight/hybrid.safetensors" >"$work/damaged/hybrid.safetensors"
cp "$work/damaged/hybrid.safetensors" "$work/damaged/before"
expect_success "a damaged checkpoint is refused" fails "$work/damaged" 'the file is damaged'
expect_success "and left as it was" cmp "$work/damaged/before" "$work/damaged/hybrid.safetensors"
(trap '' XFSZ; cd "$work/full" && ulimit -f 1 && ../hybrid 1 >said 2>&1)
expect_success "a save that fails says why, and not why there was nothing to load" \
    sh -c "grep -q 'File too large' '$work/full/said' && ! grep -q 'No such file' '$work/full/said'"
expect_success "and leaves nothing behind" sh -c "test \"\$(ls -A '$work/full')\" = said"

if /usr/bin/python3 -c 'import numpy, torch' 2>/dev/null; then
    expect_success "couplet_torch.py reads the checkpoint" \
        sh -c "/usr/bin/python3 '$top/models/couplet_torch.py' '$work/halted/hybrid.safetensors' | grep -q 'couplet.replay.visits'"
else
    skip "couplet_torch.py reads the checkpoint" "numpy or PyTorch is missing"
fi
finish
