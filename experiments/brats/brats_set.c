/* couplet brats: subjects read by several threads, one volume a thread at a time, and the split by patient. */
#include "experiments/brats/brats_set.h"

#include "core/threads.h"
#include "experiments/kit/run/progress.h"
#include "experiments/kit/run/run.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void cp_brats_free(cp_brats_set *set) {
    int subjects = set->subjects ? set->subjects->count : 0;
    for (int i = 0; set->slices && i < subjects; i++) cp_slices_free(&set->slices[i]);
    for (int i = 0; set->names && i < set->patient_count; i++) free(set->names[i]);
    free(set->slices), free(set->patients), free(set->names), free(set->splits);
    cp_patient_list_free(set->listed);
    cp_subject_notes_free(&set->left_out);
    cp_subjects_free(set->subjects);
    *set = (cp_brats_set){0};
}

/* ---- reading ---- */

typedef struct reading {
    cp_brats_set   *set;
    cp_status      *reasons; /* (subjects) */
    pthread_mutex_t lock;    /* of done and progress */
    int             done;
    cp_progress     progress;
} reading;

static void read_subjects(void *context, size_t begin, size_t end) {
    reading *r = context;
    for (size_t i = begin; i < end && !cp_interrupted(); i++) {
        cp_slices_read(&r->set->subjects->at[i], &r->set->config.slices, &r->set->slices[i], &r->reasons[i]);
        pthread_mutex_lock(&r->lock);
        cp_progress_update(&r->progress, ++r->done, "");
        pthread_mutex_unlock(&r->lock);
    }
}

static bool read_all(cp_brats_set *set, cp_status *reasons) {
    int     count = set->subjects->count;
    reading r = {.set = set,
                 .reasons = reasons,
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .progress = {.label = "reading", .unit = "scans", .total = count, .quiet = set->config.quiet}};
    cp_progress_start(&r.progress);
    cp_parallel((size_t)count, 1, read_subjects, &r);
    cp_progress_end(&r.progress);
    return !cp_interrupted();
}

static bool no_memory(cp_status *status) {
    return cp_fail(status, "not enough memory for the list of subjects");
}

/* Those without their files come first, then those whose files cannot be used. */
static bool note_left_out(cp_brats_set *set, const cp_status *reasons, cp_status *status) {
    for (int i = 0; i < set->subjects->count; i++)
        if (set->slices[i].count == 0 && !cp_subject_note_add(&set->left_out, set->subjects->at[i].name, reasons[i].message))
            return no_memory(status);
    return true;
}

/* ---- which side is up ---- */

enum { VOTERS = 10 };

/* The headers decide, unless most of at least VOTERS scans look upside down: single scans err. */
static void turn(cp_brats_set *set) {
    const cp_slices_config *c = &set->config.slices;
    for (int i = 0; i < set->subjects->count; i++) {
        if (set->slices[i].count == 0) continue;
        set->seen += fabs(set->slices[i].upright) > CP_BRATS_LEAN;
        set->upside_down += set->slices[i].upright < -CP_BRATS_LEAN;
    }
    bool wrong = set->seen >= VOTERS && 4 * set->upside_down >= 3 * set->seen;
    set->turned = set->config.turn == CP_BRATS_TURN_HALF || (set->config.turn == CP_BRATS_TURN_AUTO && wrong);
    for (int i = 0; set->turned && i < set->subjects->count; i++) cp_slices_turn(&set->slices[i], c);
}

/* ---- patients ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *patient_of(const cp_brats_set *set, int subject) {
    const char *name = set->subjects->at[subject].name, *listed = cp_patient_listed(set->listed, name);
    return listed ? strdup(listed) : strndup(name, cp_patient_length(name));
}

/* The patients whose scans can be used, each once and sorted. */
static bool list_patients(cp_brats_set *set) {
    int    subjects = set->subjects->count, count = 0;
    char **names = calloc((size_t)subjects + 1, sizeof *names);
    bool   ok = names != NULL;
    for (int i = 0; ok && i < subjects; i++)
        if (set->slices[i].count > 0) ok = (names[count++] = patient_of(set, i)) != NULL;
    set->names = names;
    set->scans = set->patient_count = ok ? count : 0;
    if (!ok) return false;
    qsort(names, (size_t)count, sizeof *names, by_text);
    set->patient_count = 0;
    for (int i = 0; i < count; i++)
        if (set->patient_count > 0 && strcmp(names[set->patient_count - 1], names[i]) == 0)
            free(names[i]);
        else
            names[set->patient_count++] = names[i];
    return true;
}

/* A list for other names would let the scans of a patient come into several splits. */
static bool list_fits(cp_brats_set *set, cp_status *status) {
    for (int i = 0; set->listed && i < set->subjects->count; i++)
        set->listed_scans += set->slices[i].count > 0 && cp_patient_listed(set->listed, set->subjects->at[i].name);
    if (!set->listed || set->listed_scans > 0) return true;
    return cp_fail(status, "%.200s names none of the scans, such as %.100s; expected are lines SCAN,PATIENT", set->config.patients,
                   set->subjects->at[0].name);
}

static bool number_patients(cp_brats_set *set) {
    int subjects = set->subjects->count;
    set->patients = malloc(((size_t)subjects + 1) * sizeof *set->patients);
    if (!set->patients) return false;
    for (int i = 0; i < subjects; i++) {
        set->patients[i] = -1;
        if (set->slices[i].count == 0) continue;
        char  *name = patient_of(set, i);
        char **found = name ? bsearch(&name, set->names, (size_t)set->patient_count, sizeof *set->names, by_text) : NULL;
        free(name);
        if (!found) return false;
        set->patients[i] = (int)(found - set->names);
    }
    return true;
}

/* ---- the set ---- */

cp_brats_counts cp_brats_count(const cp_brats_set *set, int split) {
    cp_brats_counts counts = {0};
    for (int p = 0; p < set->patient_count; p++) counts.patients += set->splits[p] == split;
    for (int i = 0; i < set->subjects->count; i++) {
        if (set->patients[i] < 0 || set->splits[set->patients[i]] != split) continue;
        counts.slices += set->slices[i].count;
        for (int k = 0; k < set->slices[i].count; k++) counts.tumor += set->slices[i].labels[k];
    }
    return counts;
}

static bool has_both_classes(const cp_brats_set *set, cp_status *status) {
    cp_brats_counts train = cp_brats_count(set, CP_IMAGES_TRAIN);
    if (train.tumor > 0 && train.tumor < train.slices) return true;
    return cp_fail(
        status,
        "%s of the %lld slices of the %lld training patients shows a tumor; both classes are needed: try another --tumor, "
        "--brain or --seed, or more subjects",
        train.tumor ? "every one" : "none", (long long)train.slices, (long long)train.patients);
}

static bool none_usable(const cp_brats_set *set, cp_status *status) {
    const cp_slices_config *c = &set->config.slices;
    char                    wanted[64] = "";
    if (set->subjects->volumes == 0)
        return cp_fail(status, "there is no NIfTI file (.nii.gz, .nii or .hdr) in %.200s or the folders in it", set->config.folder);
    if (set->left_out.count == 0)
        return cp_fail(status,
                       "none of the %d NIfTI files in %.200s has a scan's name, such as NAME_flair.nii.gz and NAME_seg.nii.gz or "
                       "NAME-t2f.nii and NAME-seg.nii",
                       set->subjects->volumes, set->config.folder);
    for (int i = 0; i < c->channels; i++) strcat(strcat(wanted, cp_scan_names[c->scans[i]]), ", ");
    return cp_fail(status, "no subject in %.200s can be used; looked for files %sseg of one name; %d were left out",
                   set->config.folder, wanted, set->left_out.count);
}

static bool split_patients(cp_brats_set *set, cp_status *status) {
    if (!list_patients(set) || !number_patients(set)) return no_memory(status);
    if (set->patient_count == 0) return none_usable(set, status);
    if (!list_fits(set, status)) return false;
    set->splits = malloc((size_t)set->patient_count * sizeof *set->splits);
    if (!set->splits) return no_memory(status);
    for (int i = 0; i < set->subjects->count; i++) set->all += set->slices[i].all, set->all_tumor += set->slices[i].all_tumor;
    return cp_patients_split(set->patient_count, set->config.shares, set->config.seed, set->splits, status) &&
           has_both_classes(set, status);
}

bool cp_brats_gather(const cp_brats_config *config, cp_brats_set *set, cp_status *status) {
    unsigned needed = 1u << CP_SCAN_SEG;
    for (int i = 0; i < config->slices.channels; i++) needed |= 1u << config->slices.scans[i];
    *set = (cp_brats_set){.config = *config, .subjects = cp_subjects_find(config->folder, needed, status)};
    if (!set->subjects) return false;
    if (config->patients && !(set->listed = cp_patient_list_read(config->patients, status))) return false;
    set->left_out = set->subjects->left_out; /* moved: there is one list */
    set->subjects->left_out = (cp_subject_notes){0};
    cp_status *reasons = calloc((size_t)set->subjects->count + 1, sizeof *reasons);
    set->slices = calloc((size_t)set->subjects->count + 1, sizeof *set->slices);
    bool ok = (reasons && set->slices) || no_memory(status);
    ok = ok && read_all(set, reasons) && note_left_out(set, reasons, status) && split_patients(set, status);
    if (ok) turn(set);
    free(reasons);
    return ok;
}
