# A one-node Slurm cluster, with controller and node on this machine, in a temporary folder; tests source it with `.`.
# Needs root, slurmctld, slurmd and munged.
# shellcheck shell=sh

slurm_start() { # folder
    slurm=$1
    host=$(hostname)
    mkdir -p "$slurm/state" "$slurm/spool" && chmod 755 "$slurm"
    dd if=/dev/urandom of="$slurm/key" bs=1024 count=1 2>/dev/null && chmod 600 "$slurm/key"
    munged --force --socket="$slurm/munge" --key-file="$slurm/key" --pid-file="$slurm/munged.pid" --log-file="$slurm/munged.log" \
        --seed-file="$slurm/munged.seed" 2>"$slurm/munged.txt" || return 1
    cat >"$slurm/slurm.conf" <<CONF
ClusterName=couplet
SlurmctldHost=$host
SlurmctldPort=26817
SlurmdPort=26818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/ctld.pid
SlurmdPidFile=$slurm/d.pid
SlurmctldLogFile=$slurm/ctld.log
SlurmdLogFile=$slurm/d.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,bf_interval=2
ReturnToService=2
MpiDefault=none
KillWait=10
MaxArraySize=17
NodeName=$host CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
    export SLURM_CONF="$slurm/slurm.conf"
    slurmctld 2>"$slurm/ctld.txt" && slurmd 2>"$slurm/d.txt" && wait_up_to 300 slurm_is_idle
}

slurm_is_idle() {
    sinfo -h -o %T 2>/dev/null | grep -q idle
}

slurm_restart_controller() {
    kill "$(cat "$slurm/ctld.pid")"
    wait_for slurm_controller_is_gone
    slurmctld
}

# What is submitted waits in the queue, or begins.
slurm_lets_begin() { # UP or DOWN
    scontrol update PartitionName=main "State=$1"
}

slurm_answers() {
    scontrol ping 2>/dev/null | grep -q 'is UP'
}

slurm_controller_is_gone() {
    ! slurm_answers
}

slurm_has_ended() { # process
    ! kill -0 "$1" 2>/dev/null
}

slurm_stop() {
    for name in d ctld munged; do
        [ -f "$slurm/$name.pid" ] || continue
        process=$(cat "$slurm/$name.pid")
        kill "$process" 2>/dev/null
        wait_up_to 120 slurm_has_ended "$process"
    done
}
