#!/bin/sh
# Trainings that SIGTERM stops at every moment: each stop is saved at the end of its step, and the end has the bytes of a training that was
# not stopped. See train_parts.sh for the arguments.
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/train_parts.sh"
sanitized=${3:-}

steps_of() { # folder, event: its steps in order
    sed -n "s/.*\"event\":\"$2\",\"step\":\([0-9]*\),.*/\1/p" "$1/log.jsonl"
}

# Each start is stopped before a step, by a signal to itself, until one comes to its end.
stopped_often() { # folder, steps of a start, faults, words...
    out=$1 stride=$2 faults=$3 next=0 stops=0 code=130
    shift 3
    while [ $code -eq 130 ] && [ $stops -lt 200 ]; do
        COUPLET_INJECT="${faults:+$faults,}stop@$next" "$couplet" train "$@" --quiet --out "$out" </dev/null >/dev/null 2>said
        code=$?
        [ $code -eq 130 ] || break
        stops=$((stops + 1))
        next=$(($(steps_of "$out" stop | tail -n 1) + stride - 1))
    done
}

every_moment() { # sentence, steps of a start, faults, words...
    about_it=$1 strides=$2 faults_of=$3
    shift 3
    rm -rf whole
    COUPLET_INJECT=$faults_of "$couplet" train "$@" --quiet --out whole </dev/null >/dev/null 2>said
    expect_success "$about_it: not stopped, it ends well" test $? -eq 0
    expect_success "$about_it: every fault is an event" test "$(member whole/result.json guard/events)" = \
        "$(echo "$faults_of" | tr ',' '\n' | grep -c @)"
    for stride in $strides; do
        rm -rf stopped
        stopped_often stopped "$stride" "$faults_of" "$@"
        expect_success "$about_it: stopped every $stride steps, it comes to its end" test $code -eq 0 -a $stops -ge 2
        same_runs "$about_it: stopped every $stride steps, it ends in the same bytes" whole stopped
    done
}

# shellcheck disable=SC2086 # options are words
{
    rest=${defaults#--every 4} # of the options
    staged="gray.npz $rest --threads 1 --every 4 --steps"
    rest="--preset quick $rest"
    small="gray.npz $rest --threads 1 --every 4 --steps"
    rare="gray.npz $rest --threads 1 --every 100000 --steps"
    often="1 3"
    [ -z "$sanitized" ] || often=5
    every_moment "softmax" "$often" "" $small 12 --method softmax --norm batch
    every_moment "hybrid with a step left out and a rollback" "$often" gradients@6,weights@13 $small 18
    every_moment "jem that is measured at its end only, with a rollback to its beginning" "$often" chains@3,weights@7 $rare 10 --method jem
    every_moment "two stages, with a rollback to the switch" "$often" weights@10 $small 8 --joint-steps 8 --norm batch
    every_moment "two stages, each with a step left out, and a rollback" "$often" gradients@7,chains@10,weights@13 $small 8 --joint-steps 10 --norm batch
    every_moment "the preset of two stages" "$often" chains@10 $staged 8 --joint-steps 6 --threshold 0.4
    every_moment "pseudo-labels" "$often" gradients@10 $staged 8 --method pseudo --joint-steps 6 --threshold 0.4
    [ -n "$sanitized" ] || every_moment "a rollback from the second stage into the first" "1 2" gradients@7,weights@11 $rare 8 --joint-steps 8 --norm batch

    [ -n "$sanitized" ] || expect_success "it trains the second stage twice" test "$(grep -c '"event":"stage 2"' stopped/log.jsonl)" -eq 2

    # ---- what is saved ----

    long="$rare 12"
    train $long --quiet --out whole2
    rm -rf stopped
    stopped_often stopped 3 "" $long
    expect_success "a training that is stopped more often than it is measured advances" test "$(steps_of stopped stop | tr '\n' ' ')" = "1 4 7 10 "
    expect_success "each start begins at the step of the stop before" test "$(steps_of stopped start | tr '\n' ' ')" = "1 4 7 10 "
    same_runs "and ends in the same bytes" whole2 stopped
    COUPLET_INJECT=stop@6 "$couplet" train $long --out left </dev/null >said 2>&1
    expect_success "a stop ends with 130" test $? -eq 130
    expect_success "it says how to continue" grep -q "the same command with --out left continues" said
    expect_success "it leaves the checkpoint, and the last good state beside it" test -s left/checkpoint.safetensors -a -s left/last-good.safetensors
    expect_success "the event has step, time and seconds" grep -q '"event":"stop","step":7,"time":".*"seconds":' left/log.jsonl
    train $long --quiet --out left
    expect_empty "the end leaves neither" "$(find left -name 'checkpoint*' -o -name 'last-good*')"
    COUPLET_INJECT=stop@3 "$couplet" train $small 8 --quiet --out measured </dev/null 2>/dev/null
    expect_success "a stop after a measured step needs no second file" test -s measured/checkpoint.safetensors -a ! -e measured/last-good.safetensors

    # ---- one training for each lambda ----

    lambdas="$small 4 --joint-steps 4 --norm batch --lambda auto"
    train $lambdas --quiet --out whole3
    for at in 0 5; do
        rm -rf stopped
        code=130 stops=0
        while [ $code -eq 130 ] && [ $stops -lt 20 ]; do
            COUPLET_INJECT=stop@$at "$couplet" train $lambdas --quiet --out stopped </dev/null 2>said
            code=$?
            stops=$((stops + 1))
        done
        expect_success "each of the lambdas is stopped once at step $at" test $stops -eq 4
        same_runs "and all of it ends in the same bytes" whole3 stopped
    done

    rm -rf stopped
    COUPLET_INJECT=stop@7 "$couplet" train $lambdas --quiet --out stopped </dev/null 2>said
    expect_success "a stop at the end of one training comes after the first step of the next" test "$(steps_of stopped stop)" = 1

    # ---- signals from outside, whenever they come ----

    has_saved_or_ended() {
        [ -s signaled/checkpoint.safetensors ] || ! kill -0 $job 2>/dev/null
    }
    signaled="$rare 60"
    COUPLET_INJECT=weights@21 "$couplet" train $signaled --quiet --out whole4 </dev/null
    seed=$$ code=130 stops=0
    while [ $code -eq 130 ] && [ $stops -lt 8 ]; do
        COUPLET_INJECT=weights@21 "$couplet" train $signaled --quiet --out signaled </dev/null >/dev/null 2>said &
        job=$!
        wait_for has_saved_or_ended
        seed=$(((seed * 1103515245 + 12345) % 2147483648))
        sleep "$(awk -v r=$seed 'BEGIN { printf "%.3f", r / 2147483648 / 5 }')"
        kill -TERM $job 2>/dev/null
        wait $job
        code=$?
        [ $code -eq 130 ] && stops=$((stops + 1))
        [ $code -ne 143 ] || code=130 # before it watched
    done
    expect_success "a training that gets signals says nothing but that it was interrupted" test $code -eq 130 -o $code -eq 0
    COUPLET_INJECT=weights@21 "$couplet" train $signaled --quiet --out signaled </dev/null
    same_runs "after signals at $stops moments the bytes are those of a training without" whole4 signaled
}
finish
