/* Checks that SVG and HTML are well formed: tags are closed in the right order, attributes are quoted and appear once, and
 * text contains no bare markup. */
#ifndef CP_TESTS_MARKUP_H
#define CP_TESTS_MARKUP_H

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct markup {
    char        open[64][24];
    int         depth;
    const char *start, *at;
} markup;

static inline void markup_fail(const markup *m, const char *what) {
    char text[300];
    snprintf(text, sizeof text, "%s at byte %ld: %.80s", what, (long)(m->at - m->start), m->at);
    TEST_FAIL_MESSAGE(text);
}

static inline void markup_text(markup *m, char end) {
    for (; *m->at && *m->at != end; m->at++) {
        if (*m->at == '<') markup_fail(m, "a bare <");
        if (*m->at == '&' && strncmp(m->at, "&amp;", 5) && strncmp(m->at, "&lt;", 4) && strncmp(m->at, "&gt;", 4) &&
            strncmp(m->at, "&quot;", 6))
            markup_fail(m, "a bare &");
    }
}

static inline void markup_attributes(markup *m) {
    char seen[24][24];
    int  count = 0;
    for (;;) {
        while (*m->at == ' ' || *m->at == '\n') m->at++;
        if (*m->at == '>' || *m->at == '/') return;
        size_t length = strcspn(m->at, "= >");
        if (length == 0 || length >= 24 || m->at[length] != '=' || m->at[length + 1] != '"')
            markup_fail(m, "an attribute that is not name=\"value\"");
        for (int i = 0; i < count; i++)
            if (strlen(seen[i]) == length && strncmp(seen[i], m->at, length) == 0) markup_fail(m, "an attribute given twice");
        if (count < 24) snprintf(seen[count++], sizeof seen[0], "%.*s", (int)length, m->at);
        m->at += length + 2;
        markup_text(m, '"');
        if (*m->at++ != '"') markup_fail(m, "an open quote");
    }
}

static inline void markup_tag(markup *m) {
    bool closing = m->at[1] == '/';
    m->at += 1 + closing;
    size_t length = strcspn(m->at, " />\n");
    char   name[24];
    if (length == 0 || length >= sizeof name) markup_fail(m, "no name of a tag");
    snprintf(name, sizeof name, "%.*s", (int)length, m->at);
    m->at += length;
    if (closing) {
        if (m->depth == 0 || strcmp(m->open[m->depth - 1], name) != 0) markup_fail(m, "an end that does not match");
        m->depth--;
    } else {
        markup_attributes(m);
        bool empty = strcmp(name, "meta") == 0 || strcmp(name, "img") == 0;
        if (*m->at == '/') empty = true, m->at++;
        if (!empty) snprintf(m->open[m->depth++], sizeof m->open[0], "%s", name);
        if (m->depth == 64) markup_fail(m, "too deep");
    }
    if (*m->at++ != '>') markup_fail(m, "no > at the end of a tag");
    if (!closing && strcmp(name, "style") == 0) m->at = strstr(m->at, "</style>");
}

static inline void markup_is_well_formed(const char *text) {
    markup m = {.start = text, .at = text};
    if (strncmp(text, "<!DOCTYPE html>", 15) == 0) m.at += 15;
    while (*m.at) {
        if (*m.at == '<')
            markup_tag(&m);
        else {
            const char *before = m.at;
            size_t      length = strcspn(m.at, "<");
            char       *copy = malloc(length + 1);
            memcpy(copy, before, length);
            copy[length] = '\0';
            markup part = {.start = copy, .at = copy};
            markup_text(&part, '\0');
            free(copy);
            m.at += length;
        }
    }
    TEST_ASSERT_EQUAL_INT(0, m.depth);
}

static inline int markup_count(const char *text, const char *part) {
    int count = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part)) count++;
    return count;
}

#endif
