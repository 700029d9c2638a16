/* couplet import: a data set from a folder of pictures, or from a CSV file of pictures or numbers. */
#include "experiments/import/import.h"
#include "core/io/file.h"
#include "core/io/picture.h"
#include "experiments/commands.h"
#include "experiments/kit/data/check.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/volumes/patients.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

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

static bool no_memory(const cp_import *m, cp_status *status) {
    return cp_fail(status, "%.300s: not enough memory for its rows", m->config.source);
}

static cp_import_row *add_row(cp_import *m, int split, int label) {
    if ((m->count & (m->count - 1)) == 0) { /* a power of two: all that there is room for */
        cp_import_row *more = realloc(m->rows, (size_t)(m->count ? 2 * m->count : 1) * sizeof *more);
        if (!more) return NULL;
        m->rows = more;
    }
    m->rows[m->count] = (cp_import_row){.split = split, .label = label};
    return &m->rows[m->count++];
}

static int split_named(const char *name) {
    static const char *const names[] = {"train", "val", "test", "training", "validation", "testing"};
    for (int i = 0; i < 6; i++)
        if (strcasecmp(name, names[i]) == 0) return i % 3;
    return strcasecmp(name, "valid") == 0 ? CP_IMAGES_VAL : -1;
}

/* ---- a folder ---- */

enum { DEEPEST = 16 };

static const char *const convertible[] = {"jpg", "jpeg", "jp2", "gif", "bmp", "tif", "tiff", "webp", "dcm", NULL};

static bool ends_in(const char *name, const char *const *endings) {
    const char *dot = strrchr(name, '.');
    while (dot && *endings && strcasecmp(dot + 1, *endings) != 0) endings++;
    return dot && *endings;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static int is_shown(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static bool take_file(cp_import *m, const char *path, const char *name, int split, int label, cp_status *status) {
    if (ends_in(name, convertible))
        return cp_fail(status,
                       "%.200s: PNG, PGM and PPM files can be read. ImageMagick converts a folder: mogrify -format png %.*s/*%.8s",
                       path, (int)(strlen(path) - strlen(name) - 1), path, strrchr(name, '.'));
    if (!cp_picture_named(name)) return m->left_out++, true;
    cp_import_row *row = add_row(m, split, label);
    return (row && (row->path = strdup(path))) || no_memory(m, status);
}

/* Files of a class are at any depth in its folder; the folders of the source are classes, or splits with such folders. */
static bool visit(cp_import *m, const char *folder, int depth, int split, int label, bool in_class, cp_status *status) {
    struct dirent **entries;
    int             count = depth < DEEPEST ? scandir(folder, &entries, is_shown, by_name) : (errno = ELOOP, -1);
    if (count < 0) return cp_fail(status, "cannot read the folder %.300s: %s", folder, strerror(errno));
    bool ok = true;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t      size = strlen(folder) + strlen(name) + 2;
        char       *path = ok ? malloc(size) : NULL;
        struct stat about;
        if (ok && !path) ok = no_memory(m, status);
        if (path) snprintf(path, size, "%s/%s", folder, name);
        if (ok && stat(path, &about) != 0) ok = cp_fail(status, "cannot open %.300s: %s", path, strerror(errno));
        if (ok && S_ISDIR(about.st_mode)) {
            int  to = depth == 0 ? split_named(name) : -1, class = label;
            bool known = in_class || to >= 0, unlabeled = !known && strcasecmp(name, "unlabeled") == 0;
            if (!known && !unlabeled && (class = cp_names_add(&m->classes, name)) < 0) ok = no_memory(m, status);
            ok = ok && visit(m, path, depth + 1, unlabeled ? -1 : to >= 0 ? to : split, class, in_class || to < 0, status);
        } else if (ok && S_ISREG(about.st_mode)) {
            if (!in_class && cp_picture_named(name))
                ok = cp_fail(status, "%.300s is in no class; a folder for each class (and one named unlabeled) is expected", path);
            else
                ok = take_file(m, path, name, split, label, status);
        }
        free(path);
        free(entries[i]);
    }
    free(entries);
    return ok;
}

static bool list_folder(cp_import *m, cp_status *status) {
    size_t length = strlen(m->config.source);
    char   top[4096];
    while (length > 1 && m->config.source[length - 1] == '/') length--;
    if (length >= sizeof top) return cp_fail(status, "%.100s...: the path is too long", m->config.source);
    snprintf(top, sizeof top, "%.*s", (int)length, m->config.source);
    if (!visit(m, top, 0, -1, -1, false, status)) return false;
    for (int i = 0; i < m->count; i++) m->rows[i].file = m->rows[i].path + length + 1;
    return m->count > 0 || cp_fail(status, "%.300s: there are no PNG, PGM or PPM files in folders of this folder", top);
}

/* ---- a CSV file ---- */

typedef struct columns {
    int file, label, split, patient; /* -1: there is none */
} columns;

static const char *cell(const cp_import *m, size_t row, int column) {
    return column < 0 ? "" : cp_csv_cell(&m->csv, row, (size_t)column);
}

static bool is_number(const char *text) {
    char *end;
    strtod(text, &end);
    return *text && *end == '\0' && !strpbrk(text, "xXpP");
}

static bool fail_line(const cp_import *m, size_t row, cp_status *status, const char *problem, const char *text) {
    return cp_fail(status, "%.200s, line %zu: %s \"%s\"", m->config.source, m->csv.lines[row], problem,
                   cp_shown(text, strlen(text)).text);
}

/* Columns of numbers are the features of a table; all others are kept as groups. A column's first cell that is not
 * empty decides whether it is one of numbers. */
static bool find_features(cp_import *m, columns c, cp_status *status) {
    m->kept = malloc(2 * m->csv.columns * sizeof *m->kept);
    if (!m->kept) return no_memory(m, status);
    int *features = m->kept + m->csv.columns;
    for (int i = 0; i < (int)m->csv.columns; i++) {
        size_t first = 1;
        if (i == c.file || i == c.label || i == c.split || i == c.patient) continue;
        while (first + 1 < m->csv.rows && !*cell(m, first, i)) first++;
        if (c.file >= 0 || !is_number(cell(m, first, i))) {
            m->kept[m->kept_count++] = i;
            continue;
        }
        features[m->feature_count++] = i;
        for (size_t row = first; row < m->csv.rows; row++)
            if (*cell(m, row, i) && !is_number(cell(m, row, i)))
                return fail_line(m, row, status, "a number was expected in this column of numbers, not", cell(m, row, i));
    }
    if (c.file < 0) m->features = features;
    return c.file >= 0 || m->feature_count > 0 ||
           cp_fail(status, "%.300s: there is neither a column \"file\", of pictures, nor a column of numbers", m->config.source);
}

static bool take_csv_row(cp_import *m, size_t at, columns c, cp_status *status) {
    const char    *label = cell(m, at, c.label), *split = cell(m, at, c.split), *file = cell(m, at, c.file);
    const char    *slash = strrchr(m->config.source, '/');
    int            folder = *file == '/' || !slash ? 0 : (int)(slash + 1 - m->config.source);
    size_t         size = (size_t)folder + strlen(file) + 1;
    cp_import_row *row = add_row(m, split_named(split), -1);
    if (!row || (*label && (row->label = cp_names_add(&m->classes, label)) < 0)) return no_memory(m, status);
    row->row = at;
    row->patient = cell(m, at, c.patient);
    if (*split && row->split < 0) return fail_line(m, at, status, "the split must be train, val, test or empty, not", split);
    if (!*label && row->split > CP_IMAGES_TRAIN)
        return fail_line(m, at, status, "a row without a label cannot be in the split", split);
    if (c.file < 0) return true;
    if (!*file) return fail_line(m, at, status, "the name of a file was expected, not", file);
    row->file = file;
    row->path = malloc(size);
    if (row->path) snprintf(row->path, size, "%.*s%s", folder, m->config.source, file);
    return row->path || no_memory(m, status);
}

static bool list_csv(cp_import *m, cp_status *status) {
    if (!cp_csv_read(m->config.source, &m->csv, status)) return false;
    columns c = {cp_csv_column(&m->csv, "file"), cp_csv_column(&m->csv, m->config.label), cp_csv_column(&m->csv, "split"),
                 cp_csv_column(&m->csv, "patient")};
    if (c.patient < 0) c.patient = cp_csv_column(&m->csv, "subject");
    if (c.label < 0)
        return cp_fail(status, "%.200s: the first line has no column \"%.60s\"; --label names the column of the classes",
                       m->config.source, m->config.label);
    m->has_patients = c.patient >= 0;
    bool ok = find_features(m, c, status);
    for (size_t row = 1; ok && row < m->csv.rows; row++) ok = take_csv_row(m, row, c, status);
    return ok && (m->count > 0 || cp_fail(status, "%.300s: there are no rows below the first line", m->config.source));
}

/* ---- an npz file ---- */

static const char *patient_of(cp_import *m, const cp_images *images, int split, int row) {
    int  patient = images->groups[split] ? images->groups[split][row] : -1;
    char text[16];
    if (patient < 0) return "";
    if (images->patients_named.count) return images->patients_named.at[patient];
    snprintf(text, sizeof text, "%d", patient);
    int number = cp_names_add(&m->patients, text);
    return number < 0 ? NULL : m->patients.at[number];
}

static bool add_rows(cp_import *m, int split) {
    const cp_images *images = m->images;
    const cp_split  *s = &images->set->splits[split];
    for (int i = 0; i < s->count; i++) {
        const char *patient = patient_of(m, images, split, i);
        if (!patient) return false;
        memcpy(m->inputs + (size_t)m->count * m->width, (const char *)s->inputs + (size_t)i * m->width, m->width);
        m->rows[m->count++] =
            (cp_import_row){.patient = patient, .row = (size_t)i, .label = s->labels ? s->labels[i] : -1, .split = split};
    }
    m->has_patients = m->has_patients || images->groups[split];
    return true;
}

/* What is missing is taken from the training split. Reads the inputs too. */
static bool list_npz(cp_import *m, cp_status *status) {
    cp_images *images = m->images = cp_images_load_any(m->config.source, status);
    size_t     total = 0, missing = 0;
    if (!images) return false;
    for (int s = 0; s < CP_IMAGES_SPLITS; s++)
        total += (size_t)images->set->splits[s].count, missing += !images->set->splits[s].count;
    if (!missing) return cp_fail(status, "%.300s has a training, a validation and a test split already", m->config.source);
    if (!images->set->splits[CP_IMAGES_TRAIN].labels)
        return cp_fail(status, "%.300s: a training split with labels is needed, from which the missing splits are taken",
                       m->config.source);
    m->width = images->set->values * cp_dtype_size(images->set->dtype);
    m->rows = malloc(total * sizeof *m->rows);
    m->inputs = malloc(total * m->width);
    bool ok = m->rows && m->inputs;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = add_rows(m, s);
    for (int c = 0; ok && c < images->classes; c++) {
        char number[16];
        snprintf(number, sizeof number, "%d", c);
        ok = cp_names_add(&m->classes, images->class_names ? images->class_names[c] : number) >= 0;
    }
    return ok || no_memory(m, status);
}

/* The rows of a training array that are in the split now. `to` has room for all of them. Returns their number. */
static int64_t gather(const cp_import *m, int split, int64_t count, size_t width, const void *from, void *to) {
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) /* training rows come first; the last of them may be of unlabeled arrays */
        if (m->rows[i].split == split) memcpy((char *)to + (size_t)n++ * width, (const char *)from + (size_t)i * width, width);
    return n;
}

/* An array of the training split, a row for each of `count` labels, divided among the splits. */
static bool divide(const cp_import *m, const char *name, const cp_npy *from, int64_t count, cp_npz_writer *w, cp_status *status) {
    size_t width = count ? from->size / (size_t)count * cp_dtype_size(from->dtype) : 0;
    cp_npy to = *from;
    if (!(to.data = malloc((size_t)count * width + 1))) return cp_fail(status, "not enough memory for a copy of %.60s", name);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        char new_name[128];
        snprintf(new_name, sizeof new_name, "%s%.100s", cp_images_splits[s], name + strlen("train"));
        if (s > CP_IMAGES_TRAIN && m->images->set->splits[s].count) continue; /* it has its own */
        to.dims[0] = gather(m, s, count, width, from->data, to.data);
        if (to.dims[0]) cp_npz_writer_add_npy(w, new_name, &to);
    }
    free(to.data);
    return true;
}

static bool add_arrays_npz(const cp_import *m, cp_npz_writer *w, cp_status *status) {
    cp_npz     *npz = cp_npz_open(m->config.source, status);
    int64_t     count = m->images->set->splits[CP_IMAGES_TRAIN].count;
    cp_npy      more = {0};
    bool        ok = npz != NULL;
    const char *unlabeled = m->images->mean ? "unlabeled_x" : "unlabeled_images";
    if (ok && cp_npz_has(npz, unlabeled) && (ok = cp_npz_read(npz, unlabeled, &more, status))) count -= more.dims[0];
    cp_npy_free(&more);
    for (size_t i = 0; ok && i < cp_npz_count(npz); i++) {
        const char *name = cp_npz_name(npz, i);
        cp_npy      npy = {0};
        if (!(ok = cp_npz_read_any(npz, name, &npy, status))) break;
        if (strncmp(name, "train_", 6) == 0 && npy.rank && npy.dims[0] == count)
            ok = divide(m, name, &npy, count, w, status);
        else
            cp_npz_writer_add_npy(w, name, &npy);
        cp_npy_free(&npy);
    }
    cp_npz_close(npz);
    return ok;
}

/* ---- any source ---- */

static bool list_source(cp_import *m, cp_status *status) {
    struct stat about;
    if (stat(m->config.source, &about) != 0) return cp_fail(status, "cannot open %.300s: %s", m->config.source, strerror(errno));
    if (cp_path_ends_in(m->config.source, ".npz")) return list_npz(m, status);
    if (!(S_ISDIR(about.st_mode) ? list_folder(m, status) : list_csv(m, status))) return false;
    if (m->classes.count < 2 || m->classes.count > CP_IMAGES_CLASSES)
        return cp_fail(status, "%.200s: %d classes were found; 2 to %d are expected", m->config.source, m->classes.count,
                       CP_IMAGES_CLASSES);
    int *numbers = cp_names_sort(&m->classes, true);
    if (!numbers) return no_memory(m, status);
    for (int i = 0; i < m->count; i++)
        if (m->rows[i].label >= 0) m->rows[i].label = numbers[m->rows[i].label];
    free(numbers);
    return true;
}

static void import_free(cp_import *m) {
    for (int i = 0; i < m->count; i++) free(m->rows[i].path);
    free(m->rows), free(m->kept), free(m->inputs);
    cp_names_free(&m->classes), cp_names_free(&m->patients);
    cp_images_free(m->images);
    cp_csv_free(&m->csv);
}

/* ---- what is printed ---- */

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
    cp_set_check check = {.count = 0};
    cp_images   *images = cp_images_load_any(file, NULL);
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

/* ---- the command ---- */

static bool make(const cp_options *o, cp_import *m, cp_status *status) {
    const char    *file = cp_option_text(o, "out");
    cp_npz_writer *w = cp_npz_writer_new(file, status);
    if (!w) return false;
    if (!list_source(m, status) || (!m->images && !cp_import_read(m, status)) || !cp_import_split(m, status) ||
        !(m->images ? add_arrays_npz : cp_import_add_arrays)(m, w, status)) {
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
    import_free(&import);
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
