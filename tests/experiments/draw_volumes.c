/* Writes a NIfTI file for the tests of couplet brats: a head with or without a tumor. Arguments: FILE.nii, flair, t1ce or
 * seg, the orientation of the file's axes, a seed (below 0: no tumor), columns, rows, levels; then "turned" for a file
 * whose header is wrong about the front. */
#include "support/brain_volume.h"

int main(int count, char **words) {
    if (count != 8 && count != 9)
        return fprintf(stderr, "draw_volumes FILE.nii SCAN ORIENTATION SEED COLUMNS ROWS LEVELS [turned]\n"), 2;
    bool         enhanced = strcmp(words[2], "t1ce") == 0;
    brain_volume volume = {.dims = {atoi(words[5]), atoi(words[6]), atoi(words[7])},
                           .spacing = {1, 1, 2},
                           .orientation = words[3],
                           .seed = atoi(words[4]),
                           .background = enhanced ? -3 : 0,
                           .scale = enhanced ? 2 : 700,
                           .turned = count == 9,
                           .seg = strcmp(words[2], "seg") == 0};
    return brain_write(words[1], &volume) ? 0 : 1;
}
