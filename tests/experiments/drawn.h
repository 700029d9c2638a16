/* For tests of figures and reports: saves a figure into the scratch folder and returns it as text. */
#ifndef CP_TESTS_DRAWN_H
#define CP_TESTS_DRAWN_H

#include "experiments/kit/figure/figure.h"

#include "core/scratch.h"
#include "experiments/markup.h"

static cp_status status;

static inline char *text_of(const char *name) {
    cp_bytes bytes = {0};
    TEST_ASSERT_TRUE_MESSAGE(cp_file_read(scratch(name), 64 << 20, &bytes, &status), status.message);
    cp_bytes_append(&bytes, "", 1);
    return (char *)bytes.data;
}

/* Saves and frees the figure, checks what every figure must fulfill, and returns the SVG's text. */
static inline char *drawn(cp_figure *figure) {
    TEST_ASSERT_TRUE_MESSAGE(cp_figure_save(figure, scratch("figure"), &status), status.message);
    cp_figure_free(figure);
    char *text = text_of("figure.svg");
    markup_is_well_formed(text);
    TEST_ASSERT_NULL(strstr(text, "nan"));
    TEST_ASSERT_NULL(strstr(text, "inf"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "http")); /* the name of SVG itself */
    return text;
}

#endif
