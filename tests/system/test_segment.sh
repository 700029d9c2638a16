#!/bin/sh
# The U-Net of docs/segment.md compiles as printed, reads volumes in BraTS's layout and, in single precision, learns to outline their tumors.
# Arguments: the top folder, the build folder, the C compiler.
# shellcheck disable=SC2154 # installed.sh sets what is used here
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/installed.sh"
extract_short "$top/docs/segment.md" segment
cd "$work" || exit 1
expect_success "it compiles with the page's command" compile_as_told couplet-kit segment segment.c -lm
expect_success "volumes can be drawn" "$cc" -D_GNU_SOURCE -I"$top/tests" "$top/tests/experiments/draw_volumes.c" -lm -o draw
for i in 1 2 3 4; do
    mkdir -p "volumes/P$i"
    for scan in flair seg; do ./draw "volumes/P$i/P${i}_$scan.nii" $scan RAS $i 40 44 10; done
done

epochs=60
grep -q 'CP_DOUBLE 1' "$build/couplet_config.h" && epochs=1
expect_success "it trains on three patients and measures on a fourth" sh -c "./segment volumes 3 1 $epochs >said"
expect_success "it names the patient" grep -q '^P[1-4] *Dice [01]\.[0-9]*$' said
if [ $epochs = 1 ]; then
    skip "it learns" "one epoch in double is no training"
else
    expect_success "it learns: $(tail -n 1 said)" awk 'END { exit !($NF >= 0.5) }' said
fi
expect_success "too few patients are refused" sh -c "! ./segment volumes 4 1 2>said && grep -q 'too few patients' said"
expect_success "a folder that does not exist is refused" sh -c "! ./segment missing 1 1 2>said && grep -q missing said"
finish
