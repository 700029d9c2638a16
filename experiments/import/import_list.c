/* What couplet import finds in its source: pictures in a folder for each class, or the rows of a CSV file. */
#include "experiments/import/import.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

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

static const char *const readable[] = {"png", "pgm", "ppm", "pnm", NULL};
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
    if (!ends_in(name, readable)) return m->left_out++, true;
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
            if (!in_class && ends_in(name, readable))
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

/* Columns of numbers are the features of a table; all others are kept as groups. Whether a column is of numbers, its first cell that is
 * not empty tells. */
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

/* ---- any source ---- */

bool cp_import_list(cp_import *m, cp_status *status) {
    struct stat about;
    if (stat(m->config.source, &about) != 0) return cp_fail(status, "cannot open %.300s: %s", m->config.source, strerror(errno));
    if (cp_import_is_npz(m)) return cp_import_list_npz(m, status);
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

void cp_import_free(cp_import *m) {
    for (int i = 0; i < m->count; i++) free(m->rows[i].path);
    free(m->rows), free(m->kept), free(m->inputs);
    cp_names_free(&m->classes), cp_names_free(&m->patients);
    cp_images_free(m->images);
    cp_csv_free(&m->csv);
}
