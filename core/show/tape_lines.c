/* Lines of source files. */
#include "core/show/tape_lines.h"
#include "core/io/file.h"

#include <stdio.h>
#include <string.h>

enum { LARGEST = 4 << 20 }; /* bytes of a source file */

static const cp_bytes *text_of(cp_lines *lines, const char *file) {
    for (int i = 0; i < CP_LINES_FILES; i++)
        if (lines->files[i].file && strcmp(lines->files[i].file, file) == 0) return &lines->files[i].text;
    int i = lines->next;
    lines->next = (i + 1) % CP_LINES_FILES;
    lines->files[i].file = file;
    cp_bytes_free(&lines->files[i].text);
    if (!cp_file_read(file, LARGEST, &lines->files[i].text, NULL)) cp_bytes_free(&lines->files[i].text);
    return &lines->files[i].text;
}

cp_source_line cp_lines_get(cp_lines *lines, const char *file, int line) {
    cp_source_line found = {""};
    const char    *from, *end;
    if (!file || line < 1) return found;
    if (lines->known && lines->source && strcmp(lines->known, file) == 0) {
        from = lines->source;
        end = from + strlen(from);
    } else {
        const cp_bytes *text = text_of(lines, file);
        if (!text->size) return found;
        from = (const char *)text->data;
        end = from + text->size;
    }
    for (; line > 1 && from; line--) {
        from = memchr(from, '\n', (size_t)(end - from));
        if (from) from++;
    }
    if (!from) return found;
    const char *stop = memchr(from, '\n', (size_t)(end - from));
    if (!stop) stop = end;
    while (from < stop && (*from == ' ' || *from == '\t')) from++;
    while (from < stop && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r')) stop--;
    memcpy(found.s, from, cp_text_cut(from, (size_t)(stop - from), sizeof found.s - 1));
    return found;
}

void cp_lines_free(cp_lines *lines) {
    for (int i = 0; i < CP_LINES_FILES; i++) cp_bytes_free(&lines->files[i].text);
}
