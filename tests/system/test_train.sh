#!/bin/sh
# The programs of docs/train.md are compiled against what is installed. The first is stopped by SIGTERM, continued, and ends in the bytes of
# a run that was not stopped; the second adds a method and a network from outside, and couplet's commands work with them; so do the head and
# the commands of a third.
# Arguments: the top folder, the build folder, the C compiler.
# shellcheck disable=SC2154 # installed.sh sets what is used here
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/installed.sh"
extract_short "$top/docs/train.md" cells
extract_short "$top/docs/train.md" smooth
cd "$work" || exit 1
expect_success "the first program compiles as the page says" compile_as_told couplet-kit cells cells.c
expect_success "the second program compiles as the page says" compile_as_told couplet-kit smooth smooth.c

tiny="--every 4 --labels 1 --sgld 2 --batch 4 --unlabeled 4 --chains 4 --buffer 16 --threads 1 --quiet"
# shellcheck disable=SC2086 # options are words
cells() {
    ./cells phantom $tiny --steps 12 --average-of 20 "$@" </dev/null
}

# ---- stopped and continued ----

expect_success "it trains" cells --out whole --report
expect_success "it has a result" grep -q '"method": "hybrid"' whole/result.json
expect_success "it has a report with figures" grep -q '<svg' whole/report.html
expect_success "its own option is in its settings" grep -q '"average-of": 20' whole/config.json
expect_success "so are those of couplet train" grep -q '"chains": 4' whole/config.json
COUPLET_INJECT=stop@6 ./cells phantom $tiny --steps 12 --average-of 20 --out broken </dev/null 2>said
code=$?
expect_success "SIGTERM ends it with 130" test $code -eq 130
expect_success "it tells how to continue" grep -q "the same command with --out broken continues" said
expect_success "it leaves no result" test ! -e broken/result.json
expect_success "its state was saved" grep -q '"event":"stop","step":' broken/log.jsonl
expect_success "the same command continues" cells --out broken
for file in config.json result.json end.safetensors selected.safetensors chains.safetensors; do
    expect_success "$file has the bytes of a run that was not stopped" cmp "whole/$file" "broken/$file"
done

# ---- a head from outside: that of docs/models.md ----

extract "$top/docs/models.md" head | awk '/^int main/ { exit } { print }' >head.c
cat >>head.c <<'C'
#include <couplet-kit.h>
#include <experiments/commands.h>
int main(int count, char **words) {
    static const cp_command *const commands[] = {&cp_command_data, &cp_command_train, &cp_command_evaluate, NULL};
    static const cp_program        program = {.name = "head", .purpose = "a head from outside", .commands = commands};
    cp_head_kind_add(&cosine);
    return cp_program_main(&program, count, words);
}
C
expect_success "the head of docs/models.md compiles with the commands" compile_as_told couplet-kit head head.c
expect_success "the phantoms are written to a file" ./head data phantom --npz phantom.npz # since they take longer to draw than to train on
# shellcheck disable=SC2086 # options are words
expect_success "it is trained by jem" ./head train phantom.npz $tiny --steps 8 --method jem --head cosine --net mlp:sizes=8 --out cosine
expect_success "and evaluated" ./head evaluate cosine phantom.npz --split val --quiet --out cosine-on-val

# ---- a method and a network from outside ----

# shellcheck disable=SC2086 # options are words
smooth() {
    ./smooth "$@" $tiny --steps 8 </dev/null
}
expect_success "help lists the method" sh -c './smooth train --help | grep -q "softmax|jem|hybrid|.*|smooth"'
expect_success "help has the method's option" sh -c './smooth train --help | grep -q "^  --smooth X"'
expect_success "the method trains the network" smooth train phantom.npz --method smooth --smooth 0.3 --net small:filters=3 --out smooth-run
expect_success "the result has its name" grep -q '"method": "smooth"' smooth-run/result.json
expect_success "without smoothing it is softmax" smooth train phantom.npz --method smooth --smooth 0 --net small:filters=3 --out plain
smooth train phantom.npz --method softmax --net small:filters=3 --out softmax-run
expect_success "in all bytes" cmp plain/end.safetensors softmax-run/end.safetensors
expect_success "smoothing changes the weights" sh -c '! cmp -s smooth-run/end.safetensors plain/end.safetensors'
expect_success "the network learns by the other methods too" smooth train phantom.npz --method hybrid --precision full --net small:filters=3 --out hybrid-run
expect_success "so does a perceptron" smooth train phantom.npz --method jem --net mlp:sizes=8/8,activation=tanh --out mlp-run
expect_success "so does an LSTM, over the rows of an image" smooth train phantom.npz --method jem --net lstm:hidden=6 --out lstm-run
for run in smooth-run hybrid-run mlp-run lstm-run; do
    expect_success "evaluate measures $run" ./smooth evaluate "$run" phantom.npz --split val --quiet --out "$run-on-val"
done
expect_success "generate draws from hybrid-run" ./smooth generate hybrid-run --steps 2 --quiet --out drawn
expect_success "a study compares the methods" ./smooth study phantom.npz $tiny --steps 8 --net small:filters=3 --methods softmax,smooth --seeds 0 --samples 0 --out study
expect_success "the table has both" sh -c 'grep -q "^phantom.*softmax" study/table.txt && grep -q "^phantom.*smooth" study/table.txt'
expect_success "another method is refused with the list" sh -c './smooth train phantom.npz --method smoth 2>&1 | grep -q "did you mean smooth"'
finish
