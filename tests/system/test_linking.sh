#!/bin/sh
# The library shows only names with our prefix, the same ones shared and static, and needs libc and libm alone.
# Arguments: the shared library, the static one, programs that use it.
. "$(dirname "$0")/report.sh"
shared=$1 static=$2

names() { # nm's options and a file
    nm --defined-only --extern-only --no-sort "$@" | awk 'NF == 3 && $2 != "A" { print $3 }' | sort -u
}

if command -v nm >/dev/null; then
    expect_empty "the shared library exports nothing without the prefix cp_" "$(names -D "$shared" | grep -v '^cp_')"
    expect_success "the static library has the same names" test "$(names -D "$shared")" = "$(names "$static")"
else
    skip "the libraries export nothing without the prefix cp_" "nm is missing"
fi

shift 2
for file in "$shared" "$@"; do
    sentence="$(basename "$file") needs libc and libm and nothing else"
    if command -v readelf >/dev/null; then
        # An aged libc keeps its threads in a file of their own.
        expect_empty "$sentence" "$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
            grep -v -e '^libc\.so' -e '^libm\.so' -e '^libpthread\.so' -e '^ld-linux')"
    else
        skip "$sentence" "readelf is missing"
    fi
done
finish
