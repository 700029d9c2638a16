/* couplet brats: subjects read by several threads, one volume a thread at a time, the split by patient, and the arrays of the file. */
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
    free(set->slices), free(set->patients), free(set->splits);
    cp_names_free(&set->names);
    cp_patient_list_free(set->listed);
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

static bool no_memory(cp_status *status) { return cp_fail(status, "not enough memory for the list of subjects"); }

/* After those that lack files, lists those whose files cannot be used. */
static bool note_left_out(cp_brats_set *set, const cp_status *reasons, cp_status *status) {
    for (int i = 0; i < set->subjects->count; i++)
        if (set->slices[i].count == 0 &&
            !cp_subject_note_add(&set->subjects->left_out, set->subjects->at[i].name, reasons[i].message))
            return no_memory(status);
    return true;
}

/* ---- orientation ---- */

enum { VOTERS = 10 };

/* The headers decide, unless most of at least VOTERS scans look upside down: single scans can be misjudged. */
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

static int patient_of(cp_brats_set *set, int subject) {
    const char *name = set->subjects->at[subject].name, *listed = cp_patient_listed(set->listed, name);
    size_t      length = listed ? strlen(listed) : cp_patient_length(name);
    char       *patient = length || !*name ? strndup(listed ? listed : name, length) : NULL;
    int         number = patient ? cp_names_add(&set->names, patient) : -1;
    free(patient);
    return number;
}

/* Numbers the patients whose scans can be used in the order of their names. */
static bool number_patients(cp_brats_set *set) {
    set->patients = malloc(((size_t)set->subjects->count + 1) * sizeof *set->patients);
    bool ok = set->patients != NULL;
    for (int i = 0; ok && i < set->subjects->count; i++) {
        bool used = set->slices[i].count > 0;
        set->patients[i] = used ? patient_of(set, i) : -1;
        set->scans += used;
        ok = !used || set->patients[i] >= 0;
    }
    int *numbers = ok ? cp_names_sort(&set->names, false) : NULL;
    for (int i = 0; numbers && i < set->subjects->count; i++)
        if (set->patients[i] >= 0) set->patients[i] = numbers[set->patients[i]];
    free(numbers);
    return numbers;
}

/* A list with other names would let the scans of a patient end up in several splits. */
static bool list_fits(cp_brats_set *set, cp_status *status) {
    for (int i = 0; set->listed && i < set->subjects->count; i++)
        set->listed_scans += set->slices[i].count > 0 && cp_patient_listed(set->listed, set->subjects->at[i].name);
    if (!set->listed || set->listed_scans > 0) return true;
    return cp_fail(status, "%.200s names none of the scans, such as %.100s; expected lines SCAN,PATIENT", set->config.patients,
                   set->subjects->at[0].name);
}

/* ---- the set ---- */

cp_brats_counts cp_brats_count(const cp_brats_set *set, int split) {
    cp_brats_counts counts = {0};
    bool            all = split == CP_IMAGES_SPLITS;
    for (int p = 0; p < set->names.count; p++) counts.patients += all || set->splits[p] == split;
    for (int i = 0; i < set->subjects->count; i++) {
        if (set->patients[i] < 0 || (!all && set->splits[set->patients[i]] != split)) continue;
        counts.slices += set->slices[i].count;
        for (int k = 0; k < set->slices[i].count; k++) counts.tumor += set->slices[i].labels[k];
    }
    return counts;
}

static bool has_both_classes(const cp_brats_set *set, cp_status *status) {
    cp_brats_counts train = cp_brats_count(set, CP_IMAGES_TRAIN);
    if (!set->config.shares[CP_IMAGES_TRAIN] || (train.tumor > 0 && train.tumor < train.slices)) return true;
    return cp_fail(status,
                   "%s of the %lld slices of the %lld training patients shows a tumor; both classes are needed: try another "
                   "--tumor, --brain or --seed, or more subjects",
                   train.tumor ? "every one" : "none", (long long)train.slices, (long long)train.patients);
}

static bool none_usable(const cp_brats_set *set, cp_status *status) {
    const cp_slices_config *c = &set->config.slices;
    char                    wanted[64] = "";
    if (set->subjects->volumes == 0)
        return cp_fail(status, "there is no NIfTI file (.nii.gz, .nii or .hdr) in %.200s or its subfolders", set->config.folder);
    if (set->subjects->left_out.count == 0)
        return cp_fail(status,
                       "none of the %d NIfTI files in %.200s has a scan's name, such as NAME_flair.nii.gz and NAME_seg.nii.gz or "
                       "NAME-t2f.nii and NAME-seg.nii",
                       set->subjects->volumes, set->config.folder);
    for (int i = 0; i < c->channels; i++) strcat(strcat(wanted, cp_scan_names[c->scans[i]]), ", ");
    return cp_fail(status, "no subject in %.200s can be used; looked for files %sseg of one name; %d were left out",
                   set->config.folder, wanted, set->subjects->left_out.count);
}

static bool split_patients(cp_brats_set *set, cp_status *status) {
    if (!number_patients(set)) return no_memory(status);
    if (set->names.count == 0) return none_usable(set, status);
    if (!list_fits(set, status)) return false;
    set->splits = malloc((size_t)set->names.count * sizeof *set->splits);
    if (!set->splits) return no_memory(status);
    for (int i = 0; i < set->subjects->count; i++) set->all += set->slices[i].all, set->all_tumor += set->slices[i].all_tumor;
    cp_rng rng = cp_rng_named(set->config.seed, "patients");
    return cp_patients_split(set->names.count, set->config.shares, &rng, set->splits, status) && has_both_classes(set, status);
}

bool cp_brats_gather(const cp_brats_config *config, cp_brats_set *set, cp_status *status) {
    unsigned needed = 1u << CP_SCAN_SEG;
    for (int i = 0; i < config->slices.channels; i++) needed |= 1u << config->slices.scans[i];
    *set = (cp_brats_set){.config = *config};
    if (config->patients && !(set->listed = cp_patient_list_read(config->patients, status))) return false;
    if (!(set->subjects = cp_subjects_find(config->folder, needed, status))) return false;
    cp_status *reasons = calloc((size_t)set->subjects->count + 1, sizeof *reasons);
    set->slices = calloc((size_t)set->subjects->count + 1, sizeof *set->slices);
    bool ok = (reasons && set->slices) || no_memory(status);
    ok = ok && read_all(set, reasons) && note_left_out(set, reasons, status) && split_patients(set, status);
    if (ok) turn(set);
    free(reasons);
    return ok;
}

/* ---- the arrays of the file ---- */

/* The slices of a split, by patient, scan and level. */
typedef struct split_arrays {
    uint8_t *pixels, *labels;
    int32_t *patients, *levels;
    size_t   count;
} split_arrays;

/* Frees the pixels of each subject once they are copied, so that there are never two copies of all slices. */
static void fill(cp_brats_set *set, int split, size_t values, split_arrays *a) {
    for (int p = 0; p < set->names.count; p++)
        for (int i = 0; set->splits[p] == split && i < set->subjects->count; i++) {
            cp_slices *s = &set->slices[i];
            size_t     some = (size_t)s->count;
            if (set->patients[i] != p) continue;
            memcpy(a->pixels + a->count * values, s->pixels, some * values);
            memcpy(a->labels + a->count, s->labels, some);
            memcpy(a->levels + a->count, s->levels, some * sizeof *a->levels);
            free(s->pixels);
            s->pixels = NULL;
            for (size_t k = 0; k < some; k++) a->patients[a->count + k] = p;
            a->count += some;
        }
}

static void add(cp_npz_writer *w, int split, const char *what, cp_dtype dtype, int rank, const int64_t *dims, const void *data) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", cp_images_splits[split], what);
    cp_npz_writer_add(w, name, dtype, rank, dims, data);
}

static bool add_split(cp_brats_set *set, int split, cp_npz_writer *w, cp_status *status) {
    const cp_slices_config *c = &set->config.slices;
    size_t                  count = (size_t)cp_brats_count(set, split).slices, values = (size_t)c->size * (size_t)c->size, bytes;
    if (count == 0) return true; /* the split is missing */
    values *= (size_t)c->channels;
    split_arrays a = {cp_size_mul(count, values, &bytes) ? malloc(bytes) : NULL, malloc(count), malloc(count * sizeof *a.patients),
                      malloc(count * sizeof *a.levels), 0};
    bool ok = (a.pixels && a.labels && a.patients && a.levels) || cp_fail(status, "not enough memory for %zu slices", count);
    if (ok) {
        int64_t n = (int64_t)count, size = c->size;
        fill(set, split, values, &a);
        add(w, split, "images", CP_U8, c->channels == 1 ? 3 : 4, (int64_t[]){n, size, size, c->channels}, a.pixels);
        add(w, split, "labels", CP_U8, 2, (int64_t[]){n, 1}, a.labels);
        add(w, split, "patients", CP_I32, 1, &n, a.patients);
        add(w, split, "slices", CP_I32, 1, &n, a.levels);
    }
    free(a.pixels), free(a.labels), free(a.patients), free(a.levels);
    return ok;
}

/* ---- how it was made ---- */

static void put_settings(const cp_brats_set *set, cp_json_writer *w) {
    const cp_brats_config *c = &set->config;
    size_t                 length = strlen(c->folder);
    while (length > 1 && c->folder[length - 1] == '/') length--;
    size_t begin = length;
    while (begin > 0 && c->folder[begin - 1] != '/') begin--;
    char folder[256];
    snprintf(folder, sizeof folder, "%.*s", (int)(length - begin), c->folder + begin);
    cp_json_put_string(w, "folder", folder);
    cp_json_put_array(w, "modality");
    for (int i = 0; i < c->slices.channels; i++) cp_json_put_string(w, NULL, cp_scan_names[c->slices.scans[i]]);
    cp_json_put_end(w);
    cp_json_put_integer(w, "size", c->slices.size);
    cp_json_put_integer(w, "tumor", c->slices.tumor);
    cp_json_put_number(w, "brain", c->slices.brain);
    cp_json_put_numbers(w, "percentiles", (double[]){c->slices.low, c->slices.high}, 2);
    cp_json_put_integer(w, "turn", set->turned ? 180 : 0);
    cp_json_put_integers(w, "split", c->shares, CP_IMAGES_SPLITS);
    cp_json_put_integer(w, "seed", (int64_t)c->seed);
}

static void put_patient(const cp_brats_set *set, int patient, cp_json_writer *w) {
    cp_json_put_object(w, NULL);
    cp_json_put_integer(w, "number", patient);
    cp_json_put_string(w, "name", set->names.at[patient]);
    cp_json_put_array(w, "scans");
    for (int i = 0; i < set->subjects->count; i++)
        if (set->patients[i] == patient) cp_json_put_string(w, NULL, set->subjects->at[i].name);
    cp_json_put_end(w);
    cp_json_put_end(w);
}

void cp_brats_put_left_out(const cp_brats_set *set, cp_json_writer *w) {
    cp_json_put_array(w, "left_out");
    for (int i = 0; i < set->subjects->left_out.count; i++) {
        const cp_subject_note *note = &set->subjects->left_out.at[i];
        cp_json_put_object(w, NULL);
        cp_json_put_string(w, "name", note->name);
        cp_json_put_string(w, "reason", note->text);
        cp_json_put_end(w);
    }
    cp_json_put_end(w);
}

static void add_made(const cp_brats_set *set, cp_npz_writer *writer) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "brats");
    cp_json_put_string(&w, "version", CP_VERSION);
    put_settings(set, &w);
    cp_json_put_strings(&w, "class_names", (const char *const[]){"no tumor", "tumor"}, 2);
    cp_json_put_object(&w, "patients");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        cp_json_put_array(&w, cp_images_splits[s]);
        for (int p = 0; p < set->names.count; p++)
            if (set->splits[p] == s) put_patient(set, p, &w);
        cp_json_put_end(&w);
    }
    cp_json_put_end(&w);
    cp_brats_put_left_out(set, &w);
    cp_json_put_end(&w);
    cp_npz_writer_add_json(writer, "made", &w);
}

bool cp_brats_add_arrays(cp_brats_set *set, cp_npz_writer *writer, cp_status *status) {
    bool ok = true;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = add_split(set, s, writer, status);
    if (ok) add_made(set, writer);
    return ok;
}
