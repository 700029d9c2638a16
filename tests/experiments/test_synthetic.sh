#!/bin/sh
# couplet synthetic, run as a user would run it: the files and messages of a run. Arguments: the program, and
# `sanitized` # if it was built with a sanitizer; then runs are shorter.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
small="--steps 300 --repeats 3 --test 200"

synthetic() {
    "$couplet" synthetic "$@" </dev/null
}

about synthetic

# ---- the same bytes ----

[ "${2:-}" = sanitized ] && size=$small || size=""
# shellcheck disable=SC2086 # options are words
{
    synthetic $size --quiet --threads 1 --out one
    synthetic $size --quiet --threads 2 --out two
    synthetic $size --quiet --out again
}
for file in result.json config.json data.svg data.csv methods.svg methods.csv; do
    expect_success "$file has the same bytes with 1 and 2 threads" cmp "one/$file" "two/$file"
    expect_success "$file has the same bytes when run again" cmp "one/$file" "again/$file"
done

# shellcheck disable=SC2086 # options are words
synthetic $small --json --out json >printed.json 2>message
expect_success "--json prints the contents of result.json" cmp printed.json json/result.json
expect_success "--json prints the folder on stderr" grep -q json/ message
# shellcheck disable=SC2086
expect_empty "--quiet prints nothing" "$(synthetic $small --quiet --out quiet 2>&1)"

# ---- messages ----

expect 0 "hybrid" --steps 1 --repeats 1 --out table
expect 0 "table holds this run already, finished" --steps 1 --repeats 1 --out table
expect 1 "with another --steps" --steps 2 --repeats 1 --out table
expect 1 "diverged in 1 of 1" --lambda 100 --repeats 1 --out lost
expect 0 "diverged (1 of 1)" --lambda 100 --repeats 1 --out lost
expect 2 "--labels 60" --labels 60
expect 2 "lambda" --lambda ten
expect 0 "76.0 %" --geometry printed --steps 100 --repeats 1 --out printed
expect 0 "--geometry reported" --geometry printed --steps 100 --repeats 1 --out printed
expect 0 "report.html" --steps 1 --repeats 1 --out table --report
expect_success "a report can be made of a finished run" test -s table/report.html
expect_empty "times in the log have at most three decimals" "$(grep '"seconds":[0-9]*\.[0-9]\{4\}' table/log.jsonl)"
cp table/result.json whole.json
echo '{"title":' >table/result.json
expect 1 "remove the file and run the same command" --steps 1 --repeats 1 --out table
rm table/result.json
expect 0 "hybrid" --steps 1 --repeats 1 --out table
expect_success "a removed damaged result is made again" cmp whole.json table/result.json

# ---- folders that cannot be written ----

echo text >file
expect 1 "file is a file" --out file
expect 1 "file is a file" --out file/below
expect_success "the file is unchanged" test "$(cat file)" = text
mkdir other && echo text >other/letter
expect 1 "not empty and is not a run" --out other
if [ -d /proc/self ]; then
    expect 1 "/proc/couplet: cannot create the folder" --out /proc/couplet
fi
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 555 locked
    expect 1 "locked/run" --out locked/run
elif mkdir tiny && mount -t tmpfs -o ro none tiny 2>/dev/null; then
    expect 1 "choose an --out that can be written" --out tiny/run
    umount tiny
else
    skip "a read-only --out is reported" "root may write everywhere, and nothing can be mounted"
fi

sentence="a full disk is reported, and the run continues once there is room"
if mkdir full && mount -t tmpfs -o size=128k none full 2>/dev/null; then
    expect 1 "No space left" --repeats 2 --steps 50 --out full/run
    mount -o remount,size=64m none full
    expect 0 "hybrid" --repeats 2 --steps 50 --out full/run
    umount full
else
    skip "$sentence" "a small file system cannot be mounted"
fi

# ---- Ctrl-C ----

# A shell's background jobs ignore SIGINT unless it is reset; if env cannot reset it, SIGTERM does the same.
if env --default-signal=INT true 2>/dev/null; then
    signal=INT reset="env --default-signal=INT"
else
    signal=TERM reset=""
fi

start_long() { # folder, steps
    # shellcheck disable=SC2086 # words
    $reset "$couplet" synthetic --repeats 4 --steps "$2" --out "$1" </dev/null >said 2>&1 &
    job=$!
}

has_begun_or_ended() { # folder, lines in its log
    has_lines "$1/log.jsonl" "$2" || ! kill -0 "$job" 2>/dev/null
}

steps=1000
synthetic --quiet --threads 1 --repeats 4 --steps $steps --out whole
code=0
while [ "$code" -eq 0 ]; do # once more when it was finished before the signal came
    rm -rf broken
    start_long broken $steps
    wait_for has_begun_or_ended broken 2
    kill -$signal "$job" 2>/dev/null
    wait "$job"
    code=$?
done
expect_success "Ctrl-C ends a run with 130" test "$code" -eq 130
expect_success "it says how to continue" grep -q "the same command with --out broken continues" said
expect_success "it leaves no result" test ! -e broken/result.json
expect 0 "hybrid" --repeats 4 --steps $steps --out broken
expect_success "a continued run ends with the bytes of an uninterrupted run" cmp broken/result.json whole/result.json

start_long endless 100000000
wait_for has_begun_or_ended endless 1
kill -$signal "$job"
wait "$job" # for days, if it waited for the end of a training
expect_success "Ctrl-C does not wait for the end of a training" test $? -eq 130
finish
