#!/bin/sh
# couplet data and couplet fetch, run as a user would run them; downloads use a fake curl and a fake wget. Argument: the
# program.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
golden=$(cd "$(dirname "$0")/../golden" && pwd)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

tools=$PATH # where the program finds curl and wget
couplet() { PATH=$tools "$couplet" "$@"; }
about couplet

# ---- data ----

expect 0 "FILE|phantom" data --help
expect 2 "1 needed" data
expect 0 "phantom: images of 28 x 28, 3 channels, 4 classes" data phantom
expect 0 "1 two lobes    985  142   253" data phantom
expect 0 '"class_names": [' data phantom --json
expect 0 "a contact sheet, one row per class, is in sheet.png" data phantom --sheet sheet.png --columns 5
expect_success "the sheet is a PNG file and the only new file" sh -c 'head -c 4 sheet.png | grep -q PNG && test "$(ls)" = sheet.png'
expect 0 "the set is in cells.npz" data phantom --npz cells.npz
expect 0 "cells: images of 28 x 28, 3 channels, 4 classes" data cells.npz
expect 0 "your own file, md5 $(md5sum cells.npz | cut -d ' ' -f 1)" data cells.npz
expect 0 '"official": false' data cells.npz --json
expect 0 "pytorch_none.safetensors: safetensors" data "$golden/pytorch_none.safetensors"
expect 0 'model {"' data "$golden/pytorch_none.safetensors"
expect 0 '"dtype": "F64"' data "$golden/metrics.safetensors" --json
expect 1 "cannot open nothing" data nothing
expect 1 "is a folder, a pipe or a device" data .
mkfifo fifo.npz
expect 1 "is a folder, a pipe or a device" data fifo.npz
echo "not an array" >text
expect 1 "text is neither npz, npy, safetensors nor NIfTI" data text
: >empty
expect 1 "empty is neither npz, npy, safetensors nor NIfTI" data empty
expect 1 "--sheet and --npz are for image sets; this file is not one" data "$golden/metrics.safetensors" --sheet other.png
head -c 5000 cells.npz >cut.npz
expect 1 "cut.npz" data cut.npz
expect 1 "nowhere/sheet.png" data phantom --sheet nowhere/sheet.png
expect 2 "a whole number from 1 to 1000" data phantom --columns 1001

# ---- data of NIfTI volumes ----

expect 0 "nifti_lps.nii.gz: NIfTI-1" data "$golden/nifti_lps.nii.gz"
expect 0 "type         int16, scaled: 0.5 x - 3" data "$golden/nifti_lps.nii.gz"
expect 0 "orientation  LPS, from the sform" data "$golden/nifti_lps.nii.gz"
expect 0 "spacing      1.5 x 2 x 3" data "$golden/nifti_lps.nii.gz"
expect 0 "(5, 4, 3)   -3  114  55.5" data "$golden/nifti_lps.nii.gz"
expect 0 "orientation  ASL, from the qform" data "$golden/nifti_oblique.nii"
expect 0 "type         float32, not scaled" data "$golden/nifti_oblique.nii"
expect 0 "orientation  LAS, assumed: there is neither sform nor qform" data "$golden/nifti_pair.img"
expect 0 "nifti_2.nii.gz: NIfTI-2" data "$golden/nifti_2.nii.gz"
expect 0 '"orientation_from": "sform"' data "$golden/nifti_2.nii.gz" --json
expect 0 '"max": 2643' data "$golden/nifti_2.nii.gz" --json
expect 0 "the values are in volume.npy, as float32" data "$golden/nifti_2.nii.gz" --npy volume.npy
expect 0 "(2, 3, 4, 2)" data volume.npy
escape=$(printf '\033')
cp cells.npz "a${escape}b.npz" && cp volume.npy "a${escape}b.npy" && cp "$golden/nifti_lps.nii.gz" "a${escape}b.nii.gz"
for ending in npz npy nii.gz; do
    expect 0 "a?b" data "a${escape}b.$ending"
    expect_success "no control character of a file's name reaches the terminal" sh -c '! grep -q "$1" "$0"' \
        "$(couplet data "a${escape}b.$ending" >said; echo said)" "$escape"
    rm "a${escape}b.$ending" said
done
expect 1 "--npy is for NIfTI volumes; phantom is not one" data phantom --npy other.npy
expect 1 "--npy is for NIfTI volumes; volume.npy is not one" data volume.npy --npy other.npy
expect 1 "--sheet and --npz are for image sets; this file is not one" data "$golden/nifti_2.nii.gz" --sheet other.png
expect 1 "nowhere/volume.npy" data "$golden/nifti_2.nii.gz" --npy nowhere/volume.npy
head -c 150 "$golden/nifti_lps.nii.gz" >cut.nii.gz
expect 1 "cut.nii.gz: gzip member 1" data cut.nii.gz
cp "$golden/nifti_lps.nii.gz" unnamed
expect 0 "unnamed: NIfTI-1" data unnamed
cp "$golden/nifti_pair.hdr" alone.hdr
expect 1 "alone.hdr is one file of a pair; the other one, .img or .img.gz next to it, is missing" data alone.hdr --npy other.npy
expect_success "a failed command writes nothing" test ! -e other.npy

# ---- fetch ----

expect 0 "The sets are bloodmnist, breastmnist," fetch medmnist
expect 2 "did you mean pneumoniamnist?" fetch medmnist pneumonia
expect 2 "bloodmnist, breastmnist" fetch medmnist nothing
expect 2 "not from \"imagenet\"" fetch imagenet
expect 2 "at least 1 needed" fetch
expect 0 "curl --fail --location --output 'bloodmnist.npz' 'https://zenodo.org/records/10519652/files/bloodmnist.npz?download=1'" \
    fetch medmnist bloodmnist
expect 0 "'a'\\''b/octmnist.npz'" fetch medmnist octmnist --out "a'b"
expect_success "nothing is made without --run" test ! -e "a'b"

# Fake programs that write a text given by the test into the requested file, and record their arguments.
mkdir both only_wget neither
cat >both/curl <<'END'
#!/bin/sh
[ "$CODE" = 0 ] || exit "$CODE"
printf '%s\n' "$5" >asked
printf '%s' "$CONTENTS" >"$4"
END
cat >only_wget/wget <<'END'
#!/bin/sh
printf '%s\n' "$3" >asked
printf '%s' "$CONTENTS" >"$2"
END
chmod +x both/curl only_wget/wget
for tool in sh cat; do
    for folder in both only_wget; do ln -s "$(command -v $tool)" $folder/$tool; done
done
export CODE=0 CONTENTS="an error page"
tools=$work/both
expect 1 "the file downloaded for bloodmnist has md5 0b3e34d622bd30bb091539282cb5703c, but the official file has 7053d0359d879ad8a5505303e11de1dc" \
    fetch medmnist bloodmnist --run --out "new folder"
expect_success "a wrong file is kept under another name" sh -c 'cd "new folder" && test "$(ls)" = bloodmnist.npz.unverified'
expect_success "the address is that of the record" grep -qx 'https://zenodo.org/records/10519652/files/bloodmnist.npz?download=1' asked
rm -f asked
tools=$work/only_wget
expect 1 "the file downloaded for breastmnist" fetch medmnist breastmnist --run
expect_success "wget is used if there is no curl" grep -q 'breastmnist.npz?download=1' asked
tools=$work/neither
expect 1 "neither curl nor wget was found" fetch medmnist breastmnist --run
tools=$work/both
CODE=22
expect 1 "curl ended with code 22 and did not download https://zenodo.org" fetch medmnist octmnist --run
expect_success "a failed download leaves nothing behind" sh -c '! ls | grep octmnist'
echo "something else" >octmnist.npz
expect 1 "octmnist.npz exists, but is not the official file" fetch medmnist octmnist --run
expect_success "an existing file is unchanged" grep -q "something else" octmnist.npz
expect 1 "cannot create the folder" fetch medmnist octmnist --run --out text/folder

# ---- files written by numpy ----

python=$(command -v /usr/bin/python3 || command -v python3)
if [ -n "$python" ] && "$python" -c 'import numpy' 2>/dev/null; then
    cat >make.py <<'END'
import numpy as np
x = np.arange(6 * 5 * 4, dtype="<u2").reshape(6, 5, 4)
y = np.array([0, 1, 2, 0, 1, 2])
np.savez_compressed("deep", **{f"{s}_images": np.asfortranarray(x.astype(">u2")) for s in ("train", "val", "test")},
                    **{f"{s}_labels": y for s in ("train", "val", "test")})
np.savez("other", x=np.array([1, np.nan]), name=np.zeros((2, 0)))
f = x.astype(np.float32) / 119
np.savez("beyond", train_images=f, val_images=f * 2, test_images=f - 1, **{f"{s}_labels": y for s in ("train", "val", "test")})
np.save("row", np.arange(3, dtype=np.float16))
cells = np.load("cells.npz")
assert cells["train_images"].shape == (4000, 28, 28, 3) and cells["train_images"].dtype == np.uint8
assert cells["test_labels"].shape == (1000, 1) and np.bincount(cells["test_labels"][:, 0]).tolist() == [241, 253, 249, 257]
END
    expect_success "numpy reads the written set" "$python" make.py
    expect 0 "deep: images of 5 x 4, 1 channel, 3 classes" data deep.npz
    expect 0 "pixels are uint16 in [0, 255], x / 127.5 - 1" data deep.npz
    expect 0 "are outside the range and are clamped to it, in this table too" data beyond.npz
    expect 0 "val       0    1" data beyond.npz
    expect 1 "Not an image set: other.npz has no array train_images" data other.npz
    expect 1 "1 number is not finite" data other.npz
    expect 0 "float16" data row.npy
else
    skip "files of numpy" "numpy is not installed"
fi
finish
