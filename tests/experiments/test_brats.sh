#!/bin/sh
# couplet brats, run as a user would run it, on folders of small volumes, and the commands that read its sets.
# Arguments: the program, draw_volumes, and "sanitized" for a build with sanitizers.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
volumes=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d) && trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1

couplet() { "$couplet" "$@"; }
about couplet

# subject FOLDER NAME SEED [ORIENTATION [turned]]: three scans in the style of 2020
subject() {
    mkdir -p "$1/$2"
    for scan in flair t1ce seg; do "$volumes" "$1/$2/$2_$scan.nii" "$scan" "${4:-LPS}" "$3" 36 40 18 ${5:-} || exit 1; done
}

# ---- a valid folder ----

for i in 1 2 3 4 5 6 7 8 9; do subject good "s$i" "$i"; done
subject good BraTS-GLI-00001-000 2 RAS
subject good BraTS-GLI-00001-001 3 PIR
expect 0 "train         7      84          31  36.9 %" brats good --out set.npz
expect 0 "all          10     132          50  37.9 %" brats good --out set.npz
expect_success "only the set and its contact sheet were written" test "$(ls)" = "$(printf 'good\nset.npz\nset.png')"
expect_success "the sheet is a PNG file" sh -c 'head -c 4 set.png | grep -q PNG'
cp set.npz first.npz
expect 0 '"little_brain": {' brats good/ --out set.npz --json --threads 1 --sheet none
expect_success "the file is the same for any number of threads" cmp set.npz first.npz
mkdir moved && cp -r good moved/good && mv moved/good/s9 moved/good/BraTS-GLI-00001-001/ && mv moved/good/BraTS-GLI-00001-000 moved/good/a
expect 0 "the set is in set.npz" brats moved/good --out set.npz --sheet none
expect_success "and wherever the subjects are in the folder tree" cmp set.npz first.npz
expect 0 "the set is in set.npz" brats good --out set.npz --sheet none --seed 2
expect_success "but not for another seed" sh -c '! cmp -s set.npz first.npz'
output=$("$couplet" brats good --out set.npz --quiet --sheet other.png 2>&1)
expect_empty "--quiet says nothing" "$output"
expect_success "--sheet sets the file of the contact sheet" test -s other.png

# ---- commands that read the set ----

expect 0 "0 no tumor" data first.npz
expect 0 "1 tumor" data first.npz
expect 0 "how it was made: command brats, version" data first.npz
expect 0 "patients of val: " data first.npz
expect 0 '"BraTS-GLI-00001-001"' data first.npz --json
expect 0 "the set is in copy.npz" data first.npz --npz copy.npz
expect 0 "how it was made: command brats, version" data copy.npz
if [ "${3:-}" != sanitized ]; then
    expect 0 "accuracy" train first.npz --method softmax --labels 5 --steps 4 --batch 4 --depth 10 --width 1 --out run
    expect 0 "accuracy" evaluate run first.npz --out evaluated
    expect 0 "accuracy" train first.npz --preset quick --labels 5 --steps 4 --batch 4 --chains 4 --unlabeled 4 --buffer 20 --out hybrid
    expect 0 "" generate hybrid --per-class 2 --out samples
    rm -r hybrid samples
fi

# ---- headers that are wrong about where the front is ----

for i in 1 2 3 4 5 6 7 8 9; do subject turned "s$i" "$i" LPS turned; done
expect 0 "9 of 9 scans look upside down by their headers, which is too few to be sure" brats turned --out kept.npz --quiet
subject turned BraTS-GLI-00001-000 2 LPS turned
expect 0 "10 of 10 scans look upside down by their headers; all slices were turned" brats turned --out set.npz
expect 0 "turn 180" data set.npz
expect 0 "the set is in set.npz" brats turned --turn 0 --out set.npz
expect 0 "turn 0" data set.npz
subject turned BraTS-GLI-00001-001 3 RAS
expect 0 "--turn 0 would keep them; the others: BraTS-GLI-00001-001" brats turned --out set.npz
for i in 1 2 3; do subject turned "t$i" "$i" RAS; done
expect 0 '"side_seen": 14' brats turned --json --out set.npz
expect 0 '"upside_down": 10' brats turned --json --out set.npz
expect 0 "10 of 14 scans look upside down" brats turned --json --out set.npz
expect 0 "turn 0" data set.npz
rm -r turned kept.*

# ---- settings ----

expect 0 "2 channels, 2 classes" data "$("$couplet" brats good --modality t1ce,flair --size 9 --out two.npz --quiet && echo two.npz)"
expect 0 "0 of the volumes' 198 slices have too little brain" brats good --brain 0 --out set.npz
expect 0 "train         4" brats good --split 4/3/3 --out set.npz
expect 0 "a contact sheet" brats good --brain 40 --size 800 --out set.npz
expect 2 "--split \"1/2\" is not understood" brats good --split 1/2 --out set.npz
expect 2 "--split \"0/0/0\" is not understood" brats good --split 0/0/0 --out set.npz
expect 0 "test         10" brats good --split 0/0/100 --out external.npz
"$couplet" brats good --split 0/0/100 --out external.npz >said
expect_success "a split without slices has no share" grep -Eq "^train +0 +0 +0 +-$" said
expect 0 "warning: there is no train split" data external.npz
rm external.npz external.png
expect 2 "--split \"1/2/-1\" is not understood" brats good --split 1/2/-1 --out set.npz
expect 2 "--split \"1/2/3/4\" is not understood" brats good --split 1/2/3/4 --out set.npz
expect 2 "--split \"/\" is not understood" brats good --split / --out set.npz
expect 2 "--modality \"t3\" is not understood" brats good --modality t3 --out set.npz
expect 2 "--modality \"flair,flair\" is not understood" brats good --modality flair,flair --out set.npz
expect 2 "--modality \"seg\" is not understood" brats good --modality seg --out set.npz
expect 2 "--modality \"flair,\" is not understood" brats good --modality flair, --out set.npz
expect 2 "two numbers, the lower first" brats good --percentiles 99,1 --out set.npz
expect 2 "out" brats good
expect 0 "DIR is searched" brats --help

# ---- patients ----

expect 0 "11 scans of 10 patients" brats good --out set.npz
printf 'scan,patient\n s1 , a\r\ns2,a\n\ns3,a\n' >whose.csv
expect 0 "11 scans of 8 patients" brats good --patients whose.csv --out set.npz
expect 0 '"name": "a",' data set.npz --json
printf 's1,a\ns2\n' >whose.csv
expect 1 "whose.csv, line 2: 1 cells were found, 2 were expected" brats good --patients whose.csv --out set.npz
printf 's1,a\ns2,b\ns1,b\n' >whose.csv
expect 1 "whose.csv, line 3: s1 is of another patient in line 1" brats good --patients whose.csv --out set.npz
printf 's1,a,b\n' >whose.csv
expect 1 "whose.csv, line 1: expected SCAN,PATIENT" brats good --patients whose.csv --out set.npz
printf 's1,a\0\n' >whose.csv
expect 1 "whose.csv is not a text file" brats good --patients whose.csv --out set.npz
printf '\357\273\277"s1","a"\r\n"s2","a"\r\n' >whose.csv
expect 0 "11 scans of 9 patients" brats good --patients whose.csv --out set.npz
expect 0 "whose.csv names 2 of 11 scans" brats good --patients whose.csv --out set.npz --quiet
: >whose.csv
expect 1 "whose.csv: the file is empty" brats good --patients whose.csv --out set.npz
echo "scan,patient" >whose.csv
expect 1 "whose.csv names none of the scans, such as BraTS-GLI-00001-000" brats good --patients whose.csv --out set.npz
rm whose.csv
expect 1 "whose.csv" brats good --patients whose.csv --out set.npz

# ---- Ctrl-C ----

writes_or_ended() {
    [ -n "$(find . -name '.couplet-*.tmp')" ] || ! kill -0 "$job" 2>/dev/null
}
code=0
while [ "$code" -eq 0 ]; do # once more when it was finished before the signal came
    rm -f large.*
    "$couplet" brats good --size 2000 --brain 0 --threads 1 --out large.npz >said 2>&1 &
    job=$!
    wait_for writes_or_ended
    kill -INT "$job" 2>/dev/null
    wait "$job"
    code=$?
done
expect_success "Ctrl-C ends with 130 and says that nothing was written" sh -c "test $code = 130 && grep -q 'nothing was written' said"
expect_empty "and leaves no partial file" "$(find . -name '*large*' -o -name '.couplet-*')"
rm said

# ---- invalid folders ----

cp first.npz set.npz
mkdir empty
expect 1 "there is no NIfTI file" brats empty --out set.npz
mkdir unnamed && cp good/s1/s1_flair.nii unnamed/head.nii
expect 1 "none of the 1 NIfTI files in unnamed has a scan's name" brats unnamed --out set.npz
expect 1 "cannot read the folder nowhere" brats nowhere --out set.npz
expect 1 "cannot read the folder set.npz" brats set.npz --out other.npz
expect 1 "nowhere/set.npz" brats good --out nowhere/set.npz
expect 1 "looked for files t2, seg" brats good --modality t2 --out set.npz
expect 1 "left out: BraTS-GLI-00001-000, BraTS-GLI-00001-001, s1, s2 and 7 more: has no t2" brats good --modality t2 --out set.npz
expect 2 "--out notes.txt: the name of the file must end in .npz" brats good --out notes.txt
expect 2 "--sheet x.jpg: the name of the file must end in .png" brats good --out set.npz --sheet x.jpg
expect_success "an existing set is unchanged" cmp set.npz first.npz
expect_empty "and nothing else is left behind" "$(find . -maxdepth 1 | grep -v -E '^(\./)?(\.|good|moved|empty|unnamed|run|evaluated|(set|first|copy|two)\.npz|(set|other|two)\.png)$')"

mkdir bad && cp -r good/s* bad
rm bad/s1/s1_seg.nii
"$volumes" bad/s2/s2_flair.nii flair LPS 1 36 40 17
head -c 5000 good/s3/s3_flair.nii >bad/s3/s3_flair.nii
echo "no volume" >bad/s4/s4_seg.nii
cp bad/s5/s5_flair.nii bad/s5_flair.nii
expect 0 "left out: s1: has no seg" brats bad --out set.npz
expect 0 "left out: s2: flair has shape (36, 40, 17), but seg (36, 40, 18)" brats bad --out set.npz
expect 0 "left out: s3: bad/s3/s3_flair.nii: " brats bad --out set.npz
expect 0 "left out: s4: bad/s4/s4_seg.nii: " brats bad --out set.npz
expect 0 "not used, since there is another file of the same scan: bad/s5_flair.nii" brats bad --out set.npz
expect 0 '"name": "s4",' brats bad --out set.npz --json
expect 0 "all           5" brats bad --out set.npz
expect 0 "left out: s1 has no seg, s2 flair has shape" data set.npz

expect 0 "left out: s1: has no seg" brats bad --out set.npz --quiet
expect 1 "x/sheet.png" brats good --sheet x/sheet.png --out set.npz

mkdir two && cp -r good/s1 good/s2 two && cp -r bad/s3 two
expect 0 "left out: s3: two/s3/s3_flair.nii" brats two --out set.npz
expect 0 "val           0" brats two --out set.npz
expect 0 "warning: there is no val split; a training needs all three" data set.npz
for i in 1 2 3 4; do subject healthy "h$i" -1; done
expect 1 "none of the 24 slices of the 2 training patients shows a tumor" brats healthy --out set.npz

finish
