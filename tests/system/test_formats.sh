#!/bin/sh
# The Python programs of docs/formats.md run as printed: one exports a network for `couplet predict`, the other loads a
# model. Arguments: the top folder, python, the couplet command.
. "$(dirname "$0")/report.sh"
top=$1 python=$2 couplet=$3
case $couplet in /*) ;; *) couplet=$PWD/$couplet ;; esac
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

for name in export load; do
    awk -v mark="^<!-- python: $name -->" '
        $0 ~ mark { found = 1 }
        inside && /^```/ { exit }
        inside { print }
        found && /^```python/ { inside = 1 }' "$top/docs/formats.md" >"$work/$name.py"
done
cp "$top/models/couplet_torch.py" "$work"
cd "$work" || exit 1
if "$python" -c 'import numpy, torch' 2>/dev/null; then
    expect_success "docs/formats.md's exporter agrees with couplet predict" "$python" export.py "$couplet"
    expect_success "docs/formats.md's loader reads its file" \
        sh -c "'$python' load.py model.safetensors x.npy | grep \"'model': 'mlp'.*(100, 3) False\""
    expect_success "couplet_torch.py lists its tensors" \
        sh -c "'$python' couplet_torch.py model.safetensors | grep 'layer0.weight *float32 (32, 4)'"
else
    skip "docs/formats.md's programs run" "numpy or PyTorch is missing"
fi
finish
