/* couplet brats: an image set of slices, with and without tumor, from a folder of NIfTI volumes. */
#include "core/io/file.h"
#include "core/io/npz.h"
#include "core/threads.h"
#include "experiments/commands.h"
#include "experiments/kit/data/sheet.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/progress.h"
#include "experiments/kit/run/run.h"
#include "experiments/kit/volumes/patients.h"
#include "experiments/kit/volumes/slices.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "out", .kind = CP_OPTION_TEXT, .value = "SET.npz", .required = true, .help = "file for the set; an older one is replaced"},
    {.name = "modality", .kind = CP_OPTION_TEXT, .value = "SCAN,SCAN,...", .fallback = "flair",
     .help = "scans to use: flair, t1, t1ce or t2; several, up to four, become the channels of the images"},
    {.name = "size", .kind = CP_OPTION_INT, .fallback = "32", .min = 1, .max = 4096, .unit = "pixels", .help = "width and height of the images"},
    {.name = "tumor", .kind = CP_OPTION_INT, .fallback = "1", .min = 1, .max = 1e9,
     .help = "minimum number of annotated voxels (not 0 in seg) in a slice with tumor"},
    {.name = "brain", .kind = CP_OPTION_REAL, .fallback = "5", .min = 0, .max = 100, .unit = "percent",
     .help = "minimum share of brain in a slice's area; slices with less are left out; 0: keep all"},
    {.name = "percentiles", .kind = CP_OPTION_REALS, .value = "LOW,HIGH", .fallback = "1,99.5", .min = 0, .max = 100,
     .help = "percentiles of the intensities in a volume's brain that are mapped to black and white"},
    {.name = "turn", .kind = CP_OPTION_CHOICE, .choices = "auto|0|180", .fallback = "auto",
     .help = "degrees by which to turn all slices, for files whose headers are wrong about front and right; auto: 180 when three of "
             "four scans, of at least ten, show a head that is narrower behind than in front, else 0"},
    {.name = "patients", .kind = CP_OPTION_TEXT, .value = "FILE.csv",
     .help = "file of lines SCAN,PATIENT, for scans whose names do not show the patient; patients of scans not listed are read from their names"},
    {.name = "split", .kind = CP_OPTION_TEXT, .value = "TRAIN/VAL/TEST", .fallback = "70/10/20",
     .help = "shares of the patients, whole numbers; 0/0/100: all are tested"},
    {.name = "sheet", .kind = CP_OPTION_TEXT, .value = "OUT.png|none",
     .help = "file for a contact sheet of training images, first those without tumor, then those with; default: beside SET.npz"},
    {0}};
/* clang-format on */

typedef enum brats_turn { TURN_AUTO, TURN_NONE, TURN_HALF } brats_turn;

typedef struct brats_config {
    const char      *folder;
    cp_slices_config slices;
    brats_turn       turn;
    const char      *patients; /* a file with the patient of each scan, or NULL */
    int              shares[CP_IMAGES_SPLITS];
    uint64_t         seed;
    bool             quiet;
} brats_config;

static const double LEAN = 0.005; /* heads that are less upright, or upside down, than this are not counted */

typedef struct brats_counts {
    int64_t patients, slices, tumor;
} brats_counts;

typedef struct brats_set {
    brats_config     config;
    cp_subjects     *subjects;          /* scans; several may be of one patient. left_out has all that cannot be used */
    int              scans;             /* those that are used */
    cp_slices       *slices;            /* (subjects): count 0 for those that were left out */
    cp_patient_list *listed;            /* NULL: none */
    int              listed_scans;      /* of those that are used */
    int             *patients;          /* (subjects): number of the patient; -1 for those that were left out */
    cp_names         names;             /* of the patients, by their numbers, sorted */
    int             *splits;            /* (patients): train, val or test */
    int64_t          all, all_tumor;    /* slices of the volumes that were used, and those with tumor */
    int              seen, upside_down; /* scans whose orientation can be judged, as they were read, and those upside down */
    bool             turned;            /* all slices, by 180 degrees */
} brats_set;

/* ---- the settings ---- */

static bool take_modality(const cp_options *o, cp_slices_config *c) {
    const char *text = cp_option_text(o, "modality");
    for (;; text++) {
        size_t  length = strcspn(text, ",");
        cp_scan scan = cp_scan_named(text, length);
        bool    again = false;
        for (int i = 0; i < c->channels; i++) again = again || c->scans[i] == scan;
        if (scan >= CP_SCAN_SEG || again || c->channels == CP_IMAGES_CHANNELS)
            return cp_complain(
                o, "--modality \"%.60s\" is not understood; expected flair, t1, t1ce or t2, each at most once, separated by commas",
                cp_option_text(o, "modality"));
        c->scans[c->channels++] = scan;
        text += length;
        if (!*text) return true;
    }
}

static bool take_percentiles(const cp_options *o, cp_slices_config *c) {
    cp_reals p = cp_option_reals(o, "percentiles");
    if (p.count == 2 && p.at[0] < p.at[1]) return c->low = p.at[0], c->high = p.at[1], true;
    return cp_complain(o, "--percentiles needs two numbers, the lower first, such as 1,99.5");
}

/* So that a typo does not overwrite another file. */
static bool ends_in(const cp_options *o, const char *option, const char *ending) {
    const char *path = cp_option_text(o, option);
    if (!path || strcmp(path, "none") == 0 || cp_path_ends_in(path, ending)) return true;
    return cp_complain(o, "--%s %.200s: the name of the file must end in %s", option, path, ending);
}

static bool take_settings(const cp_options *o, brats_config *c) {
    cp_status status = {0};
    *c = (brats_config){
        .folder = cp_argument(o, 0),
        .seed = (uint64_t)cp_option_int(o, "seed"),
        .quiet = cp_option_flag(o, "quiet"),
        .turn = (brats_turn)cp_option_choice(o, "turn"),
        .patients = cp_option_text(o, "patients"),
        .slices = {.size = (int)cp_option_int(o, "size"), .tumor = cp_option_int(o, "tumor"), .brain = cp_option_real(o, "brain")}};
    return take_modality(o, &c->slices) && take_percentiles(o, &c->slices) &&
           (cp_patients_shares(cp_option_text(o, "split"), c->shares, &status) || cp_complain(o, "--split %s", status.message)) &&
           ends_in(o, "out", ".npz") && ends_in(o, "sheet", ".png");
}

static void brats_free(brats_set *set) {
    int subjects = set->subjects ? set->subjects->count : 0;
    for (int i = 0; set->slices && i < subjects; i++) cp_slices_free(&set->slices[i]);
    free(set->slices), free(set->patients), free(set->splits);
    cp_names_free(&set->names);
    cp_patient_list_free(set->listed);
    cp_subjects_free(set->subjects);
    *set = (brats_set){0};
}

/* ---- reading ---- */

typedef struct reading {
    brats_set      *set;
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

static bool read_all(brats_set *set, cp_status *reasons) {
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
static bool note_left_out(brats_set *set, const cp_status *reasons, cp_status *status) {
    for (int i = 0; i < set->subjects->count; i++)
        if (set->slices[i].count == 0 &&
            !cp_subject_note_add(&set->subjects->left_out, set->subjects->at[i].name, reasons[i].message))
            return no_memory(status);
    return true;
}

/* ---- orientation ---- */

enum { VOTERS = 10 };

/* The headers decide, unless most of at least VOTERS scans look upside down: single scans can be misjudged. */
static void turn(brats_set *set) {
    const cp_slices_config *c = &set->config.slices;
    for (int i = 0; i < set->subjects->count; i++) {
        if (set->slices[i].count == 0) continue;
        set->seen += fabs(set->slices[i].upright) > LEAN;
        set->upside_down += set->slices[i].upright < -LEAN;
    }
    bool wrong = set->seen >= VOTERS && 4 * set->upside_down >= 3 * set->seen;
    set->turned = set->config.turn == TURN_HALF || (set->config.turn == TURN_AUTO && wrong);
    for (int i = 0; set->turned && i < set->subjects->count; i++) cp_slices_turn(&set->slices[i], c);
}

/* ---- patients ---- */

static int patient_of(brats_set *set, int subject) {
    const char *name = set->subjects->at[subject].name, *listed = cp_patient_listed(set->listed, name);
    size_t      length = listed ? strlen(listed) : cp_patient_length(name);
    char       *patient = length || !*name ? strndup(listed ? listed : name, length) : NULL;
    int         number = patient ? cp_names_add(&set->names, patient) : -1;
    free(patient);
    return number;
}

/* Numbers the patients whose scans can be used in the order of their names. */
static bool number_patients(brats_set *set) {
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
static bool list_fits(brats_set *set, cp_status *status) {
    for (int i = 0; set->listed && i < set->subjects->count; i++)
        set->listed_scans += set->slices[i].count > 0 && cp_patient_listed(set->listed, set->subjects->at[i].name);
    if (!set->listed || set->listed_scans > 0) return true;
    return cp_fail(status, "%.200s names none of the scans, such as %.100s; expected lines SCAN,PATIENT", set->config.patients,
                   set->subjects->at[0].name);
}

/* ---- the set ---- */

/* CP_IMAGES_SPLITS: all of them. */
static brats_counts count_split(const brats_set *set, int split) {
    brats_counts counts = {0};
    bool         all = split == CP_IMAGES_SPLITS;
    for (int p = 0; p < set->names.count; p++) counts.patients += all || set->splits[p] == split;
    for (int i = 0; i < set->subjects->count; i++) {
        if (set->patients[i] < 0 || (!all && set->splits[set->patients[i]] != split)) continue;
        counts.slices += set->slices[i].count;
        for (int k = 0; k < set->slices[i].count; k++) counts.tumor += set->slices[i].labels[k];
    }
    return counts;
}

static bool has_both_classes(const brats_set *set, cp_status *status) {
    brats_counts train = count_split(set, CP_IMAGES_TRAIN);
    if (!set->config.shares[CP_IMAGES_TRAIN] || (train.tumor > 0 && train.tumor < train.slices)) return true;
    return cp_fail(status,
                   "%s of the %lld slices of the %lld training patients shows a tumor; both classes are needed: try another "
                   "--tumor, --brain or --seed, or more subjects",
                   train.tumor ? "every one" : "none", (long long)train.slices, (long long)train.patients);
}

static bool none_usable(const brats_set *set, cp_status *status) {
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

static bool split_patients(brats_set *set, cp_status *status) {
    if (!number_patients(set)) return no_memory(status);
    if (set->names.count == 0) return none_usable(set, status);
    if (!list_fits(set, status)) return false;
    set->splits = malloc((size_t)set->names.count * sizeof *set->splits);
    if (!set->splits) return no_memory(status);
    for (int i = 0; i < set->subjects->count; i++) set->all += set->slices[i].all, set->all_tumor += set->slices[i].all_tumor;
    cp_rng rng = cp_rng_named(set->config.seed, "patients");
    return cp_patients_split(set->names.count, set->config.shares, &rng, set->splits, status) && has_both_classes(set, status);
}

/* Finds and reads all subjects, and splits the patients. After false (an error, or Ctrl-C without a message) the set holds what was found
 * so far, such as the subjects left out; it must still be freed. */
static bool gather(const brats_config *config, brats_set *set, cp_status *status) {
    unsigned needed = 1u << CP_SCAN_SEG;
    for (int i = 0; i < config->slices.channels; i++) needed |= 1u << config->slices.scans[i];
    *set = (brats_set){.config = *config};
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
static void fill(brats_set *set, int split, size_t values, split_arrays *a) {
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

static bool add_split(brats_set *set, int split, cp_npz_writer *w, cp_status *status) {
    const cp_slices_config *c = &set->config.slices;
    size_t                  count = (size_t)count_split(set, split).slices, values = (size_t)c->size * (size_t)c->size, bytes;
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

static void put_settings(const brats_set *set, cp_json_writer *w) {
    const brats_config *c = &set->config;
    size_t              length = strlen(c->folder);
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

static void put_patient(const brats_set *set, int patient, cp_json_writer *w) {
    cp_json_put_object(w, NULL);
    cp_json_put_integer(w, "number", patient);
    cp_json_put_string(w, "name", set->names.at[patient]);
    cp_json_put_array(w, "scans");
    for (int i = 0; i < set->subjects->count; i++)
        if (set->patients[i] == patient) cp_json_put_string(w, NULL, set->subjects->at[i].name);
    cp_json_put_end(w);
    cp_json_put_end(w);
}

static void put_left_out(const brats_set *set, cp_json_writer *w) {
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

static void add_made(const brats_set *set, cp_npz_writer *writer) {
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
    put_left_out(set, &w);
    cp_json_put_end(&w);
    cp_npz_writer_add_json(writer, "made", &w);
}

/* After this the set has no pixels any more; errors are reported by the writer's commit, except for a lack of memory. */
static bool add_arrays(brats_set *set, cp_npz_writer *writer, cp_status *status) {
    bool ok = true;
    for (int s = 0; ok && s < CP_IMAGES_SPLITS; s++) ok = add_split(set, s, writer, status);
    if (ok) add_made(set, writer);
    return ok;
}

/* ---- the summary as JSON ---- */

static void put_counts(cp_json_writer *w, const char *key, brats_counts c) {
    cp_json_put_object(w, key);
    if (c.patients) cp_json_put_integer(w, "patients", c.patients);
    cp_json_put_integer(w, "slices", c.slices);
    cp_json_put_integer(w, "tumor", c.tumor);
    cp_json_put_end(w);
}

static bool print_json(const brats_set *set, const char *file, const char *sheet, cp_status *status) {
    cp_json_writer w = {.pretty = true};
    brats_counts   all = count_split(set, CP_IMAGES_SPLITS);
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "brats");
    cp_json_put_string(&w, "folder", set->config.folder);
    cp_json_put_string(&w, "file", file);
    cp_json_put_string(&w, "sheet", sheet);
    cp_json_put_integer(&w, "scans", set->subjects->count);
    cp_json_put_object(&w, "splits");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) put_counts(&w, cp_images_splits[s], count_split(set, s));
    cp_json_put_end(&w);
    put_counts(&w, "all", all);
    put_counts(&w, "volumes", (brats_counts){0, set->all, set->all_tumor});
    put_counts(&w, "little_brain", (brats_counts){0, set->all - all.slices, set->all_tumor - all.tumor});
    cp_json_put_integer(&w, "turn", set->turned ? 180 : 0);
    cp_json_put_integer(&w, "side_seen", set->seen);
    cp_json_put_integer(&w, "upside_down", set->upside_down);
    put_left_out(set, &w);
    cp_json_put_array(&w, "unused");
    for (int i = 0; i < set->subjects->unused.count; i++) cp_json_put_string(&w, NULL, set->subjects->unused.at[i].text);
    cp_json_put_end(&w);
    cp_json_put_end(&w);
    return cp_json_writer_print(&w, stdout, status);
}

/* ---- warnings ---- */

enum { NAMES_SHOWN = 4, LINES_SHOWN = 20, LINE_ROOM = 900 };

/* Appends ", NAME" for the first few names; name_rest then says how many more there are. */
static void name_one(char line[LINE_ROOM], int number, const char *name) {
    size_t used = strlen(line);
    if (number < NAMES_SHOWN) snprintf(line + used, LINE_ROOM - used, "%s%.150s", number ? ", " : "", name);
}

static void name_rest(char line[LINE_ROOM], int count) {
    size_t used = strlen(line);
    if (count > NAMES_SHOWN) snprintf(line + used, LINE_ROOM - used, " and %d more", count - NAMES_SHOWN);
    cp_text_printable(line);
}

static bool listed_before(const cp_subject_notes *notes, int i) {
    for (int before = 0; before < i; before++)
        if (strcmp(notes->at[before].text, notes->at[i].text) == 0) return true;
    return false;
}

static void list_left_out(FILE *file, const cp_subject_notes *notes) {
    int lines = 0, reasons = 0;
    for (int i = 0; i < notes->count; i++) {
        char line[LINE_ROOM] = "";
        int  same = 0;
        if (listed_before(notes, i) || reasons++ >= LINES_SHOWN) continue;
        for (int k = i; k < notes->count; k++)
            if (strcmp(notes->at[k].text, notes->at[i].text) == 0) name_one(line, same++, notes->at[k].name);
        name_rest(line, same);
        fprintf(file, "left out: %s: %s\n", line, notes->at[i].text);
        lines++;
    }
    if (reasons > lines) fprintf(file, "left out for %d further reasons: --json lists them\n", reasons - lines);
}

static void list_unused(const cp_subject_notes *unused) {
    char line[LINE_ROOM] = "";
    for (int i = 0; i < unused->count; i++) name_one(line, i, unused->at[i].text);
    name_rest(line, unused->count);
    if (unused->count) printf("not used, since there is another file of the same scan: %s\n", line);
}

static void print_turn(const brats_set *set) {
    char line[LINE_ROOM] = "";
    int  others = 0;
    if (!set->turned || set->config.turn != TURN_AUTO) return;
    for (int i = 0; i < set->subjects->count; i++)
        if (set->slices[i].count > 0 && set->slices[i].upright < -LEAN) name_one(line, others++, set->subjects->at[i].name);
    name_rest(line, others);
    printf("%d of %d scans look upside down by their headers; all slices were turned by 180 degrees, and --turn 0 would keep "
           "them%s%s\n",
           set->upside_down, set->seen, others ? "; the others: " : "", line);
}

static void warn(const brats_set *set, const cp_options *o) {
    if (set->listed && set->listed_scans < set->scans)
        cp_complain(o, "%s names %d of %d scans; the others are given to patients by their names", set->config.patients,
                    set->listed_scans, set->scans);
    if (!set->turned && set->config.turn == TURN_AUTO && 3 * set->upside_down >= set->seen && set->upside_down > 0)
        cp_complain(o,
                    "%d of %d scans look upside down by their headers, which is too few to be sure; look at the contact sheet, and "
                    "give --turn 180 if it is so, or --turn 0 if not",
                    set->upside_down, set->seen);
}

/* ---- the table ---- */

static void print_row(cp_table *table, const char *name, brats_counts c) {
    cp_table_text(table, "%s", name);
    cp_table_text(table, "%lld", (long long)c.patients);
    cp_table_text(table, "%lld", (long long)c.slices);
    cp_table_text(table, "%lld", (long long)c.tumor);
    if (c.slices)
        cp_table_text(table, "%.1f %%", 100.0 * (double)c.tumor / (double)c.slices);
    else
        cp_table_text(table, "-");
}

static void print_text(const brats_set *set, const char *file, const char *sheet) {
    cp_table    *table = cp_table_new(5, "split", "patients", "slices", "with tumor", "share");
    brats_counts all = count_split(set, CP_IMAGES_SPLITS);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) print_row(table, cp_images_splits[s], count_split(set, s));
    print_row(table, "all", all);
    cp_table_conclude(table, NULL, NULL, stdout);
    if (set->scans > all.patients) printf("\n%d scans of %lld patients", set->scans, (long long)all.patients);
    printf("\n%lld of the volumes' %lld slices have too little brain and are left out, %lld of them with tumor\n",
           (long long)(set->all - all.slices), (long long)set->all, (long long)(set->all_tumor - all.tumor));
    print_turn(set);
    list_left_out(stdout, &set->subjects->left_out);
    list_unused(&set->subjects->unused);
    printf("the set is in %s\n", file);
    if (sheet) printf("a contact sheet, slices without tumor and then slices with it, is in %s\n", sheet);
}

/* ---- the command ---- */

enum { PATH_ROOM = 1200 };

/* The path of the sheet: in `room`, or the option's own text; NULL: none. */
static const char *sheet_path(const cp_options *o, char room[PATH_ROOM]) {
    const char *asked = cp_option_text(o, "sheet"), *out = cp_option_text(o, "out");
    size_t      length = strlen(out);
    if (asked) return strcmp(asked, "none") == 0 ? NULL : asked;
    snprintf(room, PATH_ROOM, "%.*s.png", (int)(length < 1000 ? length - 4 : 1000), out);
    return room;
}

/* Reads the file that was written, which checks it as a user would read it. A sheet of large images has fewer of them. */
static bool write_sheet(const char *file, const char *sheet, cp_status *status) {
    enum { LARGEST = 1 << 25 }; /* pixels */
    cp_sheet_plan plan = {4, 16, .spread = true};
    cp_images    *images = cp_images_load_any(file, status);
    while (images && plan.columns > 1 && 2.0 * plan.rows * plan.columns * images->height * images->width > LARGEST)
        plan.columns > plan.rows ? (plan.columns /= 2) : (plan.rows /= 2);
    int split = CP_IMAGES_TRAIN;
    while (images && split < CP_IMAGES_TEST && !images->set->splits[split].count) split++;
    bool ok = images && cp_images_sheet(images, split, &plan, sheet, status);
    cp_images_free(images);
    return ok;
}

/* Reports files that cannot be written before the work, not after it. */
static bool make(const cp_options *o, const brats_config *config, brats_set *set, cp_status *status) {
    const char    *file = cp_option_text(o, "out");
    char           room[PATH_ROOM];
    const char    *sheet = sheet_path(o, room);
    cp_npz_writer *w = cp_npz_writer_new(file, status);
    if (!w) return false;
    if ((sheet && !cp_file_writable(sheet, status)) || !gather(config, set, status) || !add_arrays(set, w, status) ||
        cp_interrupted()) {
        cp_npz_writer_cancel(w);
        return false;
    }
    if (!cp_npz_writer_commit(w, status) || (sheet && !write_sheet(file, sheet, status))) return false;
    warn(set, o);
    if (cp_option_flag(o, "json")) return print_json(set, file, sheet, status);
    if (config->quiet)
        list_left_out(stderr, &set->subjects->left_out);
    else
        print_text(set, file, sheet);
    return true;
}

static int run(const cp_options *o) {
    brats_config config;
    brats_set    set = {0};
    cp_status    status = {0};
    int          code = CP_EXIT_OK;
    if (!take_settings(o, &config)) return CP_EXIT_USAGE;
    cp_interrupts_watch();
    if (!make(o, &config, &set, &status)) {
        bool stopped = cp_interrupted() && !*status.message;
        if (!stopped && set.subjects) list_left_out(stderr, &set.subjects->left_out);
        cp_complain(o, "%s", stopped ? "interrupted; nothing was written" : status.message);
        code = stopped ? CP_EXIT_INTERRUPTED : CP_EXIT_FAILED;
    }
    brats_free(&set);
    return code;
}

const cp_command cp_command_brats = {
    .name = "brats",
    .purpose = "make an image set, slices with and without tumor, from BraTS volumes",
    .arguments = "DIR",
    .details = "DIR is searched at any depth for subjects, named as in any year of BraTS: NAME_flair, _t1, _t1ce and _t2 with "
               "NAME_seg, or NAME-t2f, -t1n, -t1c and -t2w with NAME-seg, as .nii.gz, .nii or pairs of .hdr and .img. Axial slices "
               "become gray images, or images of several channels, of two classes: no tumor and tumor. All slices of a patient are "
               "in one split: BraTS-GLI-00000-000 is a scan of patient BraTS-GLI-00000, TCGA_CS_4941_19960909 of TCGA_CS_4941, "
               "brats_2013_pat0001_1 of brats_2013_pat0001, Brats18_TCIA01_131_1 of Brats18_TCIA01_131, sub-01_ses-1 of sub-01; "
               "any other name is a patient of its own, unless --patients names another. Subjects that cannot be used are left out "
               "and listed. The set is a file in MedMNIST's layout that train, evaluate, generate and data read; it also records "
               "each slice's patient and position, and how the set was made.",
    .example = "MICCAI_BraTS2020_TrainingData --modality flair,t1ce --out brats.npz",
    .options = options,
    .run = run,
};
