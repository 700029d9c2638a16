/* couplet brats: what was found, as text and JSON. */
#include "experiments/brats/brats_set.h"
#include "experiments/kit/report/table.h"

#include <string.h>

static void put_counts(cp_json_writer *w, const char *key, cp_brats_counts c) {
    cp_json_put_object(w, key);
    cp_json_put_integer(w, "patients", c.patients);
    cp_json_put_integer(w, "slices", c.slices);
    cp_json_put_integer(w, "tumor", c.tumor);
    cp_json_put_end(w);
}

static cp_brats_counts count_all(const cp_brats_set *set) {
    cp_brats_counts all = {0};
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) {
        cp_brats_counts c = cp_brats_count(set, s);
        all = (cp_brats_counts){all.patients + c.patients, all.slices + c.slices, all.tumor + c.tumor};
    }
    return all;
}

static void put_slices(cp_json_writer *w, const char *key, int64_t slices, int64_t tumor) {
    cp_json_put_object(w, key);
    cp_json_put_integer(w, "slices", slices);
    cp_json_put_integer(w, "tumor", tumor);
    cp_json_put_end(w);
}

bool cp_brats_print_json(const cp_brats_set *set, const char *file, const char *sheet, cp_status *status) {
    cp_json_writer  w = {.pretty = true};
    cp_brats_counts all = count_all(set);
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
    put_slices(&w, "volumes", set->all, set->all_tumor);
    put_slices(&w, "little_brain", set->all - all.slices, set->all_tumor - all.tumor);
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

/* ---- what is not as it should be ---- */

enum { NAMES_SHOWN = 4, LINES_SHOWN = 20, LINE_ROOM = 900 };

/* Appends ", NAME", and behind the last that is shown how many more there are. */
static void name_one(char line[LINE_ROOM], int number, const char *name) {
    size_t used = strlen(line);
    if (number < NAMES_SHOWN) snprintf(line + used, LINE_ROOM - used, "%s%.150s", number ? ", " : "", name);
}

static void name_rest(char line[LINE_ROOM], int count) {
    size_t used = strlen(line);
    if (count > NAMES_SHOWN) snprintf(line + used, LINE_ROOM - used, " and %d more", count - NAMES_SHOWN);
}

static bool told_before(const cp_subject_notes *notes, int i) {
    for (int before = 0; before < i; before++)
        if (strcmp(notes->at[before].text, notes->at[i].text) == 0) return true;
    return false;
}

void cp_brats_list_left_out(FILE *file, const cp_brats_set *set) {
    const cp_subject_notes *notes = &set->left_out;
    int                     lines = 0, reasons = 0;
    for (int i = 0; i < notes->count; i++) {
        char line[LINE_ROOM] = "";
        int  same = 0;
        if (told_before(notes, i) || reasons++ >= LINES_SHOWN) continue;
        for (int k = i; k < notes->count; k++)
            if (strcmp(notes->at[k].text, notes->at[i].text) == 0) name_one(line, same++, notes->at[k].name);
        name_rest(line, same);
        cp_text_printable(line);
        fprintf(file, "left out: %s: %s\n", line, notes->at[i].text);
        lines++;
    }
    if (reasons > lines) fprintf(file, "left out for %d further reasons: --json lists them\n", reasons - lines);
}

static void list_unused(const cp_subject_notes *unused) {
    char line[LINE_ROOM] = "";
    for (int i = 0; i < unused->count; i++) name_one(line, i, unused->at[i].text);
    name_rest(line, unused->count);
    cp_text_printable(line);
    if (unused->count) printf("not used, since there is another file of the same scan: %s\n", line);
}

static void tell_turn(const cp_brats_set *set) {
    char line[LINE_ROOM] = "";
    int  others = 0;
    if (!set->turned || set->config.turn != CP_BRATS_TURN_AUTO) return;
    for (int i = 0; i < set->subjects->count; i++)
        if (set->slices[i].count > 0 && set->slices[i].upright < -CP_BRATS_LEAN)
            name_one(line, others++, set->subjects->at[i].name);
    name_rest(line, others);
    cp_text_printable(line);
    printf("%d of %d scans look upside down by their headers; all slices were turned by 180 degrees, and --turn 0 would keep "
           "them%s%s\n",
           set->upside_down, set->seen, others ? "; the others: " : "", line);
}

void cp_brats_warn(const cp_brats_set *set, const cp_options *o) {
    if (set->listed && set->listed_scans < set->scans)
        cp_complain(o, "%s names %d of %d scans; the others are given to patients by their names", set->config.patients,
                    set->listed_scans, set->scans);
    if (!set->turned && set->config.turn == CP_BRATS_TURN_AUTO && 3 * set->upside_down >= set->seen && set->upside_down > 0)
        cp_complain(
            o,
            "%d of %d scans look upside down by their headers, which is too few to be sure; look at the contact sheet, and give "
            "--turn 180 if it is so, or --turn 0 if not",
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

void cp_brats_print(const cp_brats_set *set, const char *file, const char *sheet) {
    cp_table       *table = cp_table_new(5, "split", "patients", "slices", "with tumor", "share");
    cp_brats_counts all = count_all(set);
    for (int s = 0; s < CP_IMAGES_SPLITS; s++) print_row(table, cp_images_splits[s], cp_brats_count(set, s));
    print_row(table, "all", all);
    cp_table_print(table, stdout);
    cp_table_free(table);
    if (set->scans > all.patients) printf("\n%d scans of %lld patients", set->scans, (long long)all.patients);
    printf("\n%lld of the volumes' %lld slices have too little brain and are left out, %lld of them with tumor\n",
           (long long)(set->all - all.slices), (long long)set->all, (long long)(set->all_tumor - all.tumor));
    tell_turn(set);
    cp_brats_list_left_out(stdout, set);
    list_unused(&set->subjects->unused);
    printf("the set is in %s\n", file);
    if (sheet) printf("a contact sheet, slices without tumor and then slices with it, is in %s\n", sheet);
}
