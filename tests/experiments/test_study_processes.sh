#!/bin/sh
# couplet study with several processes on one folder, which are interrupted and killed: every run is made once, and no
# run stays locked.
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/train_parts.sh"
settings="--preset quick --labels 3 --methods softmax,hybrid --seeds 0-4 --steps 100 --every 10 --buffer 64 --sgld 3 --batch 8 --unlabeled 8 --chains 8 --threads 1"

study() {
    # shellcheck disable=SC2086 # options are words
    "$couplet" study gray.npz $settings "$@" </dev/null
}

begin() { # in the background; $! is its process
    # shellcheck disable=SC2086
    "$couplet" study gray.npz $settings "$@" </dev/null &
}

results() {
    ls "$1"/runs/*/result.json 2>/dev/null | wc -l
}

has_results() {
    [ "$(results "$1")" -ge "$2" ]
}

events_of() { # run's folder, event
    grep -c "\"event\":\"$2\",\"time\"" "$1/log.jsonl"
}

each_once() { # what is wrong with the runs of a study: nothing
    for run in "$1"/runs/*; do
        [ "$(events_of "$run" start)" -eq 1 ] || echo "$run was begun $(events_of "$run" start) times"
        [ "$(events_of "$run" finish)" -eq 1 ] || echo "$run was finished $(events_of "$run" finish) times"
    done
}

study --jobs 2 --quiet --out alone

# ---- two processes and a third, one killed ----

begin_and_halt shared --jobs 1 --quiet
begin --jobs 1 --quiet --out shared
second=$!
wait_for has_results shared 2
begin --jobs 1 --quiet --out shared 2>third.txt
third=$!
expect_success "the first process still works" kill -KILL "$first"
wait "$first" 2>/dev/null
kill -CONT "$process" 2>/dev/null
wait "$second"
second_end=$?
wait "$third"
third_end=$?
expect_success "the second process exits with 0" test "$second_end" -eq 0
expect_success "the third one too" test "$third_end" -eq 0
expect_success "all runs are done" test "$(results shared)" -eq 10
expect_empty "each was begun once and finished once" "$(each_once shared)"
for file in table.txt table.csv runs.csv result.json; do
    expect_success "$file is that of a study with one process" cmp "shared/$file" "alone/$file"
done

# ---- a run whose process is killed ----

begin_and_halt killed --jobs 1 --quiet 2>killed.txt
expect_success "the status shows the progress of a run" \
    sh -c "\"$couplet\" study --status killed | grep -q '$name on .*, step [0-9]*0 of '"
kill -KILL "$process"
wait "$first"
expect_success "a killed run is a failure" test $? -eq 1
expect_success "and is reported" grep -q "$name failed: it was killed by signal 9" killed.txt
expect_success "the other runs are done" test "$(results killed)" -eq 9
study --quiet --out killed
expect_success "the same command makes the remaining run" cmp killed/table.txt alone/table.txt
expect_empty "from its checkpoint" "$(each_once killed)"

# ---- a run whose process is killed while another study waits for it ----

whole=$settings
settings=$(echo "$whole" | sed 's/softmax,hybrid --seeds 0-4/hybrid --seeds 0/; s/--steps [0-9]*/--steps 200/')
begin_and_halt taken --jobs 1 --quiet 2>/dev/null
begin --jobs 1 --out taken 2>waits.txt >/dev/null
second=$!
wait_for grep -q "waiting for 1 run that other processes make" waits.txt
halt "$first"
kill -KILL "$process"
wait "$second"
taken_end=$?
kill -CONT "$first"
wait "$first"
expect_success "the study whose run was taken over exits with 0" test $? -eq 0
expect_success "the waiting study makes the run" test "$taken_end" -eq 0
expect_success "it was continued" grep -q '"event":"continue"' taken/runs/gray-3-hybrid-0/log.jsonl
expect_success "from its checkpoint, not from the start" test "$(grep -c '{"step":10,"rate"' taken/runs/gray-3-hybrid-0/log.jsonl)" -eq 1
expect_empty "and made once" "$(each_once taken)"
settings=$whole

# ---- Ctrl-C ----

begin_and_halt stopped --jobs 2 --quiet 2>stopped.txt
kill -TERM "$first"
kill -CONT "$process"
wait "$first"
expect_success "an interrupted study ends with 130" test $? -eq 130
expect_success "and says how to continue" grep -q "runs are done, and the same command continues" stopped.txt
expect_success "the status can be printed" sh -c "\"$couplet\" study --status stopped >stopped-status.txt"
expect_empty "no run is locked" "$(grep '^running' stopped-status.txt)"
study --quiet --out stopped
expect_success "the continued study ends with the same table" cmp stopped/table.txt alone/table.txt
expect_empty "no run was started again" "$(each_once stopped)"
finish
