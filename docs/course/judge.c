/* The verdict on an exercise: compares the report of the student's program (expect.h) with the key of the chapter. It contains no
 * code of the student, so it cannot be changed from inside an exercise.
 *
 *     judge KEY REPORT ENDED [json NAME]    ENDED says how the program ended: ok, or a sentence
 *     judge key REPORT                      prints the key that the report of a right solution gives
 *
 * Exits with 0 if everything is right, with 1 if not, and with 2 if a file cannot be read. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PRINTED: differences of a check; CHECKS: checks that are printed with theirs */
enum { LINE = 2000, FIELDS = 5, PRINTED = 3, CHECKS = 5, TEXT = 60000 };

/* One line: its kind (part, check, value, note or end) and its fields. */
typedef struct line {
    char  text[LINE];
    char *field[FIELDS]; /* "" where the line has fewer */
} line;

static bool line_read(FILE *file, line *l) {
    static char none[] = "";
    for (int i = 0; i < FIELDS; i++) l->field[i] = none;
    if (!fgets(l->text, LINE, file)) return false;
    l->text[strcspn(l->text, "\n")] = 0;
    char *at = l->text;
    for (int i = 0; i < FIELDS && at; i++) {
        l->field[i] = at;
        if ((at = strchr(at, '\t'))) *at++ = 0;
    }
    return true;
}

static bool is(const line *l, const char *kind) {
    return strcmp(l->field[0], kind) == 0;
}

/* ---- the result ---- */

static bool json, ended_early, earlier_failed; /* earlier_failed: in a part before this one, whose failures come first */
static int  right, of, part_right, part_of, missing, listed, failed;  /* failed: checks that were reached, of this part */
static char part[LINE], first_missing[LINE], said[TEXT], parts[TEXT]; /* said: the failures, in
 * text those of the first part that has any; parts: the result of each part */

static void add_text(char *to, const char *text) {
    if (strlen(to) + strlen(text) < TEXT) strcat(to, text);
}

/* A text between quotation marks. */
static const char *quoted(const char *text) {
    static char out[4][2 * LINE + 3];
    static int  turn;
    char       *to = out[turn = (turn + 1) % 4], *begin = to;
    *to++ = '"';
    for (; *text && to - begin < 2 * LINE; text++) {
        if (*text == '"' || *text == '\\') *to++ = '\\';
        *to++ = (unsigned char)*text < ' ' ? ' ' : *text;
    }
    *to++ = '"', *to = 0;
    return begin;
}

static const char *number(double x) { /* JSON has no NaN */
    static char text[2][40];
    static int  turn;
    turn = !turn;
    snprintf(text[turn], sizeof text[turn], json && !isfinite(x) ? "null" : "%.6g", x);
    return text[turn];
}

static void say_wrong(const char *check, const char *place, double expected, double received) {
    static char text[4 * LINE];
    if ((earlier_failed || failed >= CHECKS) && !json) return;
    if (json)
        snprintf(text, sizeof text, "%s\n    {\"check\": %s, \"place\": %s, \"expected\": %s, \"received\": %s}",
                 listed++ ? "," : "", quoted(check), quoted(place), number(expected), number(received));
    else
        snprintf(text, sizeof text, "%s%s: expected %s, received %s\n", check, place, number(expected), number(received));
    add_text(said, text);
}

static void say_line(const char *text) {
    if (!json && !earlier_failed && failed < CHECKS) add_text(said, text), add_text(said, "\n");
}

static void part_end(void) {
    static char text[3 * LINE];
    if (*part) {
        const char *form = json ? "%s\n    {\"part\": %s, \"right\": %d, \"of\": %d}" : "%s%-44s %3d of %d\n";
        snprintf(text, sizeof text, form, json && *parts ? "," : "", json ? quoted(part) : part, part_right, part_of);
        add_text(parts, text);
    }
    if (!json && !earlier_failed && failed > CHECKS) {
        snprintf(text, sizeof text, "and %d more checks\n", failed - CHECKS);
        add_text(said, text);
    }
    earlier_failed = earlier_failed || part_right < part_of;
    failed = 0;
    part_right = part_of = 0;
}

/* ---- the comparison ---- */

static line key, report;
static bool more_key, more_report;

static void next_key(FILE *file) {
    more_key = line_read(file, &key);
}
static void next_report(FILE *file) {
    more_report = line_read(file, &report);
}

/* Compares one check, at whose line both files are, and goes on to the next line after it in both. */
static void compare_check(FILE *keys, FILE *reports, bool reached) {
    char check[LINE];
    int  wrong = 0, places = 0;
    snprintf(check, sizeof check, "%s", key.field[1]);
    if (reached) next_report(reports);
    for (next_key(keys); more_key && is(&key, "value"); next_key(keys), places++) {
        bool   there = reached && more_report && is(&report, "value") && strcmp(report.field[1], key.field[1]) == 0;
        double expected = strtod(key.field[2], NULL), tolerance = strtod(key.field[3], NULL);
        double received = there ? strtod(report.field[4], NULL) : (double)NAN;
        bool   ok = there && fabs(expected - received) <= tolerance * fmax(1, fabs(expected));
        if (!ok && reached && wrong < PRINTED) say_wrong(check, key.field[1], expected, received);
        wrong += !ok;
        if (there) next_report(reports);
    }
    char text[LINE + 10];
    if (reached && wrong > PRINTED)
        snprintf(text, sizeof text, "  ... and %d more of %d places", wrong - PRINTED, places), say_line(text);
    for (; reached && more_report && (is(&report, "value") || is(&report, "note")); next_report(reports))
        if (wrong && is(&report, "note")) snprintf(text, sizeof text, "  %s", report.field[1]), say_line(text);
    if (!reached && !missing++) snprintf(first_missing, sizeof first_missing, "%s", check);
    of++, part_of++, failed += reached && wrong;
    right += reached && !wrong, part_right += reached && !wrong;
}

static void compare(FILE *keys, FILE *reports) {
    bool reached = true; /* so far, the report has all checks of the key, in order */
    next_key(keys), next_report(reports);
    while (more_key) {
        bool same = more_report && strcmp(key.field[0], report.field[0]) == 0 && strcmp(key.field[1], report.field[1]) == 0;
        if (!is(&key, "check")) {
            if (is(&key, "part")) part_end(), snprintf(part, sizeof part, "%s", key.field[1]);
            if (is(&key, "end") && !same) reached = false;
            if (same && reached) next_report(reports);
            next_key(keys);
            continue;
        }
        reached = reached && same;
        compare_check(keys, reports, reached);
    }
    part_end();
    ended_early = !reached && !(more_report && is(&report, "end"));
}

static int verdict(const char *ended, const char *name) {
    bool ok = strcmp(ended, "ok") == 0;
    if (ok && ended_early) ok = false, ended = "the program ended before the check was finished";
    bool all = ok && right == of && of > 0;
    if (json) {
        printf("{\n  \"exercise\": %s,\n  \"verdict\": \"%s\",\n  \"right\": %d,\n  \"of\": %d,\n  \"ended\": %s,\n", quoted(name),
               all ? "right" : "wrong", right, of, quoted(ended));
        printf("  \"not_reached\": %d,\n  \"wrong\": [%s],\n  \"parts\": [%s]\n}\n", missing, said, parts);
        return !all;
    }
    fputs(of ? said : "the key has no checks\n", stdout);
    if (missing > 0) printf("not reached: %s%s\n", first_missing, missing > 1 ? ", and all checks after it" : "");
    if (!ok) printf("%s\n", ended);
    fputs(parts, stdout);
    printf(all ? "all %d right\n" : "%d of %d right\n", all ? of : right, of);
    return !all;
}

/* The report without what was received. */
static int print_key(FILE *reports) {
    line l;
    while (line_read(reports, &l)) {
        if (is(&l, "note")) continue;
        printf("%s", l.field[0]);
        for (int i = 1; i < FIELDS - 1 && *l.field[0] != 'e' && (is(&l, "value") || i < 2); i++) printf("\t%s", l.field[i]);
        printf("\n");
    }
    return 0;
}

int main(int count, char **words) {
    bool  makes_key = count == 3 && strcmp(words[1], "key") == 0;
    FILE *keys = count > 2 && !makes_key ? fopen(words[1], "r") : NULL, *reports = count > 2 ? fopen(words[2], "r") : NULL;
    if (!reports || (!keys && !makes_key) || (count != 3 && count != 4 && count != 6)) {
        fprintf(stderr, "judge: cannot read the key or the report\n");
        return 2;
    }
    if (makes_key) return print_key(reports);
    json = count == 6;
    compare(keys, reports);
    return verdict(count > 3 ? words[3] : "ok", json ? words[5] : "");
}
