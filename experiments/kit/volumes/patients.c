/* Patients of scans, and splits by patient. */
#include "experiments/kit/volumes/patients.h"

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
