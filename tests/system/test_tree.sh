#!/bin/sh
# The source tree follows its rules. Argument: the top folder.
. "$(dirname "$0")/report.sh"
cd "$1" || exit 1

code() { # the C files of the library, the kit and the experiments whose names end so
    for end in "$@"; do
        find core ops layers optim models experiments -name "*.$end"
    done | sort
}

includes_of() { # files: a line for each file that one of them includes, "file included", except what the build makes
    awk '/^ *#include "/ { split($0, part, "\""); if (part[2] != "couplet_config.h") print FILENAME, part[2] }' "$@"
}

unlisted_sources() {
    code c | grep -vxFf "$work/listed"
}

# A header that is not installed, or a part of a source file, must be included somewhere; otherwise it was forgotten.
unused_headers() {
    # shellcheck disable=SC2046 # the files are words
    includes_of $(code c h inc) $(find tests -name '*.[ch]') couplet.h | sed 's/.* //' >"$work/included"
    code h inc | grep -vxFf "$work/listed" | grep -vxFf "$work/included"
}

# A program must be able to include an installed header with only the installed files.
headers_not_installed() {
    # shellcheck disable=SC2046 # the files are words
    includes_of $({ code h && echo couplet.h; } | grep -xFf "$work/listed") |
        awk 'NR == FNR { listed[$1] = 1; next } !($2 in listed) { print $2 ", which " $1 " includes" }' "$work/listed" -
}

unlisted_tests() {
    for file in tests/*/test_*.c; do
        name=$(echo "$file" | sed 's|^tests/||; s|/test_|/|; s|\.c$||')
        [ ! -f "$file" ] || grep -q "'$name'" tests/meson.build || echo "$file"
    done
}

# A folder includes only itself and the folders before it, and the kit does not include its users.
upward_includes() {
    above=""
    for folder in core ops layers optim models experiments/kit; do
        above="$above${above:+\\|}$folder/"
        [ "$folder" != experiments/kit ] || above="$above\\|couplet.h"
        # shellcheck disable=SC2046 # the files are words
        includes_of $(code c h inc | grep "^$folder/") | grep -v "^[^ ]* \\($above\\)" | sed 's/ / includes /'
    done
}

work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
grep -o "'[^']*'" meson.build | tr -d "'" >"$work/listed" # what is in its lists, and some more words
if command -v shellcheck >/dev/null; then
    expect_success "shellcheck finds no warnings in the shell scripts" \
        shellcheck -S warning check demo docs/course/check docs/course/slides .ci/run .ci/prepare.sh core/show/page/*.sh tests/*/*.sh
else
    skip "shellcheck finds no warnings in the shell scripts" "shellcheck is missing"
fi
expect_empty "every source file is in meson.build" "$(unlisted_sources)"
expect_empty "every header and part of a source is in meson.build or included" "$(unused_headers)"
expect_empty "the headers that an installed header includes are installed" "$(headers_not_installed)"
expect_empty "every unit test is in tests/meson.build" "$(unlisted_tests)"
expect_empty "includes point only to folders above" "$(upward_includes)"
expect_empty "./demo does not use build/, which belongs to the user" "$(grep -n -e 'setup build ' -e '-C build ' demo)"
finish
