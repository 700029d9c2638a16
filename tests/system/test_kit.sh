#!/bin/sh
# An experiment is one C file anywhere: docs/experiment.md's program, compiled outside the tree through pkg-config, is run,
# interrupted, killed, continued and reported. Arguments: the top folder, the build folder, the C compiler.
# shellcheck disable=SC2154 # installed.sh sets what is used here
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/installed.sh"
extract_short "$top/docs/experiment.md" moons
cd "$work" || exit 1
expect_success "it compiles with the page's command" compile_as_told couplet-kit moons moons.c
# shellcheck disable=SC2046 # flags are words
expect_success "it links statically" "$cc" -static moons.c -o moons_static $(pkg-config --static --cflags --libs couplet-kit)
expect_success "and the static program runs" ./moons_static --version

# ---- the precision ----

double=$(sed -n 's/^#define CP_DOUBLE \([01]\).*/\1/p' "$build/couplet_config.h")
cat >draws.c <<'C'
#include <couplet-kit.h>
int main(void) {
    cp_table_free(cp_table_new(1, "a program that asks nothing of tensors"));
    return 0;
}
C
refused() { # words; passes when the command fails over the name
    ! said=$("$@" 2>&1) && echo "$said" | grep 'undefined.*cp_built_for'
}
expect_success "a program for this precision links" compile_as_told couplet-kit draws draws.c
expect_success "a program for the other precision does not link" \
    refused compile_as_told couplet-kit draws_other -DCP_DOUBLE=$((1 - double)) draws.c

# ---- what a run writes ----

short="--repeats 2 --steps 150"
# shellcheck disable=SC2086 # options are words
moons() {
    ./moons $short "$@" </dev/null 2>&1
}
expect_success "--help lists the options" sh -c './moons --help | grep -q "^  --hidden N .*(default 16)"'
expect_success "--help lists the command report" sh -c './moons --help | grep -q "^  report  "'
expect_success "and shows how to call it" sh -c './moons --help | grep -q "^       moons report DIR"'
expect_success "--version prints precision and version" sh -c './moons --version | grep -q "^moons, made with couplet .*)$"'
expect_success "for a mistyped option there is a suggestion" sh -c './moons --hiden 3 2>&1 | grep -q "did you mean --hidden?"'
expect_success "for a mistyped command too" sh -c './moons reprot run 2>&1 | grep -q "did you mean report?"'
expect_success "it runs" moons --out run
expect_success "it learns" sh -c 'grep -A1 "perceptron" run/result.json | grep -q "9[0-9]\.\|100\."'
expect_success "it writes a figure" test -s run/accuracy.svg
expect_success "it finds its finished run" sh -c "./moons $short --out run 2>&1 | grep -q finished"
expect_success "a report can be made of it" ./moons report run --out page.html
expect_success "the report contains the figure" grep -q '<svg' page.html
expect_success "--report makes a report, too" moons --out run --report
expect_success "in its folder" test -s run/report.html

expect_success "processes can make its trials" moons --jobs 2 --out jobs
expect_success "with the same result" cmp run/result.json jobs/result.json
expect_success "--status shows their progress" sh -c './moons --status jobs | grep -q "2 of 2 runs done"'
expect_success "the remaining commands are listed, and can be run" \
    sh -c "./moons $short --out listed --list | sh && ./moons $short --jobs 0 --out listed && cmp run/result.json listed/result.json"

# ---- interrupted, killed, continued ----

# A shell's background jobs ignore SIGINT unless it is reset; if env cannot reset it, SIGTERM does the same.
if env --default-signal=INT true 2>/dev/null; then
    signal=INT reset="env --default-signal=INT"
else
    signal=TERM reset=""
fi
long="--repeats 12 --steps 2500 --threads 2"

trials_in() { # folder
    cat "$1/log.jsonl" 2>/dev/null | grep -c '"trial"'
}

has_trials_or_ended() { # number
    [ "$(trials_in broken)" -ge "$1" ] || ! kill -0 "$job" 2>/dev/null
}

# Starts or continues the long run, and ends it with a signal once the given number of trials are in the log; once more from where it
# was when the run ended before the signal came.
end_by() { # signal, trials
    rm -rf kept && mkdir -p broken && cp -r broken kept
    code=0
    while [ "$code" -eq 0 ]; do
        rm -rf broken && cp -r kept broken
        # shellcheck disable=SC2086 # words
        $reset ./moons $long --out broken </dev/null >said 2>&1 &
        job=$!
        wait_for has_trials_or_ended "$2"
        kill -"$1" "$job" 2>/dev/null
        wait "$job" 2>/dev/null
        code=$?
    done
}

# shellcheck disable=SC2086 # options are words
expect_success "the long run ends" ./moons ${long%2}1 --quiet --out whole
end_by $signal 2
expect_success "Ctrl-C ends it with 130" test "$code" -eq 130
expect_success "it says how to continue" grep -q "^moons: interrupted; .* the same command with --out broken continues" said
expect_success "it leaves no result" test ! -e broken/result.json
before=$(trials_in broken)
end_by KILL $((before + 2))
expect_success "SIGKILL ends it with 137" test "$code" -eq 137
expect_success "it had continued, not started again" grep -q '^continuing the run in broken' said
after=$(trials_in broken)
expect_success "the earlier trials are still there ($before, then $after trials)" test "$after" -gt "$before"
# shellcheck disable=SC2086 # options are words
expect_success "it can be continued to its end" ./moons $long --quiet --out broken --report
expect_success "no trial was made twice" \
    test -z "$(sed -n 's/^{"trial":\([0-9]*\),.*/\1/p' broken/log.jsonl | sort | uniq -d)"
for file in config.json result.json accuracy.svg accuracy.csv; do
    expect_success "$file has the same bytes as that of an uninterrupted run" cmp "whole/$file" "broken/$file"
done
expect_success "both runs can be reported on one page" ./moons report whole broken --out both.html
expect_success "with a figure of each run" test "$(grep -c '<svg' both.html)" -ge 2
expect_success "the page uses the program's name" grep -q '<h1>moons: 2 runs</h1>' both.html
expect_success "and shows existing commands" grep -q '<pre class="command">moons <span>--hidden 16</span>' both.html
finish
