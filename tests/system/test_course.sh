#!/bin/sh
# Every program of a chapter of the course compiles without a warning, runs and prints what its page shows. Every
# unsolved exercise fails with a message that says where, and the solution that the page hides passes the same check.
# Arguments: the top folder, the build folder, the C compiler.
# shellcheck disable=SC2154 # installed.sh sets what is used here
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/installed.sh"
CC="$cc -Werror"
export CC
cd "$work" || exit 1

# The block after <!-- output: NAME -->; with the word "varies" after the name it is an example.
shown() { # page, name
    awk -v mark="^<!-- output: *${2}( varies)? *-->" '
        $0 ~ mark { found = 1 }
        inside && /^```/ { exit }
        inside { print }
        found && /^```/ { inside = 1 }' "$1"
}

program_holds() { # page, source
    name=$(basename "$2" .c) lines=$(wc -l <"$2")
    expect_success "$chapter's $name has at most 200 lines (it has $lines)" test "$lines" -le 200
    expect_success "$chapter's $name compiles and runs" sh -c "'$top/docs/course/check' '$number' --run '$name' >printed 2>&1 || { cat printed; exit 1; }"
    shown "$1" "$name" >shown
    expect_success "$chapter's page shows what $name prints" test -s shown
    if grep -q "^<!-- output: *$name varies" "$1"; then
        skip "$chapter's $name prints what the page says" "it prints times, which vary"
    elif grep -q 'CP_DOUBLE 1' "$build/couplet_config.h"; then
        skip "$chapter's $name prints what the page says" "the page is about single precision"
    else
        tail -n +2 printed | grep -v -e ' bytes in use, ' -e '^check: ' >printed.compared # after the line with the name
        grep -v ' bytes in use, ' shown >shown.compared
        expect_success "$chapter's $name prints what the page says" diff shown.compared printed.compared
    fi
}

about "$top/docs/course/check"
for folder in "$top"/docs/course/[0-9]*/; do
    chapter=$(basename "$folder") number=${chapter%%-*} page=$folder/README.md
    expect_success "$chapter's page has its number and title" grep -q "^# ${number#0}\\. " "$page"
    for source in "$folder"/*.c; do
        case $source in */exercise.c | */test.c) ;; *) program_holds "$page" "$source" ;; esac
    done
    expect 1 ", received " "$number"
    expect 0 " right" "$number" --solution
    expect_success "$chapter's solution is hidden at first" grep -q '^<details>' "$page"
done
engine=$top/docs/course/01-scalar-tape/engine.h
expect_success "the engine of chapter 1 has at most 60 lines" test "$(wc -l <"$engine")" -le 60
expect 2 "The chapters:"
expect 2 "The chapters:" 99
expect 2 "there is no nowhere.c" 1 nowhere.c
finish
