/* Predictions as a file. */
#include "experiments/kit/train/predictions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct label {
    char s[100];
} label;

static label name_of(const cp_prediction_lines *l, int c) {
    label text;
    if (l->class_names)
        snprintf(text.s, sizeof text.s, "%s", l->class_names[c]);
    else
        snprintf(text.s, sizeof text.s, "%d", c);
    return text;
}

/* The class of that rank, from 0, and of equal ones the lowest first; -1 when a posterior is not finite. */
static int ranked(const cp_prediction_lines *l, int i, int rank) {
    const double *p = l->posterior + (size_t)i * (size_t)l->classes;
    int           found = -1;
    for (int r = 0; r <= rank; r++) {
        int next = -1;
        for (int c = 0; c < l->classes; c++) {
            bool after = found < 0 || p[c] < p[found] || (p[c] == p[found] && c > found);
            if (!isfinite(p[c])) return -1;
            if (after && (next < 0 || p[c] > p[next])) next = c;
        }
        found = next;
    }
    return found;
}

/* Pictures have no rows. */
static bool has_row(const cp_prediction_lines *l) {
    if (!l->rows) return true;
    for (int i = 0; i < l->n; i++)
        if (l->rows[i] >= 0) return true;
    return false;
}

/* ---- CSV ---- */

static void put_text(cp_bytes *out, const char *prefix, const char *text, const char *end) {
    bool quoted = strpbrk(text, ",\"\r\n");
    if (quoted) cp_bytes_text(out, "\"");
    cp_bytes_text(out, prefix);
    for (; *text; text++) cp_bytes_append(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    cp_bytes_text(out, quoted ? "\"" : "");
    cp_bytes_text(out, end);
}

static void put_number(cp_bytes *out, const char *before, double value) {
    char cell[40];
    snprintf(cell, sizeof cell, "%s%.9g", before, value);
    cp_bytes_text(out, cell);
}

static void put_header(const cp_prediction_lines *l, cp_bytes *out) {
    char cell[60];
    if (l->files) cp_bytes_text(out, "file,");
    if (has_row(l)) cp_bytes_text(out, "row,");
    cp_bytes_text(out, l->top ? "" : "class");
    for (int c = 0; !l->top && c < l->classes; c++) {
        cp_bytes_text(out, ",");
        put_text(out, "p_", name_of(l, c).s, "");
    }
    for (int k = 1; k <= l->top; k++) {
        snprintf(cell, sizeof cell, "%sclass_%d,p_%d", k > 1 ? "," : "", k, k);
        cp_bytes_text(out, cell);
    }
    cp_bytes_text(out, l->energy ? ",energy,density\n" : "\n");
}

static void put_line(const cp_prediction_lines *l, int i, cp_bytes *out) {
    const double *p = l->posterior + (size_t)i * (size_t)l->classes;
    char          cell[40];
    if (l->files) put_text(out, "", l->files[i], ",");
    snprintf(cell, sizeof cell, "%d", l->rows ? l->rows[i] : i);
    if (has_row(l)) cp_bytes_text(out, l->rows && l->rows[i] < 0 ? "" : cell), cp_bytes_text(out, ",");
    if (!l->top) put_text(out, "", ranked(l, i, 0) < 0 ? "" : name_of(l, ranked(l, i, 0)).s, "");
    for (int c = 0; !l->top && c < l->classes; c++) put_number(out, ",", p[c]);
    for (int k = 0; k < l->top; k++) {
        int c = ranked(l, i, k);
        put_text(out, "", c < 0 ? "" : name_of(l, c).s, "");
        put_number(out, ",", c < 0 ? NAN : p[c]);
        cp_bytes_text(out, k + 1 < l->top ? "," : "");
    }
    if (l->energy) put_number(out, ",", l->energy[i]), put_number(out, ",", -l->energy[i]);
    cp_bytes_text(out, "\n");
}

bool cp_predictions_csv(const cp_prediction_lines *l, cp_bytes *out, cp_status *status) {
    put_header(l, out);
    for (int i = 0; i < l->n; i++) put_line(l, i, out);
    return !out->failed || cp_fail(status, "not enough memory for the predictions");
}

/* ---- JSON ---- */

void cp_predictions_put(const cp_prediction_lines *l, cp_json_writer *w, const char *key) {
    cp_json_put_array(w, key);
    for (int i = 0; i < l->n; i++) {
        const double *p = l->posterior + (size_t)i * (size_t)l->classes;
        int           first = ranked(l, i, 0);
        cp_json_put_object(w, NULL);
        if (l->files) cp_json_put_string(w, "file", l->files[i]);
        if (!l->rows || l->rows[i] >= 0) cp_json_put_integer(w, "row", l->rows ? l->rows[i] : i);
        cp_json_put_string(w, "class", first < 0 ? NULL : name_of(l, first).s);
        if (l->top) cp_json_put_array(w, "classes");
        for (int k = 0; k < l->top; k++) cp_json_put_string(w, NULL, first < 0 ? NULL : name_of(l, ranked(l, i, k)).s);
        if (l->top) cp_json_put_end(w);
        cp_json_put_array(w, "p");
        for (int k = 0; k < (l->top ? l->top : l->classes); k++)
            cp_json_put_number(w, NULL, l->top ? (first < 0 ? NAN : p[ranked(l, i, k)]) : p[k]);
        cp_json_put_end(w);
        if (l->energy) cp_json_put_number(w, "energy", l->energy[i]);
        if (l->energy) cp_json_put_number(w, "density", -l->energy[i]);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}
