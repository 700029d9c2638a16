#!/bin/sh
# The programs on the pages of docs/ compile as printed and run; the experiment of docs/experiment.md becomes a command.
# Arguments: the top folder, the build folder, the static library, the C compiler.
. "$(dirname "$0")/report.sh"
top=$1 build=$2 library=$3 cc=$4
case $library in /*) ;; *) library=$build/$library ;; esac
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -O1 -Wall -Wextra -Werror"

names() { # page
    sed -n 's/^<!-- program: *\([a-z_]*\).*-->$/\1/p' "$1"
}

# The C block after a line such as <!-- program: moons lines<=100 -->.
extract() { # page, name
    awk -v mark="^<!-- program: *${2}[ -]" '
        $0 ~ mark { found = 1 }
        inside && /^```/ { exit }
        inside { print }
        found && /^```c/ { inside = 1 }' "$1"
}

# The block of another language after <!-- output: name -->: what the program prints.
printed() { # page, name
    awk -v mark="^<!-- output: *${2} *-->" '
        $0 ~ mark { found = 1; next }
        inside && /^```/ { exit }
        inside { print }
        found && /^```/ { inside = 1 }' "$1"
}

compile() { # program, sources...
    out=$1
    shift
    # shellcheck disable=SC2086 # flags are words
    (cd "$work" && "$cc" $flags -I"$work" -I"$build" -I"$top" "$@" "$library" -lm -pthread -o "$out")
}

# Memory in use may differ from machine to machine.
same() { # two files
    for file in "$@"; do grep -v ' bytes in use, ' "$file" >"$file.compared"; done
    diff "$1.compared" "$2.compared"
}

# ---- docs/autodiff.md, docs/models.md: programs on their own ----

for page in docs/autodiff.md docs/models.md; do
    for name in $(names "$top/$page"); do
        extract "$top/$page" "$name" >"$work/$name.c"
        printed "$top/$page" "$name" >"$work/$name.expected"
        expect_success "$page's program $name compiles" compile "$name" "$name.c"
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

# ---- docs/experiment.md: a file and three lines ----

page=$top/docs/experiment.md
cp -r "$top/experiments" "$work/experiments"
extract "$page" moons >"$work/experiments/moons.c"
limit=$(sed -n 's/^<!-- program: *moons lines<=\([0-9]*\).*/\1/p' "$page")
lines=$(($(wc -l <"$work/experiments/moons.c")))
expect_success "docs/experiment.md's program has at most $limit lines (it has $lines)" \
    test "$lines" -gt 0 -a "$lines" -le "$limit"
add() { # line that goes before, file
    sed "$1" "$work/experiments/$2" >"$work/changed" && mv "$work/changed" "$work/experiments/$2"
}
add 's/^#endif/extern const cp_command cp_command_moons;\n&/' commands.h
add 's/^    &cp_command_synthetic,/&\n    \&cp_command_moons,/' couplet.c
# shellcheck disable=SC2046 # names are words
expect_success "it becomes a command" compile couplet experiments/couplet.c experiments/moons.c \
    $(sed -n "/^experiment_sources/,/^)/s/^ *'\\(.*\\)',/\\1/p" "$top/meson.build")
cd "$work" || exit 1
expect_success "it runs" ./couplet moons --repeats 2 --steps 150 --out run
expect_success "it learns" sh -c 'grep -A1 "perceptron" run/result.json | grep -q "9[0-9]\.\|100\."'
expect_success "it leaves a figure" test -s run/accuracy.svg
expect_success "it finds what it left" sh -c './couplet moons --repeats 2 --steps 150 --out run 2>&1 | grep -q finished'
expect_success "it goes into a report" ./couplet report run --out page.html
finish
