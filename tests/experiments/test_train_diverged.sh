#!/bin/sh
# Training runs that are made to diverge: each recovers and says so, or ends with a report and without metrics; none
# hangs. # See train_parts.sh for the arguments; with `all` as the third, all cases are tested instead of a few.
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/train_parts.sh"
case ${3:-} in
all) every=1 ;;
sanitized) every=16 ;;
*) every=6 ;;
esac
free="--square 0 --slope 0 --clamp 0 --range any"

cases() {
    for seed in 0 1; do
        for method in softmax jem hybrid; do
            echo "--method $method --rate 1 --seed $seed"
            echo "--method $method --rate 1 --clip 0 --seed $seed"
            echo "--method $method --rate 0.1 --clip 0 --seed $seed"
            echo "COUPLET_INJECT=weights@$((7 * seed)) --method $method --seed $seed"
            echo "COUPLET_INJECT=gradients@$((5 + 18 * seed)) --method $method --seed $seed"
        done
        for method in jem hybrid; do
            echo "COUPLET_INJECT=chains@$((3 + 20 * seed)) --method $method --seed $seed"
            echo "--method $method --alpha 200 --seed $seed"
            echo "--method $method --alpha 200 $free --seed $seed"
            echo "--method $method --alpha 200 $free --rate 0.05 --seed $seed"
            echo "--method $method --alpha 200 $free --rate 1 --clip 0 --seed $seed"
        done
    done
    cat <<END
--method softmax --rate 1000 --clip 0
--method jem --rate 1000 --clip 0
--method hybrid --rate 1000 --clip 0
COUPLET_INJECT=weights@5 --method hybrid --rollbacks 0
COUPLET_INJECT=chains@9 --method hybrid --norm batch
COUPLET_INJECT=gradients@23 --method hybrid --average 0
COUPLET_INJECT=weights@11 --method hybrid --conditional --rate 1
COUPLET_INJECT=chains@2 --method hybrid --preset paper --sgld=2 --rate 1
--method hybrid --norm group --rate 1
--method hybrid --noise 1000 --range any --rate 0.01
--method hybrid --lambda 1e30
--method hybrid --lambda auto --rate 1
--method hybrid --energy 1e20
--method hybrid --square 1e6 --rate 0.1
--method jem --slope 1e6 --rate 0.1
COUPLET_INJECT=weights@13 --method hybrid --norm batch --joint-steps 8 --rollbacks 0
END
}

limit=
command -v timeout >/dev/null && limit="timeout 1200"

# Prints what is wrong with the end of the run, if anything.
objections() { # exit code, options
    result=run/result.json
    case $1 in
    0)
        [ "$(member $result diverged)" = true ] && echo "it diverged and exits with 0"
        members $result | grep -E '^(test|validation)/[^ ]*/(accuracy|nll|ece) (null|nan|inf)'
        case $2 in
        *INJECT*) [ "$(member $result guard/events)" -gt 0 ] || echo "no event of the guard" ;;
        esac
        [ "$(member $result guard/events)" -eq 0 ] || grep -q "The divergence guard left out" said || echo "it does not say so"
        ;;
    1)
        grep -q "the training diverged and was given up after [0-9]* rollback" said || echo "no clear message: $(cat said)"
        [ "$(member $result diverged)" = true ] || echo "result.json does not say so"
        members $result | grep -E '^(test|validation|table|trace/(accuracy|ece|nll|scaled_nll|temperature))'
        [ -n "$(member $result trace/loss)" ] && [ -n "$(member $result trace/gradient)" ] || echo "the trace has no loss"
        find run -name '*.safetensors'
        case $2 in
        *softmax*) grep -E -e '--(alpha|slope)' said ;;
        *) grep -q -e '--alpha' said || echo "it gives no advice on chains" ;;
        esac
        [ "$(member $result guard/events)" -gt 0 ] || echo "no event of the guard"
        ;;
    *) echo "code $1: $(cat said)" ;;
    esac
}

number=0 recovered=0 reported=0
cases >list
while read -r case; do
    fault=${case%%--*} options=${case#"${case%%--*}"}
    number=$((number + 1))
    [ $((number % every)) -eq 0 ] || [ $every -eq 1 ] || continue
    rm -rf run
    # shellcheck disable=SC2086 # options are words
    case $options in
    *--preset*) $limit env $fault "$couplet" train gray.npz --steps 24 --every 4 --buffer 64 --batch 8 --unlabeled 8 --chains 8 --labels 3 $options \
        --threads 1 --out run </dev/null >said 2>&1 ;;
    *) $limit env $fault "$couplet" train gray.npz --steps 24 $small $options --threads 1 --out run </dev/null >said 2>&1 ;;
    esac
    code=$?
    [ $code -eq 0 ] && recovered=$((recovered + 1))
    [ $code -eq 1 ] && reported=$((reported + 1))
    expect_empty "couplet train $case recovers or reports" "$(objections $code "$case")"
done <list

# shellcheck disable=SC2086
{
    gone="gray.npz --steps 8 $small --method hybrid --rollbacks 0 --threads 1 --out gone"
    export COUPLET_INJECT=weights@5
    expect 1 "the training diverged and was given up after 0 rollbacks" $gone
    expect_success "the reason for giving up is in its result" test "$(member gone/result.json reason)" = \
        "$(sed -n '/"list"/,/\]/p' gone/result.json | sed -n 's/^ *\("step.*"\)$/\1/p' | tail -n 1)"
    expect 1 "the training in gone diverged" $gone
    expect 1 "holds this run already, finished" $gone
    expect 1 '"diverged": true' $gone --json

    # The guard accepted the end of the run, after an event; the selected weights, which are measured then, have a NaN.
    last="gray.npz --steps 100 $small --method softmax --threads 1 --out last"
    export COUPLET_INJECT=gradients@5
    has_begun_or_ended() {
        [ -e last/config.json ] || ! kill -0 $job 2>/dev/null
    }
    "$couplet" train $last --quiet </dev/null 2>/dev/null &
    job=$!
    wait_for has_begun_or_ended
    while ! halt $job || [ -e last/training.svg ]; do # once more when it was finished before it could be halted
        kill -CONT $job 2>/dev/null
        wait $job
        rm -rf last
        "$couplet" train $last --quiet </dev/null 2>/dev/null &
        job=$!
        wait_for has_begun_or_ended
    done
    mkdir -p last/training.svg/taken # so that it ends just before its result
    kill -CONT $job
    wait $job
    rm -r last/training.svg
    size=$(wc -c <last/selected.safetensors)
    {
        head -c $((size - 8)) last/selected.safetensors | LC_ALL=C sed 's/couplet\.crc32/outdated.crc3/; s/couplet\.format/outdated.forma/'
        printf '\377\377\377\377\377\377\377\377'
    } >spoiled
    mv spoiled last/selected.safetensors
    expect 1 "(the trained model's outputs on the validation split are not finite); take a smaller --rate. What" $last
    expect_success "a harmless event of the guard is not given as the reason" test "$(member last/result.json guard/events)" = 1 -a \
        "$(member last/result.json reason)" = "\"the trained model's outputs on the validation split are not finite\""
    expect_empty "its weights are gone" "$(find last gone -name '*.safetensors')"
}
echo "$recovered continued to the end, $reported gave up with a report"
finish
