/* From what was typed to a value within its limits. */
#include "experiments/kit/cli/setting.h"

#include "core/io/bytes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static cp_shown_text shown(const char *text) {
    return cp_shown(text, strlen(text));
}

typedef struct allowed_text {
    char s[96];
} allowed_text;

static allowed_text allowed(const cp_option *o) {
    allowed_text text = {{0}};
    const char  *what = o->kind == CP_OPTION_INT ? "a whole number" : "a number";
    if (o->min == 0 && o->max == 0)
        snprintf(text.s, sizeof text.s, "%s", what);
    else
        snprintf(text.s, sizeof text.s, "%s from %.16g to %.16g", what, o->min, o->max);
    return text;
}

static bool within(const cp_option *o, double value) {
    return isfinite(value) && ((o->min == 0 && o->max == 0) || (value >= o->min && value <= o->max));
}

static bool refuse(const cp_option *o, const char *text, cp_status *status) {
    if (o->kind == CP_OPTION_REALS)
        return cp_fail(status, "--%s: \"%s\" is not valid; expected numbers with commas between them, each %s", o->name,
                       shown(text).text, allowed(o).s);
    return cp_fail(status, "--%s: \"%s\" is not valid; expected %s", o->name, shown(text).text, allowed(o).s);
}

/* strtod would also take leading blanks, hexadecimals and "nan". */
static bool read_number(const char *text, size_t length, double *value) {
    char copy[64], *end;
    if (length == 0 || length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (strspn(copy, "+-.0123456789eE") != length) return false;
    *value = strtod(copy, &end);
    return *end == '\0';
}

static bool set_integer(cp_setting *s, const char *text, cp_status *status) {
    char     *end;
    size_t    length = strlen(text);
    long long value;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (length > 0 && strspn(text, "+-0123456789") == length && *end == '\0' && errno == 0 && within(s->option, (double)value)) {
        s->integer = value;
        return true;
    }
    double real; /* 1e4 and 10000.0 are whole numbers too */
    if (!read_number(text, length, &real) || fabs(real) > 9007199254740991.0 || real != floor(real) || !within(s->option, real))
        return refuse(s->option, text, status);
    s->integer = (int64_t)real;
    return true;
}

static bool set_list(cp_setting *s, const char *text, cp_status *status) {
    int commas = 0;
    for (const char *p = text; *p; p++) commas += *p == ',';
    double *list = malloc((size_t)(commas + 1) * sizeof *list);
    if (!list) return cp_fail(status, "--%s: not enough memory for %d numbers", s->option->name, commas + 1);
    free(s->list);
    s->list = list;
    s->list_count = 0;
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, ",");
        double value;
        if (!read_number(p, length, &value) || !within(s->option, value)) return refuse(s->option, text, status);
        list[s->list_count++] = value;
        p += length;
        if (!*p) return true;
    }
}

enum { CHOICES_MAX = 16 };

typedef struct choice_list {
    char        text[256];
    const char *word[CHOICES_MAX];
    int         count;
} choice_list;

static void split_choices(const char *choices, choice_list *list) {
    list->count = 0;
    snprintf(list->text, sizeof list->text, "%s", choices);
    for (char *p = list->text; p && list->count < CHOICES_MAX;) {
        char *bar = strchr(p, '|');
        if (bar) *bar++ = '\0';
        list->word[list->count++] = p;
        p = bar;
    }
}

static bool set_choice(cp_setting *s, const char *text, cp_status *status) {
    choice_list list;
    split_choices(s->option->choices, &list);
    for (int i = 0; i < list.count; i++)
        if (strcmp(list.word[i], text) == 0) {
            s->choice = i;
            return true;
        }
    const char *near = cp_nearest_word(text, list.word, list.count);
    return cp_fail(status, "--%s: \"%s\" is not one of %s%s%s%s", s->option->name, shown(text).text, s->option->choices,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

bool cp_setting_set(cp_setting *s, const char *text, cp_status *status) {
    s->text = text;
    switch (s->option->kind) {
    case CP_OPTION_FLAG: return true;
    case CP_OPTION_INT: return set_integer(s, text, status);
    case CP_OPTION_REAL:
        return (read_number(text, strlen(text), &s->real) && within(s->option, s->real)) || refuse(s->option, text, status);
    case CP_OPTION_REALS: return set_list(s, text, status);
    case CP_OPTION_CHOICE: return set_choice(s, text, status);
    case CP_OPTION_TEXT: return *text || cp_fail(status, "--%s: the value is empty", s->option->name);
    }
    return false;
}
