/* Patients of scans, by their names or from a list, and splits by patient. */
#include "experiments/kit/volumes/patients.h"

#include "core/io/csv.h"

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

struct cp_patient_list {
    cp_csv   csv;
    cp_names scans;
    size_t  *rows; /* (scans): of the file */
};

void cp_patient_list_free(cp_patient_list *list) {
    if (!list) return;
    cp_csv_free(&list->csv);
    cp_names_free(&list->scans);
    free(list->rows);
    free(list);
}

static bool take_all(cp_patient_list *list, const char *path, cp_status *status) {
    const cp_csv *csv = &list->csv;
    list->rows = malloc(csv->rows * sizeof *list->rows);
    if (!list->rows) return cp_fail(status, "%.200s: not enough memory", path);
    for (size_t i = 0; i < csv->rows; i++) {
        const char *scan = cp_csv_cell(csv, i, 0), *patient = csv->columns == 2 ? cp_csv_cell(csv, i, 1) : "";
        if (i == 0 && strcasecmp(patient, "patient") == 0) continue;
        if (!*scan || !*patient) return cp_fail(status, "%.200s, line %zu: expected SCAN,PATIENT", path, csv->lines[i]);
        int before = list->scans.count, number = cp_names_add(&list->scans, scan);
        if (number < 0) return cp_fail(status, "%.200s: not enough memory", path);
        if (number == before) list->rows[number] = i;
        if (strcmp(cp_csv_cell(csv, list->rows[number], 1), patient) != 0)
            return cp_fail(status, "%.200s, line %zu: %.100s is of another patient in line %zu", path, csv->lines[i], scan,
                           csv->lines[list->rows[number]]);
    }
    return true;
}

cp_patient_list *cp_patient_list_read(const char *path, cp_status *status) {
    cp_patient_list *list = calloc(1, sizeof *list);
    if (!list) return cp_null(cp_fail(status, "%.200s: not enough memory", path));
    if (cp_csv_read(path, &list->csv, status) && take_all(list, path, status)) return list;
    cp_patient_list_free(list);
    return NULL;
}

const char *cp_patient_listed(const cp_patient_list *list, const char *scan) {
    int number = list ? cp_names_find(&list->scans, scan) : -1;
    return number < 0 ? NULL : cp_csv_cell(&list->csv, list->rows[number], 1);
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

bool cp_patients_split(int patients, const int shares[CP_IMAGES_SPLITS], cp_rng *rng, int *splits, cp_status *status) {
    int counts[CP_IMAGES_SPLITS];
    cp_patients_counts(patients, shares, counts);
    int *order = malloc(((size_t)patients + 1) * sizeof *order);
    if (!order) return cp_fail(status, "not enough memory for %d patients", patients);
    cp_rng_permutation(rng, order, patients);
    for (int s = 0, i = 0; s < CP_IMAGES_SPLITS; s++)
        for (int k = 0; k < counts[s]; k++) splits[order[i++]] = s;
    free(order);
    return true;
}
