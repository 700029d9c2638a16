/* Patients of scans, by their names or from a list, and splits by patient. */
#include "experiments/kit/volumes/patients.h"

#include "core/io/file.h"
#include "core/random.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char DIGITS[] = "0123456789";
static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char EITHER[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* The length of a part and the mark before it: "-GLI" of "-GLI-00000"; 0 when there is none. */
static size_t part(const char *text, const char *marks, const char *of) {
    if (!*text || !strchr(marks, *text)) return 0;
    size_t length = strspn(text + 1, of);
    return length ? length + 1 : 0;
}

static size_t before_scan_number(const char *scan) {
    size_t name = 5, kind, patient, number;
    if (strncasecmp(scan, "BraTS", name) != 0 || !(kind = part(scan + name, "-", LETTERS))) return 0;
    if (!(patient = part(scan + name + kind, "-", DIGITS)) || !(number = part(scan + name + kind + patient, "-", DIGITS))) return 0;
    return scan[name + kind + patient + number] ? 0 : name + kind + patient;
}

static size_t before_date(const char *scan) {
    size_t name = 4, place, patient;
    if (strncasecmp(scan, "TCGA", name) != 0 || !(place = part(scan + name, "_-", EITHER))) return 0;
    if (!(patient = part(scan + name + place, "_-", EITHER))) return 0;
    size_t length = name + place + patient;
    return part(scan + length, "_-", DIGITS) == 9 && !scan[length + 9] ? length : 0;
}

static size_t before_visit(const char *scan) {
    for (const char *p = scan; (p = strchr(p, '_')); p++) {
        if (strncasecmp(p, "_pat", 4) != 0) continue;
        size_t digits = strspn(p + 4, DIGITS), visit = part(p + 4 + digits, "_", DIGITS);
        if (digits && visit && !p[4 + digits + visit]) return (size_t)(p - scan) + 4 + digits;
    }
    return 0;
}

static size_t before_last_part(const char *scan) {
    size_t name = 7, place, patient;
    if (strncasecmp(scan, "Brats1", 6) != 0 || !strchr("789", scan[6]) || !scan[6]) return 0;
    if (!(place = part(scan + name, "_", EITHER)) || !(patient = part(scan + name + place, "_", EITHER))) return 0;
    size_t length = name + place + patient, number = part(scan + length, "_", DIGITS);
    return number && !scan[length + number] ? length : 0;
}

static size_t before_session(const char *scan) {
    size_t length = strncasecmp(scan, "sub", 3) == 0 ? part(scan + 3, "-", EITHER) : 0;
    return length && scan[3 + length] == '_' ? 3 + length : 0;
}

size_t cp_patient_length(const char *scan) {
    size_t length = before_scan_number(scan);
    if (!length) length = before_date(scan);
    if (!length) length = before_visit(scan);
    if (!length) length = before_last_part(scan);
    if (!length) length = before_session(scan);
    return length ? length : strlen(scan);
}

/* ---- a list: whose scans they are ---- */

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

/* ---- splits ---- */

static int place_of_largest(const int64_t *numbers) {
    int largest = 0;
    for (int s = 1; s < CP_IMAGES_SPLITS; s++)
        if (numbers[s] > numbers[largest]) largest = s;
    return largest;
}

bool cp_patients_counts(int patients, const int shares[CP_IMAGES_SPLITS], int counts[CP_IMAGES_SPLITS], cp_status *status) {
    int64_t sum = 0, left = patients, whole[CP_IMAGES_SPLITS], remainders[CP_IMAGES_SPLITS];
    if (patients < CP_IMAGES_SPLITS)
        return cp_fail(status, "%d patient%s cannot be split into train, val and test; at least three are needed", patients,
                       patients == 1 ? "" : "s");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) sum += shares[s];
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        whole[s] = (int64_t)patients * shares[s] / sum;
        remainders[s] = (int64_t)patients * shares[s] % sum;
        left -= whole[s];
    }
    for (; left > 0; left--) {
        int s = place_of_largest(remainders);
        whole[s]++, remainders[s] = -1;
    }
    for (int s = 0; s < CP_IMAGES_SPLITS; s++)
        if (whole[s] == 0) whole[place_of_largest(whole)]--, whole[s]++;
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) counts[s] = (int)whole[s];
    return true;
}

bool cp_patients_split(int patients, const int shares[CP_IMAGES_SPLITS], uint64_t seed, int *splits, cp_status *status) {
    int counts[CP_IMAGES_SPLITS];
    if (!cp_patients_counts(patients, shares, counts, status)) return false;
    int *order = malloc((size_t)patients * sizeof *order);
    if (!order) return cp_fail(status, "not enough memory for %d patients", patients);
    cp_rng rng = cp_rng_named(seed, "patients");
    cp_rng_permutation(&rng, order, patients);
    for (int s = 0, i = 0; s < CP_IMAGES_SPLITS; s++)
        for (int k = 0; k < counts[s]; k++) splits[order[i++]] = s;
    free(order);
    return true;
}
