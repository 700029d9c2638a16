#!/bin/sh
# The source tree follows its rules. Argument: the top folder.
. "$(dirname "$0")/report.sh"
cd "$1" || exit 1

code() { # the C files of the library, the kit and the experiments whose names end so
    for end in "$@"; do
        find core ops layers optim models experiments -name "*.$end"
    done | sort
}

listed() { # is a file in a list of meson.build?
    grep -q "'$1'" meson.build
}

includes_of() { # a file: what it includes of ours, except what the build makes
    sed -n 's/^ *#include "\([^"]*\)".*/\1/p' "$1" | grep -v '^couplet_config\.h$'
}

unlisted_sources() {
    code c | while read -r file; do listed "$file" || echo "$file"; done
}

# A header that is not installed, or a part of a source file, must be included somewhere; otherwise it was forgotten.
unused_headers() {
    { code c h inc && find tests -name '*.[ch]' && echo couplet.h; } | while read -r file; do includes_of "$file"; done |
        sort -u >"$work/included"
    code h inc | while read -r file; do
        listed "$file" || grep -qx "$file" "$work/included" || echo "$file"
    done
}

# A program must be able to include an installed header with only the installed files.
headers_not_installed() {
    { code h && echo couplet.h; } | while read -r file; do
        listed "$file" || continue
        includes_of "$file" | while read -r needed; do listed "$needed" || echo "$needed, which $file includes"; done
    done
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
        code c h inc | grep "^$folder/" | while read -r file; do
            includes_of "$file" | grep -v "^\\($above\\)" | sed "s|^|$file includes |"
        done
    done
}

work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
if command -v shellcheck >/dev/null; then
    expect_success "shellcheck finds no warnings in the shell scripts" \
        shellcheck -S warning check demo docs/course/check .ci/run .ci/prepare.sh core/show/page/*.sh tests/*/*.sh
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
