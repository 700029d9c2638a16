/* Patients of scans, by their names or from a list, and splits by patient. */
#include "experiments/kit/volumes/patients.h"

#include "core/io/csv.h"
#include "core/random.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The part in parentheses names the patient. */
static const char *const forms[] = {
    "^(brats-[a-z]+-[0-9]+)-[0-9]+$",
    "^(tcga[_-][a-z0-9]+[_-][a-z0-9]+)[_-][0-9]{8}$",
    "^(.*_pat[0-9]+)_[0-9]+$",
    "^(brats1[789]_[a-z0-9]+_[a-z0-9]+)_[0-9]+$",
    "^(sub-[a-z0-9]+)_",
};

size_t cp_patient_length(const char *scan) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        regex_t    form;
        regmatch_t parts[2];
        if (regcomp(&form, forms[i], REG_EXTENDED | REG_ICASE) != 0) return 0;
        bool fits = regexec(&form, scan, 2, parts, 0) == 0;
        regfree(&form);
        if (fits) return (size_t)parts[1].rm_eo;
    }
    return strlen(scan);
}

/* ---- a list of scans and their patients ---- */

typedef struct line {
    const char *scan, *patient;
    size_t      number;
} line;

struct cp_patient_list {
    cp_csv csv;
    line  *lines; /* by scan */
    size_t count;
};

void cp_patient_list_free(cp_patient_list *list) {
    if (!list) return;
    cp_csv_free(&list->csv);
    free(list->lines);
    free(list);
}

static int by_scan(const void *a, const void *b) {
    const line *x = a, *y = b;
    int         order = strcmp(x->scan, y->scan);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static bool take_all(cp_patient_list *list, const char *path, cp_status *status) {
    const cp_csv *csv = &list->csv;
    list->lines = malloc(csv->rows * sizeof *list->lines);
    if (!list->lines) return cp_fail(status, "%.200s: not enough memory", path);
    for (size_t i = 0; i < csv->rows; i++) {
        line added = {cp_csv_cell(csv, i, 0), csv->columns == 2 ? cp_csv_cell(csv, i, 1) : "", csv->lines[i]};
        if (i == 0 && strcasecmp(added.patient, "patient") == 0) continue;
        if (!*added.scan || !*added.patient) return cp_fail(status, "%.200s, line %zu: expected SCAN,PATIENT", path, added.number);
        list->lines[list->count++] = added;
    }
    if (list->count) qsort(list->lines, list->count, sizeof *list->lines, by_scan);
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->lines[i - 1].scan, list->lines[i].scan) == 0 && strcmp(list->lines[i - 1].patient, list->lines[i].patient))
            return cp_fail(status, "%.200s, line %zu: %.100s is of another patient in line %zu", path, list->lines[i].number,
                           list->lines[i].scan, list->lines[i - 1].number);
    return true;
}

cp_patient_list *cp_patient_list_read(const char *path, cp_status *status) {
    cp_patient_list *list = calloc(1, sizeof *list);
    if (!list) return cp_null(cp_fail(status, "%.200s: not enough memory", path));
    if (cp_csv_read(path, &list->csv, status) && take_all(list, path, status)) return list;
    cp_patient_list_free(list);
    return NULL;
}

static int by_name(const void *scan, const void *of_list) { return strcmp(scan, ((const line *)of_list)->scan); }

const char *cp_patient_listed(const cp_patient_list *list, const char *scan) {
    const line *found = list && list->count ? bsearch(scan, list->lines, list->count, sizeof *list->lines, by_name) : NULL;
    return found ? found->patient : NULL;
}

/* ---- splits ---- */

static int place_of_largest(const int64_t *numbers) {
    int largest = 0;
    for (int s = 1; s < CP_IMAGES_SPLITS; s++)
        if (numbers[s] > numbers[largest]) largest = s;
    return largest;
}

bool cp_patients_shares(const char *text, int shares[CP_IMAGES_SPLITS], cp_status *status) {
    const char *at = text;
    int64_t     sum = 0;
    bool        ok = true;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) {
        char *end = NULL;
        long  share = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;
        ok = share >= 0 && share <= 1000000 && *end == (s + 1 < CP_IMAGES_SPLITS ? '/' : '\0');
        if (ok) sum += shares[s] = (int)share, at = end + 1;
    }
    return (ok && sum > 0) || cp_fail(status,
                                      "\"%.60s\" is not understood; expected three whole numbers, not all of them 0, such as "
                                      "70/10/20 or 0/0/100",
                                      text);
}

void cp_patients_counts(int patients, const int shares[CP_IMAGES_SPLITS], int counts[CP_IMAGES_SPLITS]) {
    int64_t sum = 0, left = patients, whole[CP_IMAGES_SPLITS], remainders[CP_IMAGES_SPLITS];
    int     empty = 0;
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) sum += shares[s];
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        whole[s] = (int64_t)patients * shares[s] / sum;
        remainders[s] = shares[s] ? (int64_t)patients * shares[s] % sum : -1;
        left -= whole[s];
    }
    for (; left > 0; left--) {
        int s = place_of_largest(remainders);
        whole[s]++, remainders[s] = -1;
    }
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) empty += shares[s] && whole[s] == 0;
    for (; empty > 0; empty--) { /* the largest share first, while a split has two */
        int to = -1, from = place_of_largest(whole);
        for (int s = 0; s < CP_IMAGES_SPLITS; s++)
            if (shares[s] && whole[s] == 0 && (to < 0 || shares[s] > shares[to])) to = s;
        if (whole[from] > 1) whole[from]--, whole[to]++;
    }
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) counts[s] = (int)whole[s];
}

bool cp_patients_split(int patients, const int shares[CP_IMAGES_SPLITS], uint64_t seed, int *splits, cp_status *status) {
    int counts[CP_IMAGES_SPLITS];
    cp_patients_counts(patients, shares, counts);
    int *order = malloc(((size_t)patients + 1) * sizeof *order);
    if (!order) return cp_fail(status, "not enough memory for %d patients", patients);
    cp_rng rng = cp_rng_named(seed, "patients");
    cp_rng_permutation(&rng, order, patients);
    for (int s = 0, i = 0; s < CP_IMAGES_SPLITS; s++)
        for (int k = 0; k < counts[s]; k++) splits[order[i++]] = s;
    free(order);
    return true;
}
