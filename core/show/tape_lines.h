/* Lines of source files, for those who show where a node comes from. */
#ifndef CP_TAPE_LINES_H
#define CP_TAPE_LINES_H

#include "core/io/bytes.h"

enum { CP_LINES_FILES = 8 }; /* kept in memory at once */

typedef struct cp_lines {
    const char *known, *source; /* the name of a file whose text is at hand, and the text; or NULL */
    struct {
        const char *file;
        cp_bytes    text; /* empty: it cannot be read */
    } files[CP_LINES_FILES];
    int next; /* to be replaced */
} cp_lines;

typedef struct cp_source_line {
    char s[200];
} cp_source_line;

/* The line, counted from 1, without the blanks around it; "" when it cannot be had. */
cp_source_line cp_lines_get(cp_lines *lines, const char *file, int line);
void           cp_lines_free(cp_lines *lines);

#endif
