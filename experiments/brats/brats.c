/* couplet brats: an image set of slices, with and without tumor, from a folder of NIfTI volumes. */
#include "core/io/file.h"
#include "experiments/brats/brats_set.h"
#include "experiments/commands.h"
#include "experiments/kit/data/sheet.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/run.h"

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

static bool take_settings(const cp_options *o, cp_brats_config *c) {
    cp_status status = {0};
    *c = (cp_brats_config){
        .folder = cp_argument(o, 0),
        .seed = (uint64_t)cp_option_int(o, "seed"),
        .quiet = cp_option_flag(o, "quiet"),
        .turn = (cp_brats_turn)cp_option_choice(o, "turn"),
        .patients = cp_option_text(o, "patients"),
        .slices = {.size = (int)cp_option_int(o, "size"), .tumor = cp_option_int(o, "tumor"), .brain = cp_option_real(o, "brain")}};
    return take_modality(o, &c->slices) && take_percentiles(o, &c->slices) &&
           (cp_patients_shares(cp_option_text(o, "split"), c->shares, &status) || cp_complain(o, "--split %s", status.message)) &&
           ends_in(o, "out", ".npz") && ends_in(o, "sheet", ".png");
}

/* ---- the summary as JSON ---- */

static void put_counts(cp_json_writer *w, const char *key, cp_brats_counts c) {
    cp_json_put_object(w, key);
    if (c.patients) cp_json_put_integer(w, "patients", c.patients);
    cp_json_put_integer(w, "slices", c.slices);
    cp_json_put_integer(w, "tumor", c.tumor);
    cp_json_put_end(w);
}

static bool print_json(const cp_brats_set *set, const char *file, const char *sheet, cp_status *status) {
    cp_json_writer  w = {.pretty = true};
    cp_brats_counts all = cp_brats_count(set, CP_IMAGES_SPLITS);
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "command", "brats");
    cp_json_put_string(&w, "folder", set->config.folder);
    cp_json_put_string(&w, "file", file);
    cp_json_put_string(&w, "sheet", sheet);
    cp_json_put_integer(&w, "scans", set->subjects->count);
    cp_json_put_object(&w, "splits");
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) put_counts(&w, cp_images_splits[s], cp_brats_count(set, s));
    cp_json_put_end(&w);
    put_counts(&w, "all", all);
    put_counts(&w, "volumes", (cp_brats_counts){0, set->all, set->all_tumor});
    put_counts(&w, "little_brain", (cp_brats_counts){0, set->all - all.slices, set->all_tumor - all.tumor});
    cp_json_put_integer(&w, "turn", set->turned ? 180 : 0);
    cp_json_put_integer(&w, "side_seen", set->seen);
    cp_json_put_integer(&w, "upside_down", set->upside_down);
    cp_brats_put_left_out(set, &w);
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

static void print_turn(const cp_brats_set *set) {
    char line[LINE_ROOM] = "";
    int  others = 0;
    if (!set->turned || set->config.turn != CP_BRATS_TURN_AUTO) return;
    for (int i = 0; i < set->subjects->count; i++)
        if (set->slices[i].count > 0 && set->slices[i].upright < -CP_BRATS_LEAN)
            name_one(line, others++, set->subjects->at[i].name);
    name_rest(line, others);
    printf("%d of %d scans look upside down by their headers; all slices were turned by 180 degrees, and --turn 0 would keep "
           "them%s%s\n",
           set->upside_down, set->seen, others ? "; the others: " : "", line);
}

static void warn(const cp_brats_set *set, const cp_options *o) {
    if (set->listed && set->listed_scans < set->scans)
        cp_complain(o, "%s names %d of %d scans; the others are given to patients by their names", set->config.patients,
                    set->listed_scans, set->scans);
    if (!set->turned && set->config.turn == CP_BRATS_TURN_AUTO && 3 * set->upside_down >= set->seen && set->upside_down > 0)
        cp_complain(o,
                    "%d of %d scans look upside down by their headers, which is too few to be sure; look at the contact sheet, and "
                    "give --turn 180 if it is so, or --turn 0 if not",
                    set->upside_down, set->seen);
}

/* ---- the table ---- */

static void print_row(cp_table *table, const char *name, cp_brats_counts c) {
    cp_table_text(table, "%s", name);
    cp_table_text(table, "%lld", (long long)c.patients);
    cp_table_text(table, "%lld", (long long)c.slices);
    cp_table_text(table, "%lld", (long long)c.tumor);
    cp_table_text(table, "%.1f %%", 100.0 * (double)c.tumor / (double)c.slices);
}

static void print_text(const cp_brats_set *set, const char *file, const char *sheet) {
    cp_table       *table = cp_table_new(5, "split", "patients", "slices", "with tumor", "share");
    cp_brats_counts all = cp_brats_count(set, CP_IMAGES_SPLITS);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) print_row(table, cp_images_splits[s], cp_brats_count(set, s));
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
static bool make(const cp_options *o, const cp_brats_config *config, cp_brats_set *set, cp_status *status) {
    const char    *file = cp_option_text(o, "out");
    char           room[PATH_ROOM];
    const char    *sheet = sheet_path(o, room);
    cp_npz_writer *w = cp_npz_writer_new(file, status);
    if (!w) return false;
    if ((sheet && !cp_file_writable(sheet, status)) || !cp_brats_gather(config, set, status) ||
        !cp_brats_add_arrays(set, w, status) || cp_interrupted()) {
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
    cp_brats_config config;
    cp_brats_set    set = {0};
    cp_status       status = {0};
    int             code = CP_EXIT_OK;
    if (!take_settings(o, &config)) return CP_EXIT_USAGE;
    cp_interrupts_watch();
    if (!make(o, &config, &set, &status)) {
        bool stopped = cp_interrupted() && !*status.message;
        if (!stopped && set.subjects) list_left_out(stderr, &set.subjects->left_out);
        cp_complain(o, "%s", stopped ? "interrupted; nothing was written" : status.message);
        code = stopped ? CP_EXIT_INTERRUPTED : CP_EXIT_FAILED;
    }
    cp_brats_free(&set);
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
