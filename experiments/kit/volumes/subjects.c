/* Subjects in a folder tree. */
#include "experiments/kit/volumes/subjects.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { DEEPEST = 64 }; /* folders within folders */

const char *const cp_scan_names[CP_SCANS] = {"flair", "t1", "t1ce", "t2", "seg"};

cp_scan cp_scan_named(const char *name, size_t length) {
    static const struct {
        const char *word;
        cp_scan     scan;
    } words[] = {{"flair", CP_SCAN_FLAIR}, {"t2f", CP_SCAN_FLAIR}, {"t1", CP_SCAN_T1}, {"t1n", CP_SCAN_T1}, {"t1ce", CP_SCAN_T1CE},
                 {"t1gd", CP_SCAN_T1CE},   {"t1c", CP_SCAN_T1CE},  {"t2", CP_SCAN_T2}, {"t2w", CP_SCAN_T2}, {"seg", CP_SCAN_SEG}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && strncasecmp(words[i].word, name, length) == 0) return words[i].scan;
    return CP_SCANS;
}

/* ---- lists ---- */

bool cp_subject_note_add(cp_subject_notes *notes, const char *name, const char *text) {
    cp_subject_note *more = realloc(notes->at, ((size_t)notes->count + 1) * sizeof *more);
    if (!more) return false;
    notes->at = more;
    more[notes->count] = (cp_subject_note){strdup(name), strdup(text)};
    if (more[notes->count].name && more[notes->count].text) return notes->count++, true;
    free(more[notes->count].name), free(more[notes->count].text);
    return false;
}

static void free_notes(cp_subject_notes *notes) {
    for (int i = 0; i < notes->count; i++) free(notes->at[i].name), free(notes->at[i].text);
    free(notes->at);
}

static void free_subject(cp_subject *subject) {
    free(subject->name);
    for (int s = 0; s < CP_SCANS; s++) free(subject->paths[s]);
}

void cp_subjects_free(cp_subjects *subjects) {
    if (!subjects) return;
    for (int i = 0; i < subjects->count; i++) free_subject(&subjects->at[i]);
    free(subjects->at);
    free_notes(&subjects->left_out);
    free_notes(&subjects->unused);
    free(subjects);
}

/* ---- walking ---- */

typedef struct scan_file {
    char   *subject, *folder, *path; /* owned */
    cp_scan scan;
    int     ending; /* its place among the endings */
} scan_file;

typedef struct walk {
    cp_subjects *subjects;
    scan_file   *files;
    size_t       file_count;
    struct stat *visited; /* folders */
    size_t       visited_count;
    cp_status   *status;
} walk;

static bool no_memory(walk *w) { return cp_fail(w->status, "not enough memory for the names of the files"); }

/* The length of a name without its ending, or 0 when it has none of the right ones. */
static size_t stem_of(const char *name, int *ending) {
    static const char *const endings[] = {".nii.gz", ".nii", ".hdr"};
    size_t                   length = strlen(name);
    for (int i = 0; i < 3; i++) {
        size_t tail = strlen(endings[i]);
        if (length > tail && strcasecmp(name + length - tail, endings[i]) == 0) return *ending = i, length - tail;
    }
    return 0;
}

/* Adds a file if its name is that of a scan. */
static bool add_file(walk *w, const char *folder, const char *name, const char *path) {
    int         ending = 0;
    size_t      stem = stem_of(name, &ending), mark = stem;
    const char *subject = name, *slash = strrchr(folder, '/');
    w->subjects->volumes += stem > 0;
    while (mark > 0 && !strchr("_-", name[mark - 1])) mark--;
    cp_scan scan = cp_scan_named(name + mark, stem - mark);
    size_t  length = mark ? mark - 1 : 0;
    if (scan == CP_SCANS) return true;
    if (length == 0) subject = slash ? slash + 1 : folder, length = strlen(subject);
    scan_file *more = realloc(w->files, (w->file_count + 1) * sizeof *more);
    if (!more) return no_memory(w);
    w->files = more;
    more[w->file_count] = (scan_file){strndup(subject, length), strdup(folder), strdup(path), scan, ending};
    const scan_file *added = &more[w->file_count++];
    return (added->subject && added->folder && added->path) || no_memory(w);
}

/* Whether it is the first visit to a folder; links may lead to one again. */
static bool is_new(walk *w, const struct stat *about, bool *ok) {
    for (size_t i = 0; i < w->visited_count; i++)
        if (w->visited[i].st_dev == about->st_dev && w->visited[i].st_ino == about->st_ino) return false;
    struct stat *more = realloc(w->visited, (w->visited_count + 1) * sizeof *more);
    *ok = more || no_memory(w);
    if (!more) return false;
    w->visited = more;
    more[w->visited_count++] = *about;
    return true;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static bool visit(walk *w, const char *folder, int depth);

static bool look_at(walk *w, const char *folder, const char *name, int depth) {
    struct stat about;
    size_t      room = strlen(folder) + strlen(name) + 2;
    char       *path = malloc(room);
    bool        ok = path || no_memory(w);
    if (path) snprintf(path, room, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    if (path && stat(path, &about) == 0) { /* broken links are skipped */
        if (S_ISREG(about.st_mode)) ok = add_file(w, folder, name, path);
        if (S_ISDIR(about.st_mode) && is_new(w, &about, &ok)) ok = visit(w, path, depth + 1);
    }
    free(path);
    return ok;
}

static bool visit(walk *w, const char *folder, int depth) {
    struct dirent **entries = NULL;
    int             count = depth > DEEPEST ? -1 : scandir(folder, &entries, is_visible, by_name);
    char            reason[120];
    bool            ok = true;
    if (count < 0) {
        snprintf(reason, sizeof reason, "%s", depth > DEEPEST ? "too many folders within folders" : strerror(errno));
        if (depth == 0) return cp_fail(w->status, "cannot read the folder %.300s: %s", folder, reason);
        return cp_subject_note_add(&w->subjects->left_out, folder, reason) || no_memory(w);
    }
    for (int i = 0; i < count; i++) {
        ok = ok && look_at(w, folder, entries[i]->d_name, depth);
        free(entries[i]);
    }
    free(entries);
    return ok;
}

/* ---- from files to subjects ---- */

static int by_subject(const void *a, const void *b) {
    const scan_file *x = a, *y = b;
    int              order = strcmp(x->subject, y->subject);
    if (!order) order = strcmp(x->folder, y->folder);
    if (!order) order = (x->scan > y->scan) - (x->scan < y->scan);
    if (!order) order = (x->ending > y->ending) - (x->ending < y->ending);
    return order ? order : strcmp(x->path, y->path);
}

/* The first file of each scan. Returns which scans there are. */
static unsigned choose(const scan_file *files, size_t count, const scan_file *chosen[CP_SCANS]) {
    unsigned there = 0;
    for (int s = 0; s < CP_SCANS; s++) chosen[s] = NULL;
    for (size_t i = 0; i < count; i++)
        if (!chosen[files[i].scan]) chosen[files[i].scan] = &files[i], there |= 1u << files[i].scan;
    return there;
}

static bool leave_out(walk *w, const char *name, unsigned missing) {
    char   reason[80] = "has no ";
    size_t used = strlen(reason);
    for (int s = 0, before = 0; s < CP_SCANS; s++)
        if (missing >> s & 1)
            used += (size_t)snprintf(reason + used, sizeof reason - used, "%s%s", before++ ? " and no " : "", cp_scan_names[s]);
    return cp_subject_note_add(&w->subjects->left_out, name, reason) || no_memory(w);
}

/* All files of one subject. */
static bool add_subject(walk *w, const scan_file *files, size_t count, unsigned needed) {
    const scan_file *chosen[CP_SCANS];
    unsigned         there = 0;
    for (size_t first = 0, end = 0; first < count && (there & needed) != needed; first = end) {
        while (end < count && strcmp(files[end].folder, files[first].folder) == 0) end++;
        there = choose(files + first, end - first, chosen);
    }
    if ((there & needed) != needed) there = choose(files, count, chosen);
    if ((there & needed) != needed) return leave_out(w, files->subject, needed & ~there);
    for (size_t i = 0; i < count; i++)
        if (needed >> files[i].scan & 1 && chosen[files[i].scan] != &files[i] &&
            !cp_subject_note_add(&w->subjects->unused, files->subject, files[i].path))
            return no_memory(w);
    cp_subjects *subjects = w->subjects;
    cp_subject  *more = realloc(subjects->at, ((size_t)subjects->count + 1) * sizeof *more);
    if (!more) return no_memory(w);
    subjects->at = more;
    cp_subject *added = &more[subjects->count++];
    *added = (cp_subject){.name = strdup(files->subject)};
    bool ok = added->name != NULL;
    for (int s = 0; s < CP_SCANS; s++)
        if (needed >> s & 1) ok = (added->paths[s] = strdup(chosen[s]->path)) && ok;
    return ok || no_memory(w);
}

cp_subjects *cp_subjects_find(const char *folder, unsigned needed, cp_status *status) {
    walk   w = {.subjects = calloc(1, sizeof *w.subjects), .status = status};
    size_t length = strlen(folder);
    char  *top = strdup(folder);
    while (top && length > 1 && top[length - 1] == '/') top[--length] = '\0';
    struct stat about;
    bool        ok = (w.subjects && top) || no_memory(&w);
    if (ok && stat(top, &about) == 0) is_new(&w, &about, &ok);
    ok = ok && visit(&w, top, 0);
    if (ok && w.file_count) qsort(w.files, w.file_count, sizeof *w.files, by_subject);
    for (size_t first = 0, end = 0; ok && first < w.file_count; first = end) {
        while (end < w.file_count && strcmp(w.files[end].subject, w.files[first].subject) == 0) end++;
        ok = add_subject(&w, w.files + first, end - first, needed);
    }
    for (size_t i = 0; i < w.file_count; i++) free(w.files[i].subject), free(w.files[i].folder), free(w.files[i].path);
    free(w.files), free(w.visited), free(top);
    if (ok) return w.subjects;
    cp_subjects_free(w.subjects);
    return NULL;
}
