#!/bin/sh
# The couplet command, run as a user would run it: its output and its exit codes. Arguments: the program, and
# `sanitized` if it was built with a sanitizer.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

couplet() { "$couplet" "$@"; }
about couplet

expect 0 "Usage: couplet COMMAND" --help
expect 0 "130 interrupted" --help
expect 0 "couplet " --version
expect 2 "Usage:"
expect 2 "did you mean predict?" predikt
expect 2 "did you mean report?" reprot x
expect 2 'no option "--nonsense"' --nonsense
expect 0 "--layout auto|nchw|nhwc" predict --help
expect 0 "--layout auto|nchw|nhwc" help predict
expect 0 "DIR..." report --help
expect 0 "RUN|MODEL.safetensors INPUT... [options]" predict --help
expect 0 "man couplet" --help
expect 2 '"x" is one word too many after --man' --man x
expect 2 '"x" is one word too many after --version' --version x
expect 2 "there is no option --seed" predict a b --out c --seed 1
expect 2 "there is no option --seed" report run --seed 1
expect 2 "did you mean --layout?" predict a b --out c --layuot nchw
expect 1 "cannot open" predict a b
expect 2 "2 needed" predict a --out c
expect 1 "cannot open" predict missing.safetensors missing.npy --out probs.npy
expect 1 "this is a device" predict /dev/zero missing.npy --out probs.npy
expect 1 "no such folder" report missing

# ---- bench ----

expect 0 "NETWORK is six numbers" bench --help
expect 2 'there is no option --json' bench --json
expect 2 'there is no benchmark "abacus"' bench abacus
expect 2 "THREADS is \"many\"" bench wrn many
expect 2 "3 numbers after THREADS" bench wrn 1 10 1 0
expect 2 "DEPTH is 11; a wide ResNet has depth 10, 16, 22" bench wrn 1 11 1 0 8 1 2
expect 2 'BATCH is "0"' bench scaling 2 10 1 0 8 1 0

"$couplet" bench wrn 1 10 1 0 8 1 2 10 1 1 8 1 2 >steps
number='[0-9][0-9]*\.[0-9]'
line="wrn 10 1 norm [01] side 8 channels 1 batch 2 threads 1  train $number ms  sgld $number ms  infer $number ms"
expect_success "bench wrn prints one line per network in the format for scripts" test "$(grep -cx "$line" steps)" -eq 2
"$couplet" bench scaling 2 10 1 0 8 1 2 >scaling
ratio='[0-9]*\.[0-9][0-9] ([0-9]*\.[0-9][0-9])'
line="scaling wrn 10 1 norm 0 side 8 channels 1 batch 2 threads 2 against 1  train $ratio  sgld $ratio  infer $ratio"
expect_success "bench scaling prints a ratio of medians and one of the shortest for each step" grep -qx "$line" scaling
expect 2 "memory takes no arguments" bench memory 1
expect 2 "scaling compares two or more threads with one" bench scaling 1
expect 2 "give one of them" bench wrn 2 10 1 0 8 1 2 --threads 1
expect 2 "give one of them" bench hybrid 2 --threads 1
expect 2 'hybrid takes THREADS only; "10" is one too many' bench hybrid 1 10
expect 2 'THREADS is "0"' bench hybrid 0
# A double build has only the reference kernels: they are slow, and there is no choice. Under a sanitizer, measurements
# mean nothing.
case $("$couplet" --version)${2:-} in
*double* | *sanitized*) ;;
*)
    expect 0 "memory wrn 16 2 norm 0 side 28 channels 3 batch 64  train " bench memory
    "$couplet" bench hybrid 2 >steps
    line="hybrid wrn 10 1 side 28 channels 3 batch 32 steps 10 threads 2  without penalty $number ms  with $number ms  ratio [0-9]*\.[0-9][0-9]"
    expect_success "bench hybrid prints the time of a step without and with the gradient penalty" grep -qx "$line" steps
    COUPLET_CONV=abacus "$couplet" bench wrn 1 10 1 0 8 1 2 >steps 2>message
    COUPLET_KERNELS=abacus "$couplet" bench wrn 1 10 1 0 8 1 2 >steps 2>>message
    expect_success "an unknown COUPLET_KERNELS is reported" grep -q "COUPLET_KERNELS=abacus is none of avx512, avx2, .*; using " message
    expect_success "an unknown COUPLET_CONV is reported" grep -q "COUPLET_CONV=abacus is none of auto, direct" message
    ;;
esac
rm -f steps scaling message

echo "not a model" >model.safetensors
expect 1 "is not an HTML page" report . --out model.safetensors
expect 1 "is one of the files" predict model.safetensors model.safetensors --out model.safetensors
expect 1 "model.safetensors" predict model.safetensors x.npy --out probs.npy
expect_empty "failed commands leave nothing behind" "$(find . -type f ! -name model.safetensors)"

if [ -w /dev/full ]; then
    "$couplet" --help >/dev/full 2>message
    code=$?
    if [ "$code" -eq 1 ] && grep -q "could not" message; then
        ok "a full disk under stdout is reported"
    else
        not_ok "a full disk under stdout is reported" "code $code: $(cat message)"
    fi
fi
finish
