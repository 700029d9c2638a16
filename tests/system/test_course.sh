#!/bin/sh
# Every program of a chapter of the course compiles without a warning, runs and prints what its page shows. Every unsolved exercise fails
# with a message that says where, the solution that the page hides passes the same check, and code that cheats, loops or is slightly wrong
# does not. Arguments: the top folder, the build folder, the C compiler, its precision, and the other precision's kit and library.
# shellcheck disable=SC2154 # installed.sh sets what is used here
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/installed.sh"
CC="$cc -Werror"
export CC
case $5 in
/*) ;;
*) set -- "$1" "$2" "$3" "$4" "$build/$5" "$build/$6" ;; # meson's paths begin in the build folder
esac
cd "$work" || exit 1

# The course needs a double build and, for its last chapter, a float build: one is installed here, the other is made for the tests.
other="-I$top -I$top/experiments/kit -I$build $5 $6 -lm -lpthread"
if [ "$4" = float ]; then
    export COURSE_DOUBLE="-DCP_DOUBLE=1 $other"
else
    export COURSE_FLOAT="-DCP_DOUBLE=0 $other"
fi

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
    expect_success "$chapter's $name compiles and runs" sh -c "'$top/docs/course/check' '$number' --solution --run '$name' >printed 2>&1 || { cat printed; exit 1; }"
    if [ "$name" = pictures ]; then
        for picture in "$(dirname "$2")"/*.svg; do
            ! grep -q "\"$(basename "$picture")\"" "$2" || expect_success "$picture is what pictures.c draws" diff "$picture" "$(basename "$picture")"
        done
        return
    fi
    shown "$1" "$name" >shown
    expect_success "$chapter's page shows what $name prints" test -s shown
    if grep -q "^<!-- output: *$name varies" "$1"; then
        skip "$chapter's $name prints what the page says" "it prints times, which vary"
    else
        tail -n +2 printed | grep -v -e ' bytes in use, ' -e '^check: ' >printed.compared # after the line with the name
        grep -v ' bytes in use, ' shown >shown.compared
        expect_success "$chapter's $name prints what the page says" diff shown.compared printed.compared
    fi
}

# Line 3 and the last line of a page lead to the chapters around it.
links_fit() { # page
    before=$(find "$top/docs/course" -path '*/[0-9]*/README.md' | sort | grep -B 1 -xF "$(cd "$(dirname "$1")" && pwd)/README.md" | sed '$d')
    sed -n 3p "$1" | grep -qF '[Contents](../README.md)' && [ "$(sed -n 3p "$1")" = "$(tail -n 1 "$1")" ] &&
        { [ -z "$before" ] || sed -n 3p "$1" | grep -qF "[Before: $(sed -n '1s/^# \([^:,]*\).*/\1/p' "$before")](../$(basename "$(dirname "$before")")/README.md)"; }
}

# Every picture in the folder is on the page, and there is at least one.
pictures_shown() {
    for picture in "$folder"/*.svg; do
        grep -q "]($(basename "$picture"))" "$page" || return 1
    done
}

# Checks that key.txt is what --key makes; the last digits of numbers may differ.
key_fits() {
    "$top/docs/course/check" "$number" --solution --key >made || return 1
    short() { awk -F '\t' '$1 == "value" { printf "%s %.6g %s\n", $2, ($3 < 1e-12 && $3 > -1e-12) ? 0 : $3, $4; next } { print }' "$1"; }
    short made >made.short && short "$folder/key.txt" | diff - made.short
}

solution() { # chapter
    awk '/^<!-- solution -->$/ { found = 1 } inside && /^```/ { exit } inside { print } found && /^```c/ { inside = 1 }' \
        "$top/docs/course/$1"-*/README.md
}

about "$top/docs/course/check"
for folder in "$top"/docs/course/[0-9]*/; do
    chapter=$(basename "$folder") number=${chapter%%-*} page=$folder/README.md
    expect_success "$chapter's page has its number and title" grep -q "^# ${number#0}\\. " "$page"
    expect_success "$chapter's page has the same links at its top and its end" links_fit "$page"
    for source in "$folder"/*.c; do
        case $source in */exercise.c | */test.c) ;; *) program_holds "$page" "$source" ;; esac
    done
    expect 1 ", received " "$number"
    expect 0 "all " "$number" --solution
    expect_success "$chapter's key.txt is that of its test" key_fits
    expect 0 "replays the chapter's tape" "$number" --page
    expect_success "$chapter's replay page is a page" grep -q '</html>' "$chapter.html"
    expect_success "$chapter's page shows its pictures" pictures_shown
    expect_success "$chapter's solution is hidden at first" grep -q '^<details>' "$page"
done
for folder in "$top"/docs/course/projects/[0-9]*/; do
    chapter=$(basename "$folder") number=p${chapter%%-*}
    expect_success "project $chapter has its number and title" grep -q "^# Project ${number#p}\\. " "$folder/README.md"
    expect 1 ", received " "$number"
    expect 0 "all " "$number" --solution
    expect_success "project $chapter's key.txt is that of its test" key_fits
done
engine=$top/docs/course/01-scalar-tape/engine.h
expect_success "the engine of chapter 1 has at most 60 lines" test "$(wc -l <"$engine")" -le 60
expect 2 "The chapters:"
expect 2 "The chapters:" 99
expect 2 "there is no nowhere.c" 1 nowhere.c

# Answers that must not pass: what they print, and how they end, does not count.
solution 01 >right.c
lie='__attribute__((constructor)) static void lie(void) { puts("all 19 right"), fflush(stdout), _Exit(0); }'
{ cat "$top/docs/course/01-scalar-tape/exercise.c" && echo "$lie"; } >cheat.c
expect 1 "0 of 19 right" 1 cheat.c
{ cat right.c && echo "$lie"; } >cheat.c
expect 1 "the program ended before the check was finished" 1 cheat.c
{ cat right.c && echo '__attribute__((destructor)) static void lie(void) { _Exit(3); }'; } >cheat.c
expect 1 "the program ended with code 3" 1 cheat.c
sed 's/return record(t, x \/ y/while (1) { a = b; }\n return record(t, x \/ y/' right.c >cheat.c
expect 1 "an endless loop" 1 cheat.c --seconds 1
sed 's/return record(t, x \/ y/sleep(1000); return record(t, x \/ y/; 1i #include <unistd.h>' right.c >cheat.c
expect 1 "it waits for something" 1 cheat.c --seconds 1
sed 's/return record(t, x \/ y/raise(SIGSEGV); return record(t, x \/ y/; 1i #include <signal.h>' right.c >cheat.c
expect 1 "the program crashed" 1 cheat.c
sed 's/a, 1 \/ y/a, 1.01 \/ y/' right.c >cheat.c
expect 1 "expected 0.333333, received 0.336667" 1 cheat.c
solution 04 | sed 's/shapes_differ(op, a, b);/return record(tape, rows, columns, a, b, rule);/' >cheat.c
expect 1 "add refuses (2, 3) + (3, 3): expected 1, received 0" 4 cheat.c
solution 05 | sed 's/gin\[i\] = \(.*\);/gin[i] = cp_scale(at, \1, 1.01);/' >cheat.c
expect 1 "cp_gradcheck of the first order: expected 1, received 0" 5 cheat.c

expect 2 "the loss did not fall" 4 --run moons

# The slides: one for each row of a lecture and for each question, and nothing from outside.
"$top/docs/course/slides" >slides.html
rows=$(grep -c '^| *[0-9][0-9]* |' "$top/docs/course/teacher.md") questions=$(grep -c '^- \*[^*]' "$top/docs/course/teacher.md")
expect_success "the slides have $rows rows" test "$(grep -c 'class="show"' slides.html)" -eq "$rows"
expect_success "the slides have $questions questions, all with an answer" test "$(grep -c 'class="answer"' slides.html)" -eq "$questions"
expect_success "the slides have pictures" test "$(grep -c 'src="data:image/svg+xml;base64' slides.html)" -ge 12
expect_empty "the slides need nothing from outside" "$(grep -e '="https*:' -e 'src="[^d]' -e 'href=' slides.html)"

# The result as JSON, and tests that students do not have.
expect 1 '"right": 1,' 1 --json
expect 0 '"verdict": "right"' 1 --json --solution
echo 'int x' >cheat.c
expect 2 '"does not compile"' 1 cheat.c --json
expect 2 "there is no hidden/01-scalar-tape/test.c" 1 --solution --tests hidden
mkdir -p hidden/01-scalar-tape
sed 's|"x / y at 6 and 3", 6, 3, 2, 1.0 / 3, -2.0 / 3|"x / y at 8 and 2", 8, 2, 4, 0.5, -2|' "$top/docs/course/01-scalar-tape/test.c" >hidden/01-scalar-tape/test.c
expect 2 "key.txt; --key makes it" 1 --solution --tests hidden
"$top/docs/course/check" 1 --solution --tests hidden --key >hidden/01-scalar-tape/key.txt
expect 0 "all 19 right" 1 --solution --tests hidden
expect 1 "x / y at 8 and 2: value: expected 4, received 0" 1 --tests hidden
finish
