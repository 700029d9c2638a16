/* Progress lines. */
#include "experiments/kit/run/progress.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double cp_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

cp_text cp_duration_text(double seconds) {
    cp_text text;
    if (!(seconds >= 0) || seconds > 1e8)
        snprintf(text.s, sizeof text.s, "?");
    else if (seconds < 9.95)
        snprintf(text.s, sizeof text.s, "%.1f s", seconds);
    else if (seconds < 99.5)
        snprintf(text.s, sizeof text.s, "%.0f s", seconds);
    else if (seconds < 5970)
        snprintf(text.s, sizeof text.s, "%d min %02d s", (int)(seconds + 0.5) / 60, (int)(seconds + 0.5) % 60);
    else
        snprintf(text.s, sizeof text.s, "%d h %02d min", (int)(seconds + 30) / 3600, (int)(seconds + 30) / 60 % 60);
    return text;
}

void cp_progress_start(cp_progress *p) {
    if (!p->file) p->file = stderr;
    if (!p->clock) p->clock = cp_clock;
    p->terminal = isatty(fileno(p->file));
    p->started = p->clock();
    p->shown = -INFINITY;
    p->tenth = 0;
    p->open = false;
}

static int columns(FILE *file) {
    struct winsize size;
    return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void put_rate(char *text, size_t size, double rate, const char *unit) {
    if (rate >= 10)
        snprintf(text, size, "%.0f %s/s", rate, unit);
    else if (rate >= 0.1)
        snprintf(text, size, "%.2f %s/s", rate, unit);
    else
        snprintf(text, size, "%.1f s for each of the %s", 1 / rate, unit);
}

/* The text after the bar. */
static void describe(const cp_progress *p, int64_t done, const char *state, char *text, size_t size) {
    double past = p->clock() - p->started, rate = (double)(done - p->skipped) / past, left = (double)(p->total - done) / rate;
    char   speed[48] = "";
    if (past > 0 && rate > 0) put_rate(speed, sizeof speed, rate, p->unit ? p->unit : "steps");
    snprintf(text, size, "%3.0f %%  %s%s%s  %.40s%s", p->total > 0 ? 100.0 * (double)done / (double)p->total : 100.0, speed,
             *state ? "  " : "", state, past > 0 && rate > 0 ? cp_duration_text(left).s : "", past > 0 && rate > 0 ? " left" : "");
}

static void show_bar(cp_progress *p, int64_t done, const char *text) {
    enum { MAX = 30, USUAL_TEXT = 54 };
    char bar[MAX + 1];
    int  length = (int)strlen(text), room = columns(p->file) - (int)strlen(p->label) - 6;
    int  width = room - (length > USUAL_TEXT ? length : USUAL_TEXT); /* mostly the same from line to line */
    width = width > MAX ? MAX : width;
    fputs("\r\033[K", p->file);
    if (width >= 5) {
        int full = p->total > 0 ? (int)((double)done / (double)p->total * width) : width;
        memset(bar, '.', (size_t)width);
        memset(bar, '#', (size_t)(full < 0 ? 0 : full > width ? width : full));
        bar[width] = '\0';
        fprintf(p->file, "%s [%s] %s", p->label, bar, text);
    } else {
        fprintf(p->file, "%.*s", columns(p->file) - 1, text);
    }
    fflush(p->file);
    p->open = true;
}

void cp_progress_update(cp_progress *p, int64_t done, const char *state) {
    char   text[240];
    double now = p->quiet ? 0 : p->clock();
    if (p->quiet) return;
    int  tenth = p->total > 0 ? (int)(10.0 * (double)done / (double)p->total) : 10;
    bool due = p->terminal ? now - p->shown >= 0.1 || done >= p->total
                           : tenth > p->tenth && now - (p->shown > p->started ? p->shown : p->started) >= 10;
    if (!due) return;
    describe(p, done, state, text, sizeof text);
    if (p->terminal)
        show_bar(p, done, text);
    else
        fprintf(p->file, "%s %s\n", p->label, text), fflush(p->file);
    p->shown = now;
    p->tenth = tenth;
}

void cp_progress_end(cp_progress *p) {
    if (p->open) fputs("\r\033[K", p->file), fflush(p->file);
    p->open = false;
}
