/* Patients of scans, by their names or from a list, and splits by patient. */
#include "experiments/kit/volumes/patients.h"

#include "core/io/file.h"
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
        return cp_fail(status, "%.200s, line %d: expected SCAN,PATIENT", path, number);
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
                                      "\"%.60s\" is not understood; expected are three whole numbers, not all of them 0, such as "
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
