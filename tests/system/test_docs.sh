#!/bin/sh
# The programs on these pages of docs/ compile as printed with README's command, run, and print what the page shows.
# Arguments: the top folder, the build folder, the C compiler.
# shellcheck disable=SC2154 # installed.sh sets what is used here
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/installed.sh"

# The code block after <!-- output: name -->, with the output of the program.
printed() { # page, name
    awk -v mark="^<!-- output: *${2} *-->" '
        $0 ~ mark { found = 1; next }
        inside && /^```/ { exit }
        inside { print }
        found && /^```/ { inside = 1 }' "$1"
}

# Memory in use may differ from machine to machine.
same() { # two files
    for file in "$@"; do grep -v ' bytes in use, ' "$file" >"$file.compared"; done
    diff "$1.compared" "$2.compared"
}

package_of() { # program.c
    sed -n 's/^#include <\(couplet[a-z-]*\)\.h>$/\1/p' "$1"
}

cp "$top/tests/golden/nifti_lps.nii.gz" "$work/volume.nii.gz" # for the program that reads one
for page in docs/library.md docs/autodiff.md docs/models.md docs/networks.md docs/recipes.md docs/data.md; do
    for name in $(programs_of "$top/$page"); do
        extract_short "$top/$page" "$name"
        printed "$top/$page" "$name" >"$work/$name.expected"
        expect_success "$page's program $name compiles" compile_as_told "$(package_of "$work/$name.c")" "$work/$name" "$work/$name.c"
        expect_success "it runs" sh -c "cd '$work' && './$name' >'$name.found' </dev/null"
        if [ ! -s "$work/$name.expected" ]; then
            skip "it prints what the page says" "the page shows nothing"
        elif grep -q 'CP_DOUBLE 1' "$build/couplet_config.h"; then
            skip "it prints what the page says" "the page is about single precision"
        else
            expect_success "it prints what the page says" same "$work/$name.expected" "$work/$name.found"
        fi
    done
done
finish
