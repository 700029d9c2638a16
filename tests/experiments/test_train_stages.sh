#!/bin/sh
# Trainings in two stages: the first is a training of softmax, the second leaves the statistics of norms as they are, and a rollback goes
# back into the stage of the last good state. See train_parts.sh for the arguments.
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/train_parts.sh"

# The names of a file's tensors.
names() {
    tensors "$1" | sed 's/ .*//' | sort
}
# A line for each of a file's tensors: its name, and its bytes in hexadecimal.
tensors() { # file
    length=$(od -An -t u8 -N8 "$1" | tr -d ' ')
    {
        head -c $((length + 8)) "$1" | tail -c "$length" | grep -o '"[^"]*":{"dtype[^}]*' |
            sed 's/^"\([^"]*\)".*"data_offsets":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2 \3/'
        tail -c +$((9 + length)) "$1" | od -An -v -t x1 | tr -d ' \n'
    } | awk 'NF == 3 { n++; name[n] = $1; begin[n] = $2; end[n] = $3 }
        NF == 1 { for (i = 1; i <= n; i++) print name[i], substr($1, 2 * begin[i] + 1, 2 * (end[i] - begin[i])) }'
}
different() { # file, file, names: those that are not equal
    tensors "$1" >first && tensors "$2" >second && echo "$3" >wanted
    awk 'FNR == 1 { file++ } file == 1 { a[$1] = $2 } file == 2 { b[$1] = $2 }
        file == 3 && !($1 in a && $1 in b && a[$1] == b[$1]) { print $1 }' first second wanted
}
says() { # run, text: how often it is in the log
    grep -c "$2" "$1/log.jsonl"
}

# shellcheck disable=SC2086 # options are words
{
    staged="gray.npz $small --norm batch --steps 8 --joint-steps 8 --quiet"
    train gray.npz $small --norm batch --method softmax --steps 8 --quiet --threads 1 --out softmax
    train $staged --threads 1 --out staged
    learned=$(names softmax/end.safetensors)
    expect_success "a classifier has its network, running statistics and a head" test \
        "$(echo "$learned" | grep -cE '^head\.(weight|bias)$')" -eq 2 -a "$(echo "$learned" | grep -c 'running_mean$')" -gt 2
    expect_empty "the first stage ends in the weights of softmax" "$(different softmax/end.safetensors staged/pretrained.safetensors "$learned")"
    running=$(echo "$learned" | grep -E 'running|tracked')
    for file in end selected; do
        expect_empty "the second stage leaves running statistics as they are: $file" \
            "$(different staged/pretrained.safetensors "staged/$file.safetensors" "$running")"
    done
    expect_success "it learns other weights" test -n "$(different staged/pretrained.safetensors staged/end.safetensors "$learned")"
    expect_success "the log has the second stage's beginning once" test "$(says staged '"event":"stage 2","step":8,')" -eq 1
    train $staged --threads 2 --out two
    same_runs "1 and 2 threads leave the same bytes" staged two
    train $staged --method jem --threads 1 --out jem
    expect_success "jem is trained in two stages too" test "$(says jem '"event":"stage 2"')" -eq 1

    # ---- pseudo-labels ----

    guessed() { # run, option...: the log's shares of images with a pseudo-label
        name=$1
        shift
        train gray.npz $defaults --steps 8 --joint-steps 8 --quiet --threads 1 --out "$name" "$@"
        sed -n 's/.*"guessed":\([^,]*\),.*/\1/p' "$name/log.jsonl" | tr '\n' ' '
    }
    expect_success "every guess is a pseudo-label with a threshold of 0" test "$(guessed all --method pseudo --threshold 0)" = "1 1 "
    expect_success "no guess is one with a threshold of 1" test "$(guessed none --method pseudo --threshold 1)" = "0 0 "
    expect_success "the method pseudo has no chains" test ! -e all/chains.safetensors
    expect_empty "pseudo has the first stage of softmax too" "$(different softmax/end.safetensors all/pretrained.safetensors "$learned")"
    guessed hybrid --threshold 0.4 >/dev/null
    for method in all hybrid; do
        expect_empty "pseudo-labels leave running statistics as they are: $method" \
            "$(different $method/pretrained.safetensors $method/end.safetensors "$running")"
    done
    expect_success "the result has the figures of the first stage, those of softmax" test \
        "$(member hybrid/result.json test/first_stage/nll) $(member all/result.json validation/first_stage/accuracy)" = \
        "$(member softmax/result.json test/end/nll) $(member softmax/result.json validation/end/accuracy)"
    expect_empty "a training of one stage has none" "$(members softmax/result.json | grep first_stage)"

    # ---- rollbacks ----

    COUPLET_INJECT=weights@10 "$couplet" train $staged --threads 1 --out steady </dev/null
    expect_success "a rollback in the second stage goes back to its beginning" test "$(says steady 'step 10: .*: rolled back')" -eq 1 \
        -a "$(says steady '"event":"stage 2"')" -eq 1
    expect_success "it has the same first stage, and another end" sh -c \
        "cmp -s staged/pretrained.safetensors steady/pretrained.safetensors && ! cmp -s staged/end.safetensors steady/end.safetensors"
    half=$(sed -n 's/.*"step":12,"rate":\([^,]*\),.*/\1/p' steady/log.jsonl) whole=$(sed -n 's/.*"step":12,"rate":\([^,]*\),.*/\1/p' staged/log.jsonl)
    expect_success "the rate is half of what it was" awk "BEGIN { exit !($half * 2 > $whole * 0.999 && $half * 2 < $whole * 1.001) }"
    COUPLET_INJECT=chains@9 "$couplet" train $staged --threads 1 --out chains </dev/null
    expect_success "chains that are lost right after the switch are left out" test "$(says chains 'step 9: .*: skipped')" -eq 1 \
        -a "$(says chains '"event":"stage 2"')" -eq 1
    COUPLET_INJECT=gradients@6,weights@11 "$couplet" train $staged --threads 1 --out unsteady </dev/null
    expect_success "when steps were left out just before the switch, a rollback goes back into the first stage" test \
        "$(says unsteady 'step 11: .*: rolled back')" -eq 1 -a "$(says unsteady '"event":"stage 2","step":8,')" -eq 2
    COUPLET_INJECT=gradients@7 "$couplet" train gray.npz $small --norm batch --steps 8 --joint-steps 1 --quiet --threads 1 --out late </dev/null
    expect_success "a first stage whose last step was left out is followed by the second" test "$(says late '"event":"stage 2","step":9,')" -eq 1

    train gray.npz $small --norm batch --steps 4 --joint-steps 4 --lambda auto --quiet --out auto
    expect_success "with --lambda auto each training has a first stage, and the run has its weights" test "$(says auto '"event":"stage 2"')" -eq 3 \
        -a -s auto/pretrained.safetensors
    export COUPLET_INJECT=weights@11
    expect 1 "the training diverged" $staged --rollbacks 0 --out diverged
    unset COUPLET_INJECT
    expect_empty "a training that diverged leaves no weights, also none of its first stage" "$(find diverged -name '*.safetensors')"

    # ---- the model ----

    "$couplet" evaluate staged gray.npz --quiet --out evaluated </dev/null
    expect_success "evaluate has the metrics of the training's result" test "$(member evaluated/result.json metrics/plain/nll)" = \
        "$(member staged/result.json test/selected/nll)"
    "$couplet" generate staged --per-class 2 --steps 5 --quiet --out generated </dev/null
    expect_success "generate draws from it" test -s generated/result.json
    {
        printf '\223NUMPY\001\000\166\000'
        printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 8, 8), }"
        head -c 512 /dev/zero
    } >images.npy
    "$couplet" predict staged/selected.safetensors images.npy --out posteriors.npy </dev/null >/dev/null
    expect_success "predict takes it" test -s posteriors.npy
    for stage in pretrained end; do
        "$couplet" predict staged/$stage.safetensors images.npy --out $stage.npy </dev/null >/dev/null
        expect_success "and $stage.safetensors" test -s $stage.npy
    done
}
finish
