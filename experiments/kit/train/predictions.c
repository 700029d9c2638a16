/* Predictions as a file. */
#include "experiments/kit/train/predictions.h"

#include "core/io/file.h"
#include "experiments/kit/report/table.h"

#include <math.h>
#include <stdlib.h>

cp_text cp_class_text(const char *const *class_names, const char *prefix, int c) {
    cp_text text = {""};
    if (c >= 0 && class_names)
        snprintf(text.s, sizeof text.s, "%s%s", prefix, class_names[c]);
    else if (c >= 0)
        snprintf(text.s, sizeof text.s, "%s%d", prefix, c);
    return text;
}

int cp_prediction_next(const double *p, int classes, int after) {
    int next = -1;
    for (int c = 0; c < classes; c++) {
        bool behind = after < 0 || p[c] < p[after] || (p[c] == p[after] && c > after);
        if (!isfinite(p[c])) return -1;
        if (behind && (next < 0 || p[c] > p[next])) next = c;
    }
    return next;
}

static bool has_files(const cp_prediction_table *t) { return t->count > 1 || t->lines->files; }

static bool has_rows(const cp_prediction_table *t) {
    for (int b = 0; b < t->count; b++)
        if (!t->lines[b].files) return true;
    return false;
}

/* ---- CSV ---- */

static void print_header(const cp_prediction_table *t, FILE *file) {
    fprintf(file, "%s%s", has_files(t) ? "file," : "", has_rows(t) ? "row," : "");
    if (!t->top) fputs("class", file);
    for (int c = 0; !t->top && c < t->classes; c++) {
        fputc(',', file);
        cp_csv_text(file, cp_class_text(t->class_names, "p_", c).s);
    }
    for (int k = 1; k <= t->top; k++) fprintf(file, "%sclass_%d,p_%d", k > 1 ? "," : "", k, k);
    fputs(t->lines->energy ? ",energy,density\n" : "\n", file);
}

static void print_line(const cp_prediction_table *t, const cp_prediction_lines *l, int i, FILE *file) {
    const double *p = l->posterior + (size_t)i * (size_t)t->classes;
    int           best = cp_prediction_next(p, t->classes, -1);
    if (has_files(t)) cp_csv_text(file, l->files ? l->files[i] : l->file), fputc(',', file);
    if (!l->files) fprintf(file, "%d", i);
    if (has_rows(t) && !t->bare) fputc(',', file);
    if (!t->top && !t->bare) cp_csv_text(file, cp_class_text(t->class_names, "", best).s);
    for (int c = 0; !t->top && c < t->classes; c++) fprintf(file, ",%.9g", p[c]);
    for (int k = 0; k < t->top; k++) {
        if (k > 0) fputc(',', file);
        cp_csv_text(file, cp_class_text(t->class_names, "", best).s);
        fprintf(file, ",%.9g", best < 0 ? NAN : p[best]);
        best = best < 0 ? -1 : cp_prediction_next(p, t->classes, best);
    }
    if (l->energy && !t->bare) fprintf(file, ",%.9g,%.9g", l->energy[i], -l->energy[i]);
    fputc('\n', file);
}

static void print_all(const cp_prediction_table *t, FILE *file) {
    if (!t->bare) print_header(t, file);
    for (int b = 0; b < t->count; b++)
        for (int i = 0; i < t->lines[b].n; i++) print_line(t, &t->lines[b], i, file);
}

bool cp_predictions_save(const cp_prediction_table *t, const char *path, cp_status *status) {
    char  *text = NULL;
    size_t size = 0;
    FILE  *file = path ? open_memstream(&text, &size) : stdout;
    if (file) print_all(t, file);
    if (!path) return (fflush(file) == 0 && !ferror(file)) || cp_fail(status, "the standard output cannot be written");
    bool ok = file && fclose(file) == 0;
    ok = ok ? cp_file_write(path, text, size, status) : cp_fail(status, "not enough memory for the predictions");
    free(text);
    return ok;
}

/* ---- JSON ---- */

static void put_line(const cp_prediction_table *t, const cp_prediction_lines *l, int i, cp_json_writer *w) {
    const double *p = l->posterior + (size_t)i * (size_t)t->classes;
    int           best = cp_prediction_next(p, t->classes, -1), shown = t->top ? t->top : t->classes;
    cp_json_put_object(w, NULL);
    if (has_files(t)) cp_json_put_string(w, "file", l->files ? l->files[i] : l->file);
    if (!l->files) cp_json_put_integer(w, "row", i);
    cp_json_put_string(w, "class", best < 0 ? NULL : cp_class_text(t->class_names, "", best).s);
    if (t->top) cp_json_put_array(w, "classes");
    for (int k = 0, c = best; k < t->top; k++, c = c < 0 ? -1 : cp_prediction_next(p, t->classes, c))
        cp_json_put_string(w, NULL, c < 0 ? NULL : cp_class_text(t->class_names, "", c).s);
    if (t->top) cp_json_put_end(w);
    cp_json_put_array(w, "p");
    for (int k = 0, c = t->top ? best : 0; k < shown; k++) {
        cp_json_put_number(w, NULL, c < 0 ? NAN : p[c]);
        c = !t->top ? k + 1 : c < 0 ? -1 : cp_prediction_next(p, t->classes, c);
    }
    cp_json_put_end(w);
    if (l->energy) cp_json_put_number(w, "energy", l->energy[i]);
    if (l->energy) cp_json_put_number(w, "density", -l->energy[i]);
    cp_json_put_end(w);
}

void cp_predictions_put(const cp_prediction_table *t, cp_json_writer *w, const char *key) {
    cp_json_put_array(w, key);
    for (int b = 0; b < t->count; b++)
        for (int i = 0; i < t->lines[b].n; i++) put_line(t, &t->lines[b], i, w);
    cp_json_put_end(w);
}
