/* Whose scans they are, from a file. */
#include "core/io/file.h"
#include "experiments/kit/volumes/patients.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct line {
    const char *scan, *patient;
    int         number;
} line;

struct cp_patient_list {
    cp_bytes text;
    line    *lines; /* by scan */
    size_t   count;
};

void cp_patient_list_free(cp_patient_list *list) {
    if (!list) return;
    cp_bytes_free(&list->text);
    free(list->lines);
    free(list);
}

/* Without the blanks, and then the quotes, around it. */
static char *trimmed(char *text) {
    static const char BLANKS[] = " \t\r";
    text += strspn(text, BLANKS);
    size_t length = strlen(text);
    while (length > 0 && strchr(BLANKS, text[length - 1])) text[--length] = '\0';
    if (length > 1 && *text == '"' && text[length - 1] == '"') {
        text[length - 1] = '\0';
        text++;
    }
    return text;
}

/* Cuts a line into its two parts, in place. */
static bool take_line(cp_patient_list *list, char *text, int number, const char *path, cp_status *status) {
    char *comma = strchr(text, ',');
    if (comma) *comma = '\0';
    line added = {trimmed(text), comma ? trimmed(comma + 1) : "", number};
    if (!comma && !*added.scan) return true;
    if (number == 1 && strcasecmp(added.patient, "patient") == 0) return true;
    if (!*added.scan || !*added.patient || strchr(added.patient, ','))
        return cp_fail(status, "%.200s, line %d: expected is SCAN,PATIENT", path, number);
    list->lines[list->count++] = added;
    return true;
}

static int by_scan(const void *a, const void *b) {
    const line *x = a, *y = b;
    int         order = strcmp(x->scan, y->scan);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static bool take_all(cp_patient_list *list, const char *path, cp_status *status) {
    char  *text = (char *)list->text.data, *end = text + list->text.size;
    size_t max = 1;
    if (list->text.size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3; /* as some programs begin a text */
    if (memchr(text, '\0', (size_t)(end - text))) return cp_fail(status, "%.200s is not a text file", path);
    for (char *c = text; c < end; c++) max += *c == '\n';
    list->lines = malloc(max * sizeof *list->lines);
    if (!list->lines) return cp_fail(status, "%.200s: not enough memory", path);
    for (int number = 1; text < end; number++) {
        char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end;
        *stop = '\0';
        if (!take_line(list, text, number, path, status)) return false;
        text = stop + 1;
    }
    qsort(list->lines, list->count, sizeof *list->lines, by_scan);
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->lines[i - 1].scan, list->lines[i].scan) == 0 && strcmp(list->lines[i - 1].patient, list->lines[i].patient))
            return cp_fail(status, "%.200s, line %d: %.100s is of another patient in line %d", path, list->lines[i].number,
                           list->lines[i].scan, list->lines[i - 1].number);
    return true;
}

cp_patient_list *cp_patient_list_read(const char *path, cp_status *status) {
    enum { LARGEST = 1 << 26 };
    cp_patient_list *list = calloc(1, sizeof *list);
    if (!list) return cp_null(cp_fail(status, "%.200s: not enough memory", path));
    bool ok = cp_file_read(path, LARGEST, &list->text, status);
    if (ok && !cp_bytes_append(&list->text, "\n", 1)) ok = cp_fail(status, "%.200s: not enough memory", path);
    if (ok && take_all(list, path, status)) return list;
    cp_patient_list_free(list);
    return NULL;
}

const char *cp_patient_listed(const cp_patient_list *list, const char *scan) {
    size_t low = 0, high = list ? list->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int    order = strcmp(list->lines[middle].scan, scan);
        if (order == 0) return list->lines[middle].patient;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
