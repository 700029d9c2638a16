#!/bin/sh
# couplet export, run as a user would run it. Argument: the program.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
golden=$(cd "$(dirname "$0")/../golden" && pwd)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

couplet() { "$couplet" "$@"; }
about couplet
cp "$golden/pytorch_batch.safetensors" model.safetensors

expect 0 "m.onnx: wrn with softmax head; x is float32 (N, 12, 8, 3); outputs: posterior (N, 5) at temperature 1" \
    export model.safetensors --onnx m.onnx --shape 12,8,3
expect 0 "x is uint8 (N, 12, 8, 3) from 0 to 255" export model.safetensors --onnx bytes.onnx --shape 12,8,3 --bytes
expect 0 '"type": "float32"' export model.safetensors --onnx json.onnx --shape 12,8,3 --json
expect_success "the same model gives the same bytes" cmp m.onnx json.onnx
expect_success "a file has the model's description" grep -q '"depth":10' m.onnx
expect 0 "" export model.safetensors --onnx quiet.onnx --shape 12,8,3 --quiet

# The program of docs/formats.md runs as printed.
awk '/^<!-- node: run -->/ { found = 1 }
    inside && /^```/ { exit }
    inside { print }
    found && /^```js/ { inside = 1 }' "$golden/../../docs/formats.md" >run.js
couplet export model.safetensors --onnx blood.onnx --shape 28,28,3 --bytes --quiet
if node -e 'require("onnxruntime-node")' 2>/dev/null; then
    expect_said 0 "[ 2, 5 ] Float32Array(10)" node run.js
else
    skip "the program of docs/formats.md runs" "node or its package onnxruntime-node is missing"
fi

couplet train phantom --method softmax --labels 2 --steps 2 --out run --quiet
expect 0 "x is uint8 (N, 28, 28, 3) from 0 to 255" export run --onnx run.onnx
expect_success "a run's file says what it was trained on" grep -q '"name":"phantom"' run.onnx
expect 1 "the model knows its inputs, which are uint8" export run --onnx none.onnx --bytes

expect 1 "the shape of an input is needed; the network wrn takes any (N, H, W, 3) with H, W >= 8" export model.safetensors --onnx none.onnx
expect 1 "an input has shape (12, 8, 1)" export model.safetensors --onnx none.onnx --shape 12,8,1
expect 1 "lengths are for sequences (T, D); an input has shape (12, 8, 3)" export model.safetensors --onnx none.onnx --shape 12,8,3 --lengths
expect 1 "12.5 is not a whole number" export model.safetensors --onnx none.onnx --shape 12.5,8,3
expect 1 "at most 4 are possible" export model.safetensors --onnx none.onnx --shape 1,2,3,4,5
expect 1 "must end in .onnx" export model.safetensors --onnx model.safetensors --shape 12,8,3
expect 1 "no-such" export no-such.safetensors --onnx none.onnx
expect 1 "no/such" export model.safetensors --onnx no/such/none.onnx --shape 12,8,3
expect 2 "--onnx" export model.safetensors
expect_success "the model is as it was" cmp model.safetensors "$golden/pytorch_batch.safetensors"
expect_empty "a refused export leaves no file" "$(ls none.onnx 2>/dev/null)"
finish
