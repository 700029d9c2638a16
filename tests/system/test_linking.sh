#!/bin/sh
# The libraries export only names with our prefix, the same names shared and static, and need only libc and libm.
# Arguments: the shared library and the static one of couplet, those of couplet-kit, programs that use them.
. "$(dirname "$0")/report.sh"

names() { # nm's options and a file
    nm --defined-only --extern-only --no-sort "$@" | awk 'NF == 3 && $2 != "A" { print $3 }' | sort -u
}

check_names() { # shared library, static library
    name=$(basename "$1")
    if ! command -v nm >/dev/null; then
        skip "$name exports nothing without the prefix cp_" "nm is missing"
        return
    fi
    expect_success "$name exports something" test -n "$(names -D "$1")"
    expect_empty "it exports nothing without the prefix cp_" "$(names -D "$1" | grep -v '^cp_')"
    expect_success "the static library has the same names" test "$(names -D "$1")" = "$(names "$2")"
}

couplet=$1 kit=$3
check_names "$couplet" "$2"
check_names "$kit" "$4"

shift 4
for file in "$couplet" "$kit" "$@"; do
    sentence="$(basename "$file") needs only libc, libm and couplet"
    if command -v readelf >/dev/null; then
        # An old libc has threads in a separate library.
        expect_empty "$sentence" "$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
            grep -v -e '^libc\.so' -e '^libm\.so' -e '^libpthread\.so' -e '^ld-linux' -e '^libcouplet\.so')"
    else
        skip "$sentence" "readelf is missing"
    fi
done
finish
