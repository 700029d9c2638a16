#!/bin/sh
# Training runs that are killed, stopped, out of disk space or find their files changed: continued, each ends with the
# bytes of an uninterrupted run, or says why it cannot. See train_parts.sh for the arguments; the third is the number of
# kills (3).
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/train_parts.sh"
kills=3 steps=60
case ${3:-} in
[0-9]*) kills=$3 ;;
sanitized) kills=1 steps=24 ;;
esac
# There is a rollback during the run, so that some kills happen near it.
words="gray.npz --steps $steps $small --quiet"
export COUPLET_INJECT=weights@21

milliseconds() {
    date +%s%3N
}

begun=$(milliseconds)
# shellcheck disable=SC2086 # options are words
train $words --threads 1 --out whole
lasted=$(($(milliseconds) - begun))
expect_success "a training run with a rollback succeeds" test "$(member whole/result.json guard/rollbacks)" = 1

# ---- SIGKILL ----

seed=$$ done=0 finished=0
while [ $done -lt "$kills" ]; do
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    # shellcheck disable=SC2086
    "$couplet" train $words --threads 1 --out killed </dev/null >/dev/null 2>said &
    job=$!
    sleep "$(awk -v r=$seed -v most=$lasted 'BEGIN { printf "%.3f", r / 2147483648 * most / 2000 }')"
    kill -KILL $job 2>/dev/null
    wait $job 2>/dev/null
    code=$?
    if [ $code -eq 137 ]; then
        done=$((done + 1))
    elif [ $code -ne 0 ]; then
        not_ok "a killed training run continues" "after $done kills: $(cat said)"
        break
    fi
    if [ -e killed/result.json ] && [ $done -lt "$kills" ]; then
        # shellcheck disable=SC2086
        train $words --threads 1 --out killed >/dev/null 2>&1
        finished=$((finished + 1))
        same_runs "killed training $finished, $done kills so far, has the bytes of an uninterrupted one" whole killed
        rm -rf killed
    fi
done
# shellcheck disable=SC2086
train $words --threads 1 --out killed >/dev/null 2>&1
same_runs "after $done kills the bytes are those of an uninterrupted training" whole killed

# ---- stopped half-way, and what may happen then ----

is_halfway_or_ended() {
    has_lines broken/log.jsonl 2 || ! kill -0 $job 2>/dev/null
}

code=0
while [ $code -eq 0 ]; do # once more when it was finished before the signal came
    rm -rf broken
    # shellcheck disable=SC2086
    "$couplet" train $words --threads 1 --out broken </dev/null >said 2>&1 &
    job=$!
    wait_for is_halfway_or_ended
    kill -TERM $job 2>/dev/null
    wait $job
    code=$?
done
expect_success "SIGTERM ends a training with 130" test $code -eq 130
expect_success "it says how to continue" grep -q "the same command with --out broken continues" said
expect_success "it leaves a checkpoint and no result" test -s broken/checkpoint.safetensors -a ! -e broken/result.json

continued() { # sentence, folder: it is continued and then removed
    # shellcheck disable=SC2086
    train $words --threads 1 --out "$2" 2>/dev/null
    same_runs "$1" whole "$2"
    rm -rf "$2"
}

copy() {
    rm -rf copy && cp -r broken copy
}

copy && continued "a stopped training ends with the bytes of an uninterrupted one" copy
copy && cp whole/selected.safetensors copy/
continued "killed between writing the selected weights and the checkpoint, it ends with the same bytes" copy
copy && printf '{"step":4,"ra' >>copy/log.jsonl
continued "half a line at the end of the log does not matter" copy
# shellcheck disable=SC2086
{
    copy && train $words --threads 2 --out copy 2>/dev/null
    same_runs "continued with another number of threads, it ends with the same bytes" whole copy
    mkdir empty && : >empty/.couplet-0123abcd-1-0.tmp
    train $words --threads 1 --out empty 2>/dev/null
    rm -f empty/.couplet-0123abcd-1-0.tmp
    same_runs "a folder with only half a config.json counts as new" whole empty
}

# ---- damage ----

damaged() { # sentence, text: the checkpoint in copy is refused and stays as it is
    cp copy/checkpoint.safetensors before
    # shellcheck disable=SC2086
    expect 1 "$2" $words --out copy
    expect_success "$1: the file stays as it was" cmp before copy/checkpoint.safetensors
}

copy && head -c 100000 broken/checkpoint.safetensors >copy/checkpoint.safetensors
damaged "a checkpoint that was cut" "remove the folder to start over"
copy && : >copy/checkpoint.safetensors
damaged "an empty checkpoint" "remove the folder to start over"
copy && cp whole/end.safetensors copy/checkpoint.safetensors
damaged "a checkpoint without its parts" "remove the folder to start over"
header=$(od -An -t u8 -N8 broken/checkpoint.safetensors | tr -d ' ')
write() { # tensor, octal bytes of its value: into the checkpoint of copy
    offset=$(head -c $((header + 8)) copy/checkpoint.safetensors | tail -c "$header" |
        sed 's/.*"couplet\.trainer\.'"$1"'":{[^}]*"data_offsets":\[\([0-9]*\),.*/\1/')
    # shellcheck disable=SC2059
    printf "$2" | dd of=copy/checkpoint.safetensors bs=1 seek=$((8 + header + offset)) conv=notrunc 2>/dev/null
}
no_checksum() {
    LC_ALL=C sed 's/couplet\.crc32/outdated.crc3/; s/couplet\.format/outdated.forma/' broken/checkpoint.safetensors >copy/checkpoint.safetensors
}
nan='\000\000\000\000\000\000\370\177' inf='\000\000\000\000\000\000\360\177' minus='\000\000\000\000\000\000\360\277'
copy && no_checksum && write rate_scale $nan
damaged "a rate of NaN" "rate_scale\": value 0 is nan; 2.22507e-308 to 1 is possible; the checkpoint is damaged: remove"
copy && no_checksum && write rate_scale $minus
damaged "a rate below 0" "rate_scale\": value 0 is -1; 2.22507e-308 to 1 is possible; the checkpoint is damaged: remove"
copy && no_checksum && write selected_nll $nan
damaged "an NLL of NaN" "selected_nll\": value 0 is nan; 0 to inf is possible; the checkpoint is damaged: remove"
copy && no_checksum && write selected '\001' && write selected_nll $inf
damaged "a selected step without an NLL" "part trainer: step 1 is selected with an NLL of inf"
copy && no_checksum && write selected '\000' && write selected_nll $inf && write step "\\$(printf %03o "$steps")"
damaged "an end without a selected step" "step $steps, and no step is selected; the checkpoint is damaged: remove"
copy && no_checksum
continued "a checkpoint without a checksum is accepted" copy
copy && mv gray.npz gray.kept && "$draw_images" gray.npz 8 8 1 3 40 30 36 2
damaged "different images under the same name" "the data file has changed since"
mv gray.kept gray.npz

# ---- no room ----

checkpoint_size=$(wc -c <broken/checkpoint.safetensors)
limited() { # bytes: the largest file that may be written
    # shellcheck disable=SC2086
    (trap '' XFSZ && ulimit -f $(($1 / 512)) && train $words --threads 1 --out copy) >said 2>&1
}

copy && limited $((checkpoint_size / 3))
expect_success "no room for a checkpoint ends a training with 1" test $? -eq 1
expect_success "the message names the checkpoint" grep -q "checkpoint.safetensors" said
expect_success "the last good checkpoint is kept" cmp broken/checkpoint.safetensors copy/checkpoint.safetensors
expect_empty "no partial file stays" "$(find copy -name '.couplet*')"
continued "with room again it ends with the same bytes" copy

copy && mkdir -p copy/training.svg/taken
# shellcheck disable=SC2086
expect 1 "training.svg" $words --out copy
expect_success "a failure at the very end leaves the checkpoint and no result" test -s copy/checkpoint.safetensors -a ! -e copy/result.json
rm -r copy/training.svg
continued "once the figure can be written, the training ends with the same bytes" copy

if mkdir full && mount -t tmpfs -o size=$((checkpoint_size * 2)) none full 2>/dev/null; then
    # shellcheck disable=SC2086
    expect 1 "No space left" $words --out full/run
    mount -o remount,size=64m none full
    continued "after a full disk it ends with the same bytes once there is room" full/run
    umount full
else
    skip "a full disk is reported, and the training continues once there is room" "a small file system cannot be mounted"
fi
finish
