#!/bin/sh
# couplet import, and couplet train on what it makes, as a user would run them. Argument: the program.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
couplet() { "$couplet" "$@"; }
about couplet

picture() { # file, brightness, number: 9 x 8, gray
    awk -v b="$2" -v n="$3" 'BEGIN { print "P2 9 8 255"; for (i = 0; i < 72; i++) print (b + (i * (n + 3)) % 50) }' >"$1"
}

# ---- a folder ----

mkdir -p cells/dark cells/light/deep cells/unlabeled
for i in $(seq 1 20); do
    picture "cells/dark/$i.pgm" 10 "$i"
    picture "cells/light/$i.pgm" 190 "$i"
    picture "cells/unlabeled/$i.pgm" 100 "$i"
done
mv cells/light/20.pgm cells/light/deep
echo notes >cells/light/notes.txt
expect 2 "--out" import cells
expect 0 "images of 8 x 8, gray, are in cells.npz" import cells --out cells.npz --size 8
expect 0 "unlabeled     20    0     0" import cells --out cells.npz --size 8
expect 0 "files left out, since they are no pictures: 1" import cells --out cells.npz --size 8
expect 0 "dark          14    2     4" import cells --out cells.npz --size 8
expect 0 "all           60    0     0" import cells --out cells.npz --size 8 --split 1/0/0
expect 0 '"unlabeled": 20,' import cells --out cells.npz --size 8 --json
expect 2 "--split \"1/2\" is not understood" import cells --out cells.npz --split 1/2
couplet import cells/ --out again.npz --size 8 --quiet
couplet import cells --out other.npz --size 8 --seed 2 --quiet
expect_success "the same folder gives the same bytes" cmp cells.npz again.npz
expect_success "another seed splits otherwise" sh -c '! cmp -s cells.npz other.npz'
expect 0 "made by couplet import" data cells.npz
expect 0 "0 dark        14    2     4" data cells.npz
expect 1 "has a training, a validation and a test split already" import cells.npz --out other.npz
cp cells.npz kept.npz
head -c 40 cells/dark/3.pgm >cells/dark/cut.pgm
expect 1 "cells/dark/cut.pgm: byte 40: the file ends before its last value" import cells --out cells.npz
expect_success "a failed import changes nothing" cmp cells.npz kept.npz
rm cells/dark/cut.pgm
printf '\377\330\377' >cells/dark/x.JPG
expect 1 "ImageMagick converts a folder: mogrify -format png cells/dark/*.JPG" import cells --out cells.npz
rm cells/dark/x.JPG
picture cells/stray.pgm 1 1
expect 1 "cells/stray.pgm is in no class; a folder for each class" import cells --out cells.npz
rm cells/stray.pgm
printf 'P2 1 1 65535 9' >cells/dark/deep.pgm
expect 1 "cells/dark/deep.pgm has 16 bits per value, but" import cells --out cells.npz
rm cells/dark/deep.pgm
mkdir empty one one/class
cp cells/dark/1.pgm one/class
expect 1 "there are no PNG, PGM or PPM files" import empty --out x.npz
expect 1 "1 classes were found; 2 to 1000 are expected" import one --out x.npz
expect 1 "cannot open nothing" import nothing --out x.npz
mkdir -p splits/train splits/Validation splits/test/dark splits/test/light
cp -r cells/dark cells/light splits/train
for i in 21 22 23; do
    picture "splits/test/dark/$i.pgm" 10 "$i"
    picture "splits/test/light/$i.pgm" 190 "$i"
done
expect 0 "dark      18    2     3" import splits --out splits.npz --size 8 --split 90/10/20
cp cells/dark/[1-4].pgm splits/test/dark
expect 1 "splits has splits of its own for all shares of --split" import splits --out x.npz --split 0/0/1
mkdir splits/test/unlabeled && mv cells/unlabeled/20.pgm splits/test/unlabeled
expect 0 "unlabeled      1    0     0" import splits --out splits.npz --size 8 --split 90/10/20
mv splits/test/unlabeled/20.pgm cells/unlabeled
expect 0 "warning: 4 of the 10 rows of test are copies of some of train" import splits --out splits.npz --size 8 --split 90/10/20

# ---- colors and shapes ----

mkdir -p shapes/a shapes/b
printf 'P3 4 2 255 %s' "$(for _ in 1 2; do printf '0 0 0 90 90 90 90 90 90 255 255 255 '; done)" >shapes/a/1.ppm
printf 'P2 2 2 255 7 7 7 7' >shapes/b/1.pgm
expect 0 "images of 2 x 2, gray" import shapes --out shapes.npz --size 2 --split 1/0/0
expect 0 "train     7   90  48.5" data shapes.npz
expect 0 "images of 2 x 2, RGB" import shapes --out shapes.npz --size 2 --split 1/0/0 --color rgb
couplet import shapes --out shapes.npz --size 2 --split 1/0/0 --fit stretch --quiet
expect 0 "train     7  173    58" data shapes.npz
couplet import shapes --out shapes.npz --size 4 --split 1/0/0 --fit pad --quiet
expect 0 "train     0  255  30.688" data shapes.npz

# ---- a CSV file of pictures ----

{
    echo "file;label;split;patient;site"
    for i in $(seq 1 20); do
        echo "cells/dark/$i.pgm;dark;;P$((i / 4));A"
        [ "$i" = 20 ] || echo "cells/light/$i.pgm;light;;P$((i / 4));B"
        echo "cells/unlabeled/$i.pgm;;;;\"A;B\""
    done
} >cells.csv
expect 0 "unlabeled     20    0     0" import cells.csv --out listed.npz --size 8
expect 0 "patients       4    1     1" data listed.npz
expect_success "images of one patient are in one split" sh -c '! "$0" data listed.npz | grep -q "patients* .* in train and"' "$couplet"
sed 's/;dark;;/;dark;test;/; s/;light;;/;light;train;/' cells.csv >split.csv
expect 0 "in train and in test" import split.csv --out listed.npz --size 8 --split 1/1/0
sed 's/;dark;;/;dark;elsewhere;/' cells.csv >wrong.csv
expect 1 "wrong.csv, line 2: the split must be train, val, test or empty, not \"elsewhere\"" import wrong.csv --out x.npz
sed 's/unlabeled\/1.pgm;;;/unlabeled\/1.pgm;;test;/' cells.csv >wrong.csv
expect 1 "wrong.csv, line 4: a row without a label cannot be in the split \"test\"" import wrong.csv --out x.npz
sed 's/;label;/;class;/' cells.csv >wrong.csv
expect 1 "the first line has no column \"label\"; --label names the column of the classes" import wrong.csv --out x.npz
expect 0 "dark" import wrong.csv --label class --out x.npz --size 8
sed 's/dark\/2.pgm/dark\/22.pgm/' cells.csv >wrong.csv
expect 1 "dark/22.pgm" import wrong.csv --out x.npz
sed 's/;P0;/;P0/' cells.csv >wrong.csv
expect 1 "wrong.csv, line 2: 4 cells were found, 5 were expected" import wrong.csv --out x.npz

# ---- an npz file without all splits ----

couplet import cells.csv --out part.npz --size 8 --split 1/0/0 --quiet 2>&1
expect 1 "couplet import part.npz --out NEW.npz takes the missing splits from its training split, by class and patient" train part.npz
expect 0 "dark          13    3     4" import part.npz --out whole.npz
expect 0 "patients       4    1     1" data whole.npz
expect_success "all images are in the new file" sh -c '"$0" data whole.npz | grep -q "unlabeled     20    0     0"' "$couplet"
expect 1 "empty.npz" import empty.npz --out x.npz

# ---- a CSV file of numbers ----

table() { # with every Nth label
    awk -v n="$1" 'BEGIN { srand(3); print "age,weight,label,split,site"
        for (i = 0; i < 120; i++)
            printf "%.3f,%.3f,%s,%s,%s\n", rand() + i % 2, rand(), i % n && i < 80 ? "" : i % 2 ? "ill" : "well",
                i < 80 ? "train" : i < 100 ? "val" : "test", i % 3 ? "A" : "B" }'
}
table 1 >table.csv
expect 0 "a table of 2 features is in table.npz" import table.csv --out table.npz
expect 0 "table: a table of 2 features, 2 classes" data table.npz
sed '5s/^[^,]*/old/' table.csv >wrong.csv
expect 1 "wrong.csv, line 5: a number was expected in this column of numbers, not \"old\"" import wrong.csv --out x.npz
for large in 1e99 -4e38 inf; do
    sed "5s/^[^,]*/$large/" table.csv >wrong.csv
    expect 1 "wrong.csv, line 5: \"$large\" is too large for float32" import wrong.csv --out x.npz
done
sed '5s/^[^,]*//' table.csv >wrong.csv
expect 0 "values that are missing, and are NaN in the set: 1" import wrong.csv --out x.npz
cut -d , -f 3- table.csv >wrong.csv
expect 1 "there is neither a column \"file\", of pictures, nor a column of numbers" import wrong.csv --out x.npz

# ---- labels in training ----

small="--preset quick --steps 8 --every 4 --buffer 8 --chains 8 --sgld 2 --quiet"
labeled() { sed -n '/"labeled"/,/\]/p' "$1/result.json" | grep -o '[0-9][0-9]*'; }
# shellcheck disable=SC2086
{
    couplet train table.npz $small --labels 3 --out few
    labeled few >rows
    awk -F , -v OFS=, 'FNR == NR { row[$1] = 1; next } FNR > 1 && FNR < 82 && !row[FNR - 2] { $3 = "" } { print }' rows table.csv >hidden.csv
    mkdir hidden && couplet import hidden.csv --out hidden/table.npz --quiet
    couplet train hidden/table.npz $small --labels 3 --out hidden/few
    for run in . hidden; do # both name the file by its md5, and the weights have a checksum
        md5=$(md5sum $run/table.npz | cut -d ' ' -f 1)
        cat $run/few/result.json $run/few/end.safetensors | LC_ALL=C sed "s/$md5/md5/g; s/\"couplet.crc32\":\"[0-9a-f]*\"/crc/" >$run/bytes
    done
    expect_success "labels that are hidden and labels that are not known give the same bytes" cmp bytes hidden/bytes
    couplet train table.npz $small --labels 3 --labeled-rows rows --seed 5 --out listed
    expect_success "--labeled-rows takes the rows of a file" test "$(labeled listed)" = "$(cat rows)"
    { echo "row,entropy"; sed 's/$/,0.5/' rows; } >rows.csv
    couplet train table.npz $small --labeled-rows rows.csv --seed 5 --out listed_csv
    expect_success "or of a CSV file" test "$(labeled listed_csv)" = "$(cat rows)"
    couplet train hidden/table.npz $small --labels all --out all
    expect_success "--labels all takes all labels" test "$(labeled all)" = "$(cat rows)"
    expect 0 "class 0 has 3 labeled images, fewer than --labels 9; all of them are used" train hidden/table.npz $small --labels 9 --out rare
    expect_success "a class with fewer labels gives all of them" test "$(labeled rare)" = "$(cat rows)"
    echo 80 >>rows
    expect 1 "rows, line 7: \"80\" is no row of the training split, which has rows 0 to 79" train table.npz --labeled-rows rows --out x
    printf '1\n1\n' >rows
    expect 1 "rows, line 2: \"1\" appears twice" train table.npz --labeled-rows rows --out x
    awk 'BEGIN { for (i = 0; i < 80; i++) print i }' >rows
    expect 1 "has no label in the set" train hidden/table.npz --labeled-rows rows --out x
    expect 1 "absent: cannot open it" train table.npz --labeled-rows absent --out x
    expect 0 "warning: 4 of the 10 rows of test are copies of some of train" train splits.npz --method softmax --steps 8 --every 4 --quiet --labels 3 --out leak
}
finish
