/* couplet import: a data set from a folder of pictures, or from a CSV file of pictures or numbers. */
#include "experiments/import/import.h"
#include "experiments/commands.h"
#include "experiments/kit/data/check.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/volumes/patients.h"

#include <string.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "out", .kind = CP_OPTION_TEXT, .value = "SET.npz", .required = true, .help = "file for the set; an older one is replaced"},
    {.name = "size", .kind = CP_OPTION_INT, .fallback = "32", .min = 1, .max = 4096, .unit = "pixels", .help = "width and height of the images"},
    {.name = "fit", .kind = CP_OPTION_CHOICE, .choices = "crop|pad|stretch", .fallback = "crop",
     .help = "how pictures become squares: by their middle, by black borders, or by stretching"},
    {.name = "color", .kind = CP_OPTION_CHOICE, .choices = "auto|gray|rgb", .fallback = "auto",
     .help = "channels of the images; auto: gray when no picture has a colored pixel"},
    {.name = "label", .kind = CP_OPTION_TEXT, .value = "COLUMN", .fallback = "label", .help = "column of a CSV file with the classes"},
    {.name = "split", .kind = CP_OPTION_TEXT, .value = "TRAIN/VAL/TEST", .fallback = "70/10/20",
     .help = "shares of each class, by patient; splits that the source has are kept, and missing ones are taken from its training split"},
    {0}};
/* clang-format on */

static void print_counts(const cp_import *m) {
    cp_table *table = cp_table_new(4, "class", "train", "val", "test");
    for (int c = 0; c <= m->classes.count + 1; c++) {
        int label = c < m->classes.count ? c : m->classes.count - c - 1;
        if (label == -1 && !cp_import_count(m, CP_IMAGES_TRAIN, -1)) continue;
        cp_table_text(table, "%s", label == -1 ? "unlabeled" : label < -1 ? "all" : m->classes.at[label]);
        for (int s = 0; s < CP_IMAGES_SPLITS; s++) cp_table_text(table, "%d", cp_import_count(m, s, label));
    }
    cp_table_conclude(table, NULL, NULL, stdout);
}

/* Of the file that was written, as `couplet data` shows them; a table with missing values cannot be loaded. */
static void print_warnings(const char *file) {
    cp_check   check = {.count = 0};
    cp_images *images = cp_images_load_any(file, NULL);
    if (images && cp_images_check(images, &check, NULL)) cp_images_check_classes(images, &check);
    for (int i = 0; i < check.count; i++) fprintf(stderr, "warning: %s\n", check.lines[i]);
    cp_images_free(images);
}

static void print_text(const cp_import *m, const char *file) {
    print_counts(m);
    printf("\n");
    if (m->copies) printf("rows that are copies of others: %d, with another class: %d\n", m->copies, m->mislabeled);
    if (m->left_out) printf("files left out, since they are no pictures: %d\n", m->left_out);
    if (m->missing) printf("values that are missing, and are NaN in the set: %d\n", m->missing);
    if (m->images)
        printf("the set with all splits is in %s\n", file);
    else if (m->features)
        printf("a table of %d features is in %s\n", m->feature_count, file);
    else
        printf("images of %d x %d, %s, are in %s\n", m->config.size, m->config.size, m->channels == 1 ? "gray" : "RGB", file);
}

static bool print_json(const cp_import *m, const char *file, cp_status *status) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "import");
    cp_json_put_string(&w, "source", m->config.source);
    cp_json_put_string(&w, "file", file);
    cp_json_put_strings(&w, "class_names", (const char *const *)m->classes.at, (size_t)m->classes.count);
    cp_json_put_object(&w, "splits");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        cp_json_put_object(&w, cp_images_splits[s]);
        cp_json_put_integer(&w, "rows", cp_import_count(m, s, -2));
        cp_json_put_integer(&w, "unlabeled", cp_import_count(m, s, -1));
        cp_json_put_array(&w, "classes");
        for (int c = 0; c < m->classes.count; c++) cp_json_put_integer(&w, NULL, cp_import_count(m, s, c));
        cp_json_put_end(&w);
        cp_json_put_end(&w);
    }
    cp_json_put_end(&w);
    cp_json_put_integer(&w, "copies", m->copies);
    cp_json_put_integer(&w, "mislabeled_copies", m->mislabeled);
    cp_json_put_integer(&w, "left_out", m->left_out);
    cp_json_put_integer(&w, "missing_values", m->missing);
    cp_json_put_end(&w);
    return cp_json_writer_print(&w, stdout, status);
}

static bool make(const cp_options *o, cp_import *m, cp_status *status) {
    const char    *file = cp_option_text(o, "out");
    cp_npz_writer *w = cp_npz_writer_new(file, status);
    if (!w) return false;
    if (!cp_import_list(m, status) || !cp_import_read(m, status) || !cp_import_split(m, status) ||
        !cp_import_add_arrays(m, w, status)) {
        cp_npz_writer_cancel(w);
        return false;
    }
    if (!cp_npz_writer_commit(w, status)) return false;
    print_warnings(file);
    if (cp_option_flag(o, "json")) return print_json(m, file, status);
    if (!cp_option_flag(o, "quiet")) print_text(m, file);
    return true;
}

static int run(const cp_options *o) {
    cp_status status = {0};
    cp_import import = {.config = {.source = cp_argument(o, 0),
                                   .label = cp_option_text(o, "label"),
                                   .size = (int)cp_option_int(o, "size"),
                                   .fit = (cp_import_fit)cp_option_choice(o, "fit"),
                                   .color = (cp_import_color)cp_option_choice(o, "color"),
                                   .seed = (uint64_t)cp_option_int(o, "seed")}};
    if (!cp_patients_shares(cp_option_text(o, "split"), import.config.shares, &status)) {
        cp_complain(o, "--split %s", status.message);
        return CP_EXIT_USAGE;
    }
    make(o, &import, &status);
    cp_import_free(&import);
    return cp_exit_code(o, &status);
}

const cp_command cp_command_import = {
    .name = "import",
    .purpose = "make a data set from a folder of pictures, or from a CSV file of pictures or numbers",
    .arguments = "SOURCE",
    .details = "SOURCE is a folder with a folder for each class (and one named unlabeled), or a CSV file whose first line names "
               "its columns: file, label, and optionally split (train, val, test), patient, and others, which are kept as groups. "
               "Rows without a label are unlabeled training images. Pictures are PNG, PGM or PPM. A CSV file without a column file "
               "becomes a table: its columns of numbers are the features. Of an npz set, the splits that are missing are taken "
               "from the training split. Images of one patient, and copies of one image, go to the same split.",
    .example = "cells/ --out cells.npz --size 28",
    .options = options,
    .without = "report",
    .run = run,
};
