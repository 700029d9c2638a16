#!/bin/sh
# The Python programs of docs/formats.md run as printed: one exports a network for `couplet predict`, the other reads a
# file of tensors. Arguments: the top folder, python, the couplet command.
. "$(dirname "$0")/report.sh"
top=$1 python=$2 couplet=$3
case $couplet in /*) ;; *) couplet=$PWD/$couplet ;; esac
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

for name in export read; do
    awk -v mark="^<!-- python: $name -->" '
        $0 ~ mark { found = 1 }
        inside && /^```/ { exit }
        inside { print }
        found && /^```python/ { inside = 1 }' "$top/docs/formats.md" >"$work/$name.py"
done
cd "$work" || exit 1
if "$python" -c 'import numpy, torch' 2>/dev/null; then
    expect_success "docs/formats.md's exporter agrees with couplet predict" "$python" export.py "$couplet"
    expect_success "docs/formats.md's reader reads its file" \
        sh -c "'$python' read.py model.safetensors | grep 'layer0.weight *float32 (32, 4)'"
else
    skip "docs/formats.md's programs run" "numpy or PyTorch is missing"
fi
finish
