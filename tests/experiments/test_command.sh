#!/bin/sh
# The couplet command as it is started by hand: what it says and what it ends with. Argument: the program.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# expect CODE "text that stdout or stderr must have" words...
expect() {
    code=$1 part=$2
    shift 2
    output=$("$couplet" "$@" 2>&1 </dev/null)
    found=$?
    sentence="couplet $* ends with $code and says: $part"
    case $output in
    *"$part"*) [ "$found" -eq "$code" ] && ok "$sentence" || not_ok "$sentence" "code $found" ;;
    *) not_ok "$sentence" "code $found: $output" ;;
    esac
}

expect 0 "Usage: couplet COMMAND" --help
expect 0 "130 interrupted" --help
expect 0 "couplet " --version
expect 2 "Usage:"
expect 2 "did you mean predict?" predikt
expect 2 "did you mean report?" reprot x
expect 2 'no option "--nonsense"' --nonsense
expect 0 "--layout nchw|nhwc" predict --help
expect 0 "--layout nchw|nhwc" help predict
expect 0 "DIR..." report --help
expect 2 "did you mean --layout?" predict a b --out c --layuot nchw
expect 2 "--out PROBS.npy is needed" predict a b
expect 2 "2 needed" predict a --out c
expect 2 '"c"' predict a b c --out d
expect 1 "cannot open" predict missing.safetensors missing.npy --out probs.npy
expect 1 "no such folder" report missing

echo "not a model" >model.safetensors
expect 1 "is no HTML page" report . --out model.safetensors
expect 1 "is one of the files" predict model.safetensors model.safetensors --out model.safetensors
expect 1 "model.safetensors" predict model.safetensors x.npy --out probs.npy
expect_empty "nothing is left behind by what failed" "$(find . -type f ! -name model.safetensors)"

if [ -w /dev/full ]; then
    "$couplet" --help >/dev/full 2>message
    code=$?
    if [ "$code" -eq 1 ] && grep -q "could not" message; then
        ok "a full disk below stdout is told"
    else
        not_ok "a full disk below stdout is told" "code $code: $(cat message)"
    fi
fi
finish
