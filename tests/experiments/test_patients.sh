#!/bin/sh
# couplet train, evaluate and report on a set that names the patients of its images. See train_parts.sh for the arguments.
# shellcheck disable=SC2154 # variables of train_parts.sh
. "$(dirname "$0")/../system/report.sh"
. "$(dirname "$0")/train_parts.sh"
small="--steps 12 $small"
"$draw_images" slices.npz 8 8 1 3 40 30 36 1 val test # the images of gray.npz

# shellcheck disable=SC2086
expect 0 "over the 13 patients of the test split and the 10 patients of the validation split" slices.npz $small --threads 1 --out slices
expect_success "the note in result.json says so too" \
    grep -q "over the 13 patients of the test split and the 10 patients of the validation split" slices/result.json
result=slices/result.json
missing=
for split in validation test; do
    for view in end selected scaled bayes; do
        for metric in n accuracy balanced_accuracy auc ece mce nll brier intervals/accuracy intervals/ece intervals/nll; do
            [ -n "$(member $result $split/$view/by_patient/$metric)" ] || missing="$missing $split/$view/by_patient/$metric"
        done
    done
done
expect_empty "result.json has all metrics by patient, for all weights and both splits" "$missing"
expect_success "there are 13 test patients and 10 validation patients" \
    test "$(member $result test/end/by_patient/n) $(member $result validation/end/by_patient/n)" = "13 10"
# shellcheck disable=SC2086
train slices.npz $small --threads 2 --quiet --out two
same_runs "1 and 2 threads write the same bytes" slices two

# shellcheck disable=SC2086
train gray.npz $small --quiet --out gray
expect_empty "the result of a set without patients does not mention patients" "$(grep patient gray/result.json)"
slice_metrics() { # folder: of slices, without intervals
    members "$1/result.json" | grep -E '^(test|validation)/' | grep -v -e intervals -e by_patient
}
expect_success "the metrics of slices are those of the set without patients" \
    test "$(slice_metrics gray)" = "$(slice_metrics slices)"
expect_success "their intervals differ" test "$(sed -n '/"intervals"/,/\]/p' gray/result.json | head -n 5)" != \
    "$(sed -n '/"intervals"/,/\]/p' slices/result.json | head -n 5)"

# ---- evaluate ----

"$couplet" evaluate slices slices.npz --weights selected --ood gray.npz --out tested </dev/null >said 2>&1
expect_success "evaluate has a row for the accuracy by patient, with its interval" \
    grep -qE '^accuracy by patient, % +[0-9.]+ \([0-9.]+ to [0-9.]+\)' said
expect_success "evaluate says that its intervals were taken over 13 patients" grep -q "95 %, taken over 13 patients" said
expect_success "evaluate explains what by patient means" grep -q "by patient every patient, whatever the number of its images" said
expect_success "evaluate says that AUROC's intervals keep patients together" grep -q "keep the images of a patient together" said
expect_success "evaluate has the same metrics by patient as the training" test \
    "$(members tested/result.json | sed -n 's,^metrics/scaled/by_patient/,,p')" = \
    "$(members slices/result.json | sed -n 's,^test/scaled/by_patient/,,p')"

# Image i has the class that draw_images gave it, and patients have 1, 2, 3, 4, 5, 1, ... images: the mean over patients of means.
awk -F, 'BEGIN { left = size = 1 }
NR > 1 { # below the header: the row, the class, a probability for each class
    label = (NR - 2) % 7 == 6 ? 0 : (NR - 2) % 3
    best = 3; for (c = 4; c <= 5; c++) if ($c > $best) best = c
    right += best - 3 == label; nll -= log($(label + 3))
    if (--left == 0) {
        accuracy_sum += right / size; nll_sum += nll / size; patients++
        right = nll = 0; left = size = 1 + patients % 5
    }
}
END { printf "%d %.5f %.5f\n", patients, 100 * accuracy_sum / patients, nll_sum / patients }' tested/predictions.csv >expected
found=$(for key in n accuracy nll; do member tested/result.json metrics/scaled/by_patient/$key; done |
    awk 'NR == 1 { printf "%d", $1 } NR > 1 { printf " %.5f", $1 } END { print "" }')
expect_success "accuracy and NLL by patient are those of the written predictions" test "$found" = "$(cat expected)"

interval() { # data, other data: the AUROC of the energy, low end, high end
    "$couplet" evaluate slices "$1" --ood "$2" --quiet --out "ood-$1-$2" </dev/null
    sed -n '/"ood": \[/,$p' "ood-$1-$2/result.json" | sed -n '/"energy": {/,/]/p' | tr -cd '0-9.,' | awk -F, '{ print $1, $2, $3 }'
}
interval gray.npz gray.npz >alone
for sets in "slices.npz gray.npz" "gray.npz slices.npz" "slices.npz slices.npz"; do
    # shellcheck disable=SC2086 # words
    interval $sets >together
    expect_success "AUROC of $sets is that of the images, and patients of either set change its interval, which has a width" \
        awk 'NR == FNR { value = $1; low = $2; next } { exit !($1 == value && $2 != low && $2 < $1 && $1 < $3) }' alone together
done

"$couplet" evaluate slices slices.npz --split train --quiet --out trained </dev/null
expect_empty "the training split, which has no patients, is measured without them" "$(grep -e by_patient -e "by patient" trained/result.json)"

# ---- the report ----

"$couplet" report slices tested --out report.html >/dev/null
for text in "selected, scaled, by patient" "accuracy by patient, %" "taken over 13 patients" "over the 13 patients of the test split" "selected, scaled, by image"; do
    expect_success "the report has: $text" grep -q "$text" report.html
done

# ---- edges ----

"$draw_images" single.npz 8 8 1 2 5 1 1 1 test
expect 0 "over the 1 patient of the test split." single.npz --method softmax --steps 4 --every 4 --labels 1 --norm batch --out single
expect_empty "the validation split, which has no patients, is measured without them" "$(members single/result.json | grep '^validation/.*by_patient')"
"$couplet" data single.npz </dev/null >said 2>&1
expect_success "data prints the number of patients of the splits that have them" grep -qE '^patients +- +- +1$' said
finish
