#!/bin/sh
# couplet study on a real one-node Slurm cluster: tasks are killed, requeued and canceled, the controller is restarted,
# and the tables are those of --jobs 2. Skipped if Slurm is not installed.
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/one_node_slurm.sh"
. "$(dirname "$0")/train_parts.sh"
settings="--preset quick --labels 1,3 --methods softmax,hybrid --seeds 0-5 --steps 600 --every 10 --buffer 64 --sgld 3 --batch 8 --unlabeled 8 --chains 8 --threads 1"
goal="a study through Slurm ends with the tables of --jobs 2"

for program in slurmctld slurmd sbatch squeue scontrol munged; do
    command -v "$program" >/dev/null || { skip "$goal" "$program is not installed" && finish; }
done
[ "$(id -u)" -eq 0 ] || { skip "$goal" "a test cluster needs root" && finish; }
trap 'slurm_stop; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
chmod 755 "$work"
slurm_start "$work/slurm" || { skip "$goal" "Slurm does not start here: $(cat "$work"/slurm/*.txt)" && finish; }

study() {
    # shellcheck disable=SC2086 # options are words
    "$couplet" study gray.npz $settings "$@" </dev/null
}

results() {
    ls "$1"/runs/*/result.json 2>/dev/null | wc -l
}

has_results() {
    [ "$(results "$1")" -ge "$2" ]
}

halts_a_run() { # its name and process, and its task; another one each time
    halt_a_run study || return 1
    for names in study/slurm/*.names; do
        place=$(grep -n "^$name\$" "$names" | cut -d: -f1)
        [ -n "$place" ] && task=$(cat "${names%.names}.job")_$place
    done
    grep -q "^$name\$" hit && kill -CONT "$process" && return 1
    echo "$name" >>hit
}

queue_is_empty() {
    [ "$(squeue -h | wc -l)" -eq 0 ]
}

: >hit
slurm_lets_begin DOWN
study --slurm >submitted.txt 2>&1 --out study
expect_success "there are two arrays, since this Slurm allows at most 16 tasks per array" test "$(grep -c 'runs$' submitted.txt)" -eq 2
expect_success "the message says how to watch them" grep -q "squeue --me; couplet study --status study" submitted.txt
expect_success "all are queued" sh -c "\"$couplet\" study --status study --json | grep -c '\"queued\": true' | grep -qx 24"
slurm_lets_begin UP

kill_a_run() {
    wait_for halts_a_run && kill -KILL "$process" && killed="$killed $name"
}

killed=
wait_for has_results study 2
kill_a_run
slurm_restart_controller
wait_for slurm_answers
kill_a_run
kill_a_run
wait_for halts_a_run
scontrol requeue "$task"
kill -CONT "$process"
requeued=$name
wait_for halts_a_run
canceled=$name
scancel "$task"
kill -CONT "$process"
wait_for sh -c "! squeue -h -r -o '%F_%K' | grep -q '^$task\$'"
study --slurm --out study >again.txt 2>&1
expect_success "a second call submits only the canceled task" grep -q "^Submitted job [0-9]*: 1 run$" again.txt
expect_success "it is that task" grep -q "^$canceled$" "$(ls study/slurm/*.names | tail -1)"

# Slurm waits two minutes before it restarts a requeued task, unless its start time is changed.
queue_is_empty_soon() {
    for id in $(squeue -h -r -t PD -o '%F_%K' | grep -v N/A); do scontrol update "jobid=$id" StartTime=now 2>/dev/null; done
    queue_is_empty
}
wait_for queue_is_empty_soon
expect_success "all runs are done" test "$(results study)" -eq 24
expect_success "three tasks were killed" test "$(echo "$killed" | wc -w)" -eq 3
for run in $killed "$requeued" "$canceled"; do
    expect_success "$run was continued" grep -q '"event":"continue"' "study/runs/$run/log.jsonl"
    expect_success "and started once" test "$(grep -c '"event":"start","time"' "study/runs/$run/log.jsonl")" -eq 1
done
expect_success "a task that Slurm stops saves before it ends, and goes on from there" awk -F '[:,]' '
    /"event":"stop"/ { stop = $4 } /"event":"start","step"/ { bad += $4 < stop } /"event":"interrupt"/ { ended = 1 } END { exit bad || (ended && !stop) }
    ' "study/runs/$requeued/log.jsonl"
expect_success "no run was finished twice" test "$(cat study/runs/*/log.jsonl | grep -c '"event":"finish"')" -eq 24
study --jobs 2 --quiet --out plain
for file in table.txt table.csv table.tex runs.csv result.json; do
    expect_success "$goal: $file" cmp "study/$file" "plain/$file"
done
study --slurm --out study >done.txt 2>&1
expect_success "once all runs are done, there is nothing to submit" grep -q "nothing to submit" done.txt

"$couplet" study gray.npz --labels 1 --methods softmax --seeds 0 --steps 10 --every 10 --threads 1 --slurm --out "50%d of it" >/dev/null 2>&1
wait_for queue_is_empty
for file in table.txt slurm/1.1.txt slurm/1.merge.txt; do
    expect_success "a % in the folder's name is kept: $file" test -e "50%d of it/$file"
done
finish
