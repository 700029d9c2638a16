/* Figures and their parts: they parse, they contain what was put in, and no NaN or infinity gets in. */
#include "core/random.h"
#include "experiments/kit/figure/axis.h"
#include "experiments/kit/figure/figure_parts.h"

#include "experiments/drawn.h"
#include "tests/support/errors.h"

#include <math.h>

void setUp(void) {
    status = (cp_status){0};
    scratch_make();
}
void tearDown(void) { scratch_remove(); }

static int csv_lines(const char *kind) {
    char *text = text_of("figure.csv"), part[40];
    snprintf(part, sizeof part, ",%s,", kind);
    int count = markup_count(text, part);
    free(text);
    return count;
}

/* ---- figures ---- */

static void an_empty_figure_is_a_valid_picture(void) {
    free(drawn(cp_figure_new((cp_figure_config){0})));
    cp_figure *f = cp_figure_new((cp_figure_config){.title = "empty"});
    cp_figure_panel(f, (cp_panel_config){0});
    free(drawn(f));
}

static void every_point_with_coordinates_is_drawn(void) {
    enum { N = 120 };
    double x[N], y[N];
    cp_rng rng = cp_rng_named(1, "points");
    for (int i = 0; i < N; i++) x[i] = cp_rng_normal(&rng), y[i] = cp_rng_normal(&rng);
    x[5] = NAN, y[17] = INFINITY, x[80] = -INFINITY;
    cp_figure *f = cp_figure_new((cp_figure_config){.title = "points"});
    cp_panel  *p = cp_figure_panel(f, (cp_panel_config){.x_label = "x"});
    cp_panel_points(p, (cp_style){.color = 0}, N, x, y);
    cp_panel_points(p, (cp_style){.color = 1, .marker = CP_CIRCLE, .ring = true}, N, y, x);
    char *text = drawn(f);
    TEST_ASSERT_EQUAL_INT(2 * (N - 3), markup_count(text, "<circle"));
    TEST_ASSERT_EQUAL_INT(2 * N, csv_lines("points"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "class=\"points\" fill=\"none\""));
    free(text);
}

static void texts_are_escaped_wherever_they_come_from(void) {
    const char     *evil = "a <b> & \"c\" \x01 \xFF 'd' \xC3\xA9";
    cp_figure      *f = cp_figure_new((cp_figure_config){.title = evil});
    cp_panel_config c = {.title = evil, .x_label = evil, .y_label = evil, .x_names = &evil, .x_name_count = 1};
    cp_panel       *p = cp_figure_panel(f, c);
    cp_panel_bars(p, (cp_style){.label = evil}, 1, (double[]){1}, NULL, 0, 1);
    char *text = drawn(f);
    TEST_ASSERT_EQUAL_INT(7, markup_count(text, "a &lt;b&gt; &amp; &quot;c&quot;"));
    free(text);
}

static void titles_of_any_length_are_wrapped(void) {
    char title[1200];
    for (int word = 1; word < 400; word += 7)
        for (int width = 10; width <= 20000; width *= 10) {
            for (int i = 0; i < 1199; i++) title[i] = i % word == word - 1 ? ' ' : 'a';
            title[1199] = '\0';
            cp_figure *f = cp_figure_new((cp_figure_config){.title = title, .width = width});
            cp_figure_panel(f, (cp_panel_config){.title = title});
            char *text = drawn(f);
            TEST_ASSERT_EQUAL_INT(word == 1 ? 0 : 2, markup_count(text, "\xE2\x80\xA6</text>"));
            free(text);
        }
}

static void lines_break_at_gaps_and_carry_error_bars(void) {
    double     x[] = {0.1, 1, 10, 100, 0, 1000}, y[] = {1, 2, NAN, 4, 5, 6}, e[] = {0.1, NAN, 0.1, 0.2, 0.1, 0.1};
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    cp_panel  *p = cp_figure_panel(f, (cp_panel_config){.x_log = true});
    cp_panel_line(p, (cp_style){.color = 1, .label = "line"}, 6, x, y, e);
    char *text = drawn(f), *line = strstr(text, "class=\"line\""), *path = strstr(line, "d=\"");
    *strchr(path + 3, '"') = '\0';
    TEST_ASSERT_EQUAL_INT(3, markup_count(path, "M"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(path, "L"));
    TEST_ASSERT_EQUAL_INT(3, markup_count(strstr(path + strlen(path) + 1, "class=\"errors\""), "V"));
    free(text);
}

static void a_band_lies_between_its_values_and_breaks_at_gaps(void) {
    double     x[] = {0, 1, 2, 3, 4, 5, 6}, low[] = {1, 1, 1, NAN, 1, 1, 1}, high[] = {2, 3, 2, 2, 2, INFINITY, 5};
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    cp_panel_band(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){.label = "sd"}, 7, x, low, high);
    cp_panel_band(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 0, NULL, NULL, NULL);
    char *text = drawn(f), *band = strstr(text, "class=\"band\"");
    *strstr(band, "</g>") = '\0';
    TEST_ASSERT_EQUAL_INT(1, markup_count(band, "<path")); /* values alone between gaps have no area */
    TEST_ASSERT_EQUAL_INT(5, markup_count(band, "L"));
    TEST_ASSERT_EQUAL_INT(7, csv_lines("band"));
    free(text);
}

static void bars_boxes_and_histograms_have_the_right_shapes(void) {
    const char *names[] = {"one", "two", "three"};
    double      values[101];
    for (int i = 0; i < 101; i++) values[i] = i;
    values[100] = 1000;
    cp_figure *f = cp_figure_new((cp_figure_config){.columns = 2});
    cp_panel  *p = cp_figure_panel(f, (cp_panel_config){.x_names = names, .x_name_count = 3});
    cp_panel_bars(p, (cp_style){.color = 0}, 3, (double[]){1, -2, 3}, (double[]){.1, .1, .1}, 0, 2);
    cp_panel_bars(p, (cp_style){.color = 1}, 3, (double[]){2, NAN, 3}, NULL, 1, 2);
    p = cp_figure_panel(f, (cp_panel_config){0});
    cp_panel_box(p, (cp_style){.color = 2}, 0, 101, values, 0, 1);
    cp_panel_box(p, (cp_style){.color = 2}, 1, 0, values, 0, 1);
    p = cp_figure_panel(f, (cp_panel_config){0});
    cp_panel_histogram(p, (cp_style){.color = 3}, 101, values, (cp_bins){.count = 8});
    char *text = drawn(f);
    /* the background; three frames and their clips; bars 3 + 2; one box; eight bins */
    TEST_ASSERT_EQUAL_INT(1 + 6 + 5 + 1 + 8, markup_count(text, "<rect"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<circle"));
    char *csv = text_of("figure.csv");
    TEST_ASSERT_NOT_NULL(strstr(csv, ",histogram,0,100,,125\n"));
    TEST_ASSERT_NOT_NULL(strstr(csv, ",histogram,875,1,,125\n"));
    free(csv);
    free(text);
}

/* Quartiles 2.25, 4.5 and 6.75: 14 is beyond 6.75 + 1.5 * 4.5 and is drawn as a point; the whiskers end at 1 and 9. */
static void a_box_has_its_quartiles_median_and_whiskers(void) {
    double     values[] = {5, 1, 2, 14, 4, NAN, 3, 9, 6, 7, 2}, top, height, middle, min, low, high, max, point;
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    cp_panel_box(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 0, 11, values, 0, 1);
    char *text = drawn(f), *box = strstr(text, "class=\"box\""), *rect = strstr(box, "<rect");
    TEST_ASSERT_EQUAL_INT(4, sscanf(strstr(box, "<path"), "<path d=\"M%*f %lfV%lfM%*f %lfV%lf", &min, &low, &high, &max));
    TEST_ASSERT_EQUAL_INT(2, sscanf(rect, "<rect x=\"%*f\" y=\"%lf\" width=\"%*f\" height=\"%lf\"", &top, &height));
    TEST_ASSERT_EQUAL_INT(1, sscanf(strstr(rect, "<path"), "<path d=\"M%*f %lfH", &middle));
    TEST_ASSERT_EQUAL_INT(1, sscanf(strstr(rect, "<circle"), "<circle cx=\"%*f\" cy=\"%lf\"", &point));
    double unit = (min - max) / (9 - 1); /* in pixels; y points downward */
    TEST_ASSERT_DOUBLE_WITHIN(0.02, unit * (2.25 - 1), min - low);
    TEST_ASSERT_DOUBLE_WITHIN(0.02, unit * (4.5 - 1), min - middle);
    TEST_ASSERT_DOUBLE_WITHIN(0.02, unit * (6.75 - 1), min - high);
    TEST_ASSERT_DOUBLE_WITHIN(0.02, unit * (14 - 1), min - point);
    TEST_ASSERT_DOUBLE_WITHIN(0.02, high, top);
    TEST_ASSERT_DOUBLE_WITHIN(0.02, low - high, height);
    TEST_ASSERT_EQUAL_INT(1, markup_count(box, "<circle"));
    free(text);
}

enum { SIDE = 81 };

static cp_grid cone(double *values) {
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++) {
            double x = -2 + 4.0 * i / (SIDE - 1), y = -2 + 4.0 * j / (SIDE - 1);
            values[j * SIDE + i] = -sqrt(x * x + y * y);
        }
    return (cp_grid){SIDE, SIDE, -2, 2, -2, 2, values};
}

static void grids_are_drawn_as_bands_and_contours(void) {
    static double values[SIDE * SIDE];
    cp_grid       grid = cone(values);
    cp_figure    *f = cp_figure_new((cp_figure_config){0});
    cp_panel     *p = cp_figure_panel(f, (cp_panel_config){.equal = true});
    cp_panel_fill(p, (cp_style){.label = "height"}, &grid, CP_RAMP_TWO, 5, -2, 0);
    cp_panel_contours(p, (cp_style){.color = 6}, &grid, 3, (double[]){-1, -0.5, 7});
    char *text = drawn(f);
    TEST_ASSERT_EQUAL_INT(4, markup_count(text, "<path fill=\"#"));
    TEST_ASSERT_EQUAL_INT(SIDE * SIDE, csv_lines("grid"));
    TEST_ASSERT_EQUAL_INT(0, csv_lines("contours")); /* the same grid */
    char *contours = strstr(text, "class=\"contours\"");
    TEST_ASSERT_EQUAL_INT(2, markup_count(contours, "Z\"/>"));
    free(text);
}

static void a_legend_has_each_label_once(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    for (int k = 0; k < 3; k++) {
        cp_panel *p = cp_figure_panel(f, (cp_panel_config){0});
        cp_panel_points(p, (cp_style){.label = "class 1"}, 1, (double[]){k}, (double[]){1});
        cp_panel_level(p, (cp_style){.color = 6, .label = "limit"}, 2);
    }
    char *text = drawn(f);
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, ">class 1<"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, ">limit<"));
    free(text);
}

/* The coordinates of a text. */
static void find_text(const char *text, const char *what, double *x, double *y) {
    char shown[80];
    snprintf(shown, sizeof shown, ">%s</text>", what);
    const char *at = strstr(text, shown);
    TEST_ASSERT_NOT_NULL_MESSAGE(at, what);
    while (strncmp(at, "<text", 5) != 0) at--;
    TEST_ASSERT_EQUAL_INT(2, sscanf(at, "<text x=\"%lf\" y=\"%lf\"", x, y));
}

static void labels_of_one_panel_are_below_it_and_those_of_several_below_all(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){.columns = 2});
    double     x[4], y[4];
    for (int k = 0; k < 3; k++) {
        cp_panel *p = cp_figure_panel(f, (cp_panel_config){.x_label = (const char *[]){"left", "right", "below"}[k]});
        cp_panel_level(p, (cp_style){.color = k, .label = (const char *[]){"one", "two", "three"}[k]}, k);
        cp_panel_level(p, (cp_style){.color = 5, .label = "limit"}, 9);
    }
    char *text = drawn(f);
    find_text(text, "one", &x[0], &y[0]), find_text(text, "two", &x[1], &y[1]), find_text(text, "three", &x[2], &y[2]);
    find_text(text, "limit", &x[3], &y[3]);
    TEST_ASSERT_TRUE(y[0] == y[1] && y[0] < y[2] && y[2] < y[3] && x[0] < 330 && x[1] > 330 && x[2] < 330);
    find_text(text, "left", &x[1], &y[1]), find_text(text, "below", &x[2], &y[3]);
    TEST_ASSERT_TRUE(y[1] < y[0] && y[0] + 12 < y[3] - 250); /* between the axis and the next panel */
    free(text);
}

static void boxes_of_few_values_show_all_of_them(void) {
    double values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int n = 1; n <= 8; n++) {
        cp_figure *f = cp_figure_new((cp_figure_config){0});
        cp_panel_box(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 0, n, values, 0, 1);
        char *text = drawn(f);
        TEST_ASSERT_EQUAL_INT(n < 8 ? n : 0, markup_count(text, "<circle"));
        free(text);
    }
}

static void logarithmic_axes_are_marked(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    cp_panel  *p = cp_figure_panel(f, (cp_panel_config){.x_label = "rate", .y_label = "loss", .y_log = true});
    cp_panel_points(p, (cp_style){0}, 2, (double[]){1, 2}, (double[]){1, 1000});
    char *text = drawn(f);
    TEST_ASSERT_NOT_NULL(strstr(text, ">rate<"));
    TEST_ASSERT_NOT_NULL(strstr(text, ">loss (log scale)<"));
    TEST_ASSERT_TRUE(markup_count(text, "h-2\"/>") >= 3 * 8);
    free(text);
}

/* One and two columns of a journal: the width in mm, texts of eight points or more, and low enough for a page. */
static void figures_on_paper_have_a_width_and_readable_texts(void) {
    for (int panels = 1; panels <= 6; panels += 5)
        for (int mm = 85; mm <= 178; mm += 178 - 85) {
            double     width = 0, height = 0, view = 0, right = 0;
            cp_bytes   svg = {0};
            cp_figure *f = cp_figure_new((cp_figure_config){.title = "heading"});
            for (int k = 0; k < panels; k++) {
                cp_panel *p = cp_figure_panel(f, (cp_panel_config){.title = "panel", .x_label = "step", .y_label = "loss"});
                cp_panel_line(p, (cp_style){.label = "line"}, 2, (double[]){0, 1}, (double[]){0, 1000}, NULL);
            }
            f->paper = mm;
            cp_figure_draw(f, "figure", &svg);
            cp_bytes_append(&svg, "", 1);
            const char *text = (const char *)svg.data;
            markup_is_well_formed(text);
            TEST_ASSERT_EQUAL_INT(
                3, sscanf(strstr(text, "width="), "width=\"%lfmm\" height=\"%lfmm\" viewBox=\"0 0 %lf", &width, &height, &view));
            TEST_ASSERT_TRUE(width == mm && height > 30 && height < 260);
            for (const char *at = text; (at = strstr(at, "<rect x=\"")); at++) {
                double x, w;
                TEST_ASSERT_EQUAL_INT(2, sscanf(at, "<rect x=\"%lf\" y=\"%*f\" width=\"%lf\"", &x, &w));
                right = fmax(right, x + w);
            }
            TEST_ASSERT_TRUE(right > 0.6 * view && right <= view);
            for (const char *at = text; (at = strstr(at, "font-size=\"")); at++)
                TEST_ASSERT_TRUE(strtod(at + 11, NULL) * mm / view * 72 / 25.4 > 7.9);
            TEST_ASSERT_NULL(strstr(text, ">heading<"));
            cp_bytes_free(&svg);
            cp_figure_free(f);
        }
}

static void the_same_figure_gives_the_same_bytes(void) {
    char *text[2];
    for (int k = 0; k < 2; k++) {
        cp_figure *f = cp_figure_new((cp_figure_config){.title = "same"});
        cp_panel_histogram(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 5, (double[]){1, 2, 2, 3, 9},
                           (cp_bins){.count = 4});
        text[k] = drawn(f);
    }
    TEST_ASSERT_EQUAL_STRING(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

static void an_unwritable_path_is_reported(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    TEST_ASSERT_FALSE(cp_figure_save(f, scratch("nowhere/figure"), &status));
    says(&status, "nowhere");
    cp_figure_free(f);
}

static void a_cell_map_has_its_numbers_from_the_top(void) {
    const char *names[] = {"cat", "dog", "owl"};
    double      counts[] = {50, 0, 0, 5, 40, 5, 0, 0, 0};
    cp_figure  *f = cp_figure_new((cp_figure_config){0});
    cp_panel   *p = cp_figure_panel(
          f, (cp_panel_config){.x_names = names, .x_name_count = 3, .y_names = names, .y_name_count = 3, .x_label = "predicted"});
    cp_panel_confusion(p, (cp_style){.color = 0, .label = "share of the class"}, 3, counts);
    char *text = drawn(f), *cells = strstr(text, "class=\"cells\"");
    TEST_ASSERT_NOT_NULL(cells);
    TEST_ASSERT_EQUAL_INT(2, markup_count(text, ">owl<"));
    TEST_ASSERT_EQUAL_INT(5, markup_count(cells, ">0<"));
    TEST_ASSERT_EQUAL_INT(2, markup_count(cells, ">5<"));
    TEST_ASSERT_EQUAL_INT(2, markup_count(cells, ">10 %<"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(cells, ">100 %<"));
    TEST_ASSERT_EQUAL_INT(0, markup_count(text, "class=\"grid\""));
    /* The first row, which is all correct, is at the top in the full color; its number is white. */
    char *first = strstr(cells, ">50<"), *second = strstr(cells, ">40<");
    TEST_ASSERT_TRUE(first < second);
    *first = '\0';
    TEST_ASSERT_EQUAL_INT(1, markup_count(cells, "fill=\"#0072b2\""));
    TEST_ASSERT_EQUAL_INT(1, markup_count(cells, "fill=\"#ffffff\""));
    char *csv = text_of("figure.csv");
    TEST_ASSERT_NOT_NULL(strstr(csv, ",cells,0,1,,5\n"));
    TEST_ASSERT_NOT_NULL(strstr(csv, ",cells,1,1,,40\n"));
    free(csv);
    free(text);
}

static void cells_without_numbers_or_room_have_none(void) {
    double     one[] = {NAN}, many[400];
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    for (int i = 0; i < 400; i++) many[i] = 123456 + i;
    cp_panel_cells(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 1, 1, one, 0, 1, 2);
    cp_panel_cells(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 20, 20, many, 0, 1e6, 2);
    cp_panel_cells(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 1, 2, many, 0, 0, -1);
    cp_panel_cells(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 0, 2, many, 0, 1, 0);
    char *text = drawn(f);
    TEST_ASSERT_EQUAL_INT(0, markup_count(text, ">123"));
    TEST_ASSERT_EQUAL_INT(3, markup_count(text, "class=\"cells\""));
    free(text);
}

static void a_reliability_diagram_shows_accuracy_and_gap(void) {
    double     confidence[] = {NAN, 0.3, 0.5, 0.7, 0.95}, accuracy[] = {NAN, 0.4, 0.5, 0.6, 0.8};
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    cp_panel  *p = cp_figure_panel(f, (cp_panel_config){.x_label = "confidence", .y_label = "accuracy"});
    cp_panel_reliability(p, 5, confidence, accuracy);
    p = cp_figure_panel(f, (cp_panel_config){.x_label = "confidence"});
    cp_panel_histogram(p, (cp_style){0}, 5, confidence, (cp_bins){.max = 1, .count = 15, .share = true});
    cp_panel_vertical(p, (cp_style){.label = "mean confidence"}, 0.6125);
    char *text = drawn(f), *bars = strstr(text, "class=\"spans\""), *over = strstr(bars + 1, "class=\"spans\""),
         *under = strstr(over + 1, "class=\"spans\"");
    TEST_ASSERT_EQUAL_INT(3, markup_count(text, "class=\"spans\""));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "class=\"vertical\""));
    *strstr(bars, "</g>") = *strstr(over, "</g>") = *strstr(under, "</g>") = '\0';
    TEST_ASSERT_EQUAL_INT(4, markup_count(bars, "<rect"));  /* an empty bin has none */
    TEST_ASSERT_EQUAL_INT(2, markup_count(over, "<rect"));  /* 0.7 for 0.6, and 0.95 for 0.8 */
    TEST_ASSERT_EQUAL_INT(1, markup_count(under, "<rect")); /* 0.3 for 0.4 */
    free(text);
    char *csv = text_of("figure.csv");
    TEST_ASSERT_NOT_NULL(strstr(csv, ",spans,0.8,0.95,,0.8\n"));
    TEST_ASSERT_EQUAL_INT(4, markup_count(csv, ",0.25,,0.0666666667\n")); /* four of the values are numbers */
    free(csv);
}

static void several_histograms_have_the_same_bins(void) {
    double     a[] = {-1, 0, 1, NAN}, b[] = {5, 9};
    cp_bins    bins = cp_bins_over(cp_bins_over((cp_bins){.count = 5}, 4, a), 2, b);
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    cp_panel  *p = cp_figure_panel(f, (cp_panel_config){0});
    TEST_ASSERT_TRUE(bins.min == -1 && bins.max == 9 && bins.count == 5);
    cp_panel_histogram(p, (cp_style){.color = 0, .opacity = 0.5}, 4, a, bins);
    cp_panel_histogram(p, (cp_style){.color = 1, .opacity = 0.5}, 2, b, bins);
    cp_panel_histogram(p, (cp_style){.color = 2}, 0, NULL, (cp_bins){0});
    free(drawn(f));
    char *csv = text_of("figure.csv");
    TEST_ASSERT_NOT_NULL(strstr(csv, ",histogram,-1,2,,2\n"));
    TEST_ASSERT_NOT_NULL(strstr(csv, ",histogram,7,1,,2\n")); /* the upper end belongs to the last bin */
    free(csv);
}

static void a_caption_is_available_to_screen_readers(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){.title = "T", .caption = "replaced"});
    cp_figure_caption(f, "The mean over %d repetitions & its sd.", 10);
    char *text = drawn(f);
    TEST_ASSERT_NOT_NULL(strstr(text, "<title>T</title>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "<desc>The mean over 10 repetitions &amp; its sd.</desc>"));
    free(text);
}

/* ---- light and dark ---- */

static void all_colors_stand_out_from_the_background_in_light_and_dark(void) {
    for (int i = 0; i < CP_PALETTE; i++) {
        TEST_ASSERT_TRUE(cp_contrast(cp_palette(i).light, cp_paper.light) >= 3);
        TEST_ASSERT_TRUE(cp_contrast(cp_palette(i).dark, cp_paper.dark) >= 3);
    }
    TEST_ASSERT_TRUE(cp_contrast(cp_ink.light, cp_paper.light) >= 7 && cp_contrast(cp_ink.dark, cp_paper.dark) >= 7);
    TEST_ASSERT_TRUE(fabs(cp_contrast((cp_color){0, 0, 0}, (cp_color){255, 255, 255}) - 21) < 1e-9);
}

/* There is a dark color for every light one, in the attributes of the same element, and one rule that uses them. */
static void every_color_has_a_dark_variant(void) {
    static double values[SIDE * SIDE];
    cp_grid       grid = cone(values);
    cp_figure    *f = cp_figure_new((cp_figure_config){.title = "t"});
    cp_panel     *p = cp_figure_panel(f, (cp_panel_config){.x_label = "x"});
    cp_panel_fill(p, (cp_style){.label = "f"}, &grid, CP_RAMP_ONE, 5, -2, 0);
    cp_panel_contours(p, (cp_style){.color = 6, .label = "c"}, &grid, 1, (double[]){-1});
    p = cp_figure_panel(f, (cp_panel_config){0});
    cp_panel_line(p, (cp_style){.label = "l"}, 2, (double[]){1, 2}, (double[]){1, 2}, (double[]){1, 1});
    cp_panel_bars(p, (cp_style){.label = "b"}, 1, (double[]){1}, (double[]){1}, 0, 1);
    cp_panel_box(p, (cp_style){.label = "x"}, 1, 2, (double[]){1, 2}, 0, 1);
    cp_panel_band(p, (cp_style){.label = "d"}, 2, (double[]){1, 2}, (double[]){1, 2}, (double[]){2, 3});
    cp_panel_cells(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 1, 2, (double[]){0, 1}, 0, 1, 1);
    char *text = drawn(f);
    TEST_ASSERT_EQUAL_INT(markup_count(text, "fill=\"#"), markup_count(text, "--f:#"));
    TEST_ASSERT_EQUAL_INT(markup_count(text, "stroke=\"#"), markup_count(text, "--s:#"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "prefers-color-scheme:dark"));
    free(text);
}

/* ---- axes that show the same quantity ---- */

/* A panel with one point at (x, y). */
static cp_panel *dot(cp_figure *f, cp_panel_config config, double x, double y) {
    cp_panel *p = cp_figure_panel(f, config);
    cp_panel_points(p, (cp_style){0}, 2, (double[]){0, x}, (double[]){0, y});
    return p;
}

static void axes_of_the_same_label_share_their_limits(void) {
    cp_figure      *a = cp_figure_new((cp_figure_config){0}), *b = cp_figure_new((cp_figure_config){0});
    cp_panel_config labeled = {.x_label = "steps", .y_label = "loss"}, other = {.x_label = "steps", .y_label = "accuracy"},
                    log = {.x_label = "steps", .y_label = "loss", .y_log = true},
                    fixed = {.y_label = "loss", .y_min = -1, .y_max = 7}, bare = {0};
    cp_panel *p = dot(a, labeled, 10, 100), *q = dot(b, labeled, 20, -50), *r = dot(b, other, 5, 3), *s = dot(b, log, 5, 1e6),
             *t = dot(b, fixed, 1, 1e9), *u = dot(a, bare, 500, 500);
    cp_figures_share_axes((cp_figure *[]){a, NULL, b}, 3);
    TEST_ASSERT_TRUE(p->config.y_min < -50 && p->config.y_max > 100 && p->config.y_max < 120);
    TEST_ASSERT_TRUE(p->config.y_min == q->config.y_min && p->config.y_max == q->config.y_max);
    TEST_ASSERT_TRUE(p->config.x_max == 21 && q->config.x_max == 21 && r->config.x_max == 21 && s->config.x_max == 21);
    TEST_ASSERT_TRUE(r->config.y_max < 4 && s->config.y_max > 1e6 && s->config.y_min > 0);
    TEST_ASSERT_TRUE(t->config.y_min == -1 && t->config.y_max == 7);    /* the given limits */
    TEST_ASSERT_TRUE(u->config.x_max == 525 && u->config.y_max == 525); /* no label: not shared with panels at other positions */
    cp_figure_free(a);
    cp_figure_free(b);
}

static void axes_without_a_label_are_shared_with_the_same_panel_in_other_figures(void) {
    cp_figure *a = cp_figure_new((cp_figure_config){0}), *b = cp_figure_new((cp_figure_config){0});
    cp_panel  *p = dot(a, (cp_panel_config){0}, 10, 100), *q = dot(a, (cp_panel_config){0}, 1, 1),
             *r = dot(b, (cp_panel_config){0}, 20, 60), *s = dot(b, (cp_panel_config){.y_label = "loss"}, 2, 7);
    cp_figures_share_axes((cp_figure *[]){a, b}, 2);
    TEST_ASSERT_TRUE(p->config.x_max == 21 && r->config.x_max == 21 && p->config.y_max == 105 && r->config.y_max == 105);
    TEST_ASSERT_TRUE(q->config.x_max < 3 && q->config.x_max == s->config.x_max);
    TEST_ASSERT_TRUE(q->config.y_max < 2 && s->config.y_max > 7); /* one has a label, the other has none */
    cp_figure_free(a);
    cp_figure_free(b);
}

static void axes_of_names_are_shared_only_if_the_names_are_the_same(void) {
    const char     *two[] = {"a", "b"}, *three[] = {"a", "b", "c"};
    cp_figure      *f = cp_figure_new((cp_figure_config){0});
    cp_panel_config narrow = {.x_label = "group", .y_label = "y", .x_names = two, .x_name_count = 2}, wide = narrow;
    wide.x_names = three, wide.x_name_count = 3;
    cp_panel *p = cp_figure_panel(f, narrow), *q = cp_figure_panel(f, wide);
    cp_panel_bars(p, (cp_style){0}, 2, (double[]){1, 2}, NULL, 0, 1);
    cp_panel_bars(q, (cp_style){0}, 3, (double[]){1, 2, 30}, NULL, 0, 1);
    cp_figures_share_axes(&f, 1);
    TEST_ASSERT_TRUE(p->config.x_max == 1.5 && q->config.x_max == 2.5);
    TEST_ASSERT_TRUE(p->config.y_min == 0 && p->config.y_max == 31.5 && q->config.y_max == 31.5);
    cp_figure_free(f);
}

/* ---- the description ---- */

/* A figure with every kind of mark. */
static cp_figure *everything(void) {
    static double      values[SIDE * SIDE];
    static const char *names[] = {"one", "two"};
    cp_grid            grid = cone(values);
    cp_figure *f = cp_figure_new((cp_figure_config){.title = "all <of> it", .caption = "Sentences.", .columns = 2, .width = 200});
    cp_panel  *p = cp_figure_panel(f, (cp_panel_config){.title = "grid", .equal = true, .x_min = -2, .x_max = 2});
    cp_panel_fill(p, (cp_style){.label = "height", .opacity = 0.5}, &grid, CP_RAMP_ONE, 5, -2, 0);
    cp_panel_contours(p, (cp_style){.color = 6, .dash = CP_DOTTED, .size = 1}, &grid, 2, (double[]){-1, -0.5});
    p = cp_figure_panel(f, (cp_panel_config){.y_log = true, .x_label = "x", .y_label = "y"});
    cp_panel_line(p, (cp_style){.color = 2, .marker = CP_CROSS, .label = "l"}, 3, (double[]){1, 2, 3}, (double[]){1, NAN, 100.125},
                  (double[]){0.5, 1, 2});
    cp_panel_points(p, (cp_style){.ring = true}, 1, (double[]){2}, (double[]){10});
    cp_panel_band(p, (cp_style){.color = 1, .label = "b"}, 3, (double[]){1, 2, 3}, (double[]){1, 2, 3}, (double[]){2, 3, 4});
    cp_panel_level(p, (cp_style){.label = "level"}, 3);
    cp_panel_vertical(p, (cp_style){.label = "vertical"}, 2.5);
    p = cp_figure_panel(f, (cp_panel_config){.x_names = names, .x_name_count = 2});
    cp_panel_bars(p, (cp_style){.color = 1}, 2, (double[]){1, 2}, (double[]){0.1, 0.2}, 0, 2);
    cp_panel_box(p, (cp_style){.color = 3}, 1, 5, (double[]){1, 2, 3, 4, 50}, 1, 2);
    p = cp_figure_panel(f, (cp_panel_config){0});
    cp_panel_histogram(p, (cp_style){0}, 4, (double[]){1, 2, 3, 3}, (cp_bins){.count = 3});
    cp_panel_reliability(p, 2, (double[]){0.2, 0.7}, (double[]){0.3, 0.6});
    p = cp_figure_panel(f, (cp_panel_config){.y_names = names, .y_name_count = 2, .x_names = names, .x_name_count = 2});
    cp_panel_confusion(p, (cp_style){.color = 2}, 2, (double[]){3, 1, 0, 4});
    return f;
}

static void a_figure_is_drawn_the_same_from_its_description(void) {
    char    *before = drawn(everything());
    cp_bytes svg = {0};
    cp_json *description = cp_json_read(scratch("figure.figure.json"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(description, status.message);
    cp_figure *again = cp_figure_read(description, "figure", &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(again, status.message);
    cp_figures_share_axes(&again, 1);
    cp_figure_draw(again, "figure", &svg);
    cp_bytes_append(&svg, "", 1);
    TEST_ASSERT_TRUE_MESSAGE(strcmp(before, (char *)svg.data) == 0, "the drawings differ");
    cp_figure_free(again);
    cp_json_free(description);
    cp_bytes_free(&svg);
    free(before);
}

/* Reads a description; if it describes a figure, draws it. */
static bool can_be_read(const char *text) {
    cp_json *description = cp_json_parse(text, strlen(text), "some.figure.json", NULL);
    status = (cp_status){0};
    cp_figure *f = cp_figure_read(description, "some.figure.json", &status);
    bool       read = f != NULL;
    cp_bytes   svg = {0};
    if (f) {
        cp_figure_draw(f, "some", &svg);
        TEST_ASSERT_FALSE(svg.failed);
    }
    cp_bytes_free(&svg);
    cp_figure_free(f);
    cp_json_free(description);
    return read;
}

static void descriptions_that_describe_no_figure_are_refused(void) {
    static const char *const bad[] = {
        "[]",
        "{\"width\":1e300}",
        "{\"columns\":-1}",
        "{\"panels\":[{\"series\":[{\"mark\":\"smoke\"}]}]}",
        "{\"panels\":[{\"series\":[{}]}]}",
        "{\"panels\":[{\"series\":[{\"mark\":\"points\",\"x\":[1,2]}]}]}",
        "{\"panels\":[{\"series\":[{\"mark\":\"points\",\"x\":[1,2],\"y\":[1]}]}]}",
        "{\"panels\":[{\"series\":[{\"mark\":\"points\",\"x\":[1],\"y\":[1],\"marker\":99}]}]}",
        "{\"panels\":[{\"series\":[{\"mark\":\"points\",\"x\":[1],\"y\":[1],\"places\":0}]}]}",
        "{\"panels\":[{\"series\":[{\"mark\":\"points\",\"x\":[1],\"y\":[1],\"size\":1e9}]}]}",
        "{\"panels\":[{\"series\":[{\"mark\":\"grid\",\"places\":1,\"nx\":3,\"ny\":3,\"grid\":[1,2]}]}]}",
        "{\"panels\":[{\"series\":[{\"mark\":\"grid\",\"places\":1,\"nx\":99999,\"ny\":99999}]}]}",
        "{\"panels\":[{\"series\":[{\"mark\":\"cells\",\"places\":1,\"nx\":1,\"ny\":2,\"grid\":[1,2],\"y\":[1]}]}]}",
        "{\"panels\":[{\"x_names\":7}]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_ASSERT_FALSE_MESSAGE(can_be_read(bad[i]), bad[i]);
        says(&status, "some.figure.json");
    }
    TEST_ASSERT_TRUE(can_be_read("{}"));
    TEST_ASSERT_TRUE(can_be_read("{\"panels\":[{\"series\":[]},{\"x_names\":[1,\"b\"]}]}"));
    TEST_ASSERT_TRUE(can_be_read("{\"panels\":[{\"series\":[{\"mark\":\"points\",\"places\":1,\"color\":-7,\"x\":[null,1e308],"
                                 "\"y\":[\"a\",-1e308]}]}]}"));
    TEST_ASSERT_TRUE(can_be_read("{\"panels\":[{\"series\":[{\"mark\":\"grid\",\"places\":1,\"nx\":1,\"ny\":1,\"grid\":[1]}]}]}"));
}

static void a_picture_of_tiles_is_saved_with_its_caption(void) {
    unsigned char pixels[12] = {0};
    cp_image      images[2] = {{2, 2, 3, pixels}, {2, 2, 1, pixels}};
    TEST_ASSERT_TRUE_MESSAGE(
        cp_tiles_save(scratch("samples"), "Two samples.", &(cp_tiles){.n = 2, .columns = 8, .images = images}, &status),
        status.message);
    cp_json *description = cp_json_read(scratch("samples.figure.json"), &status);
    TEST_ASSERT_EQUAL_STRING("Two samples.", cp_json_string(cp_json_get(description, "caption"), NULL));
    cp_json_free(description);
    cp_bytes png = {0};
    TEST_ASSERT_TRUE(cp_file_read(scratch("samples.png"), 1 << 20, &png, &status));
    TEST_ASSERT_EQUAL_INT(2 * 64 + 32, cp_get_be32(png.data + 16)); /* each pixel 32 times, and one as the gap */
    cp_bytes_free(&png);
    TEST_ASSERT_FALSE(cp_tiles_save(scratch("none"), NULL, &(cp_tiles){.columns = 8, .images = images}, &status));
    says(&status, "no images");
    TEST_ASSERT_FALSE(
        cp_tiles_save(scratch("nowhere/samples"), NULL, &(cp_tiles){.n = 2, .columns = 8, .images = images}, &status));
    says(&status, "nowhere");
}

static void every_printable_character_has_a_letter_of_its_own(void) {
    unsigned char seen[95][5], columns[5];
    for (char c = ' '; c <= '~'; c++) {
        int width = cp_letter(c, seen[c - ' ']), ink = 0;
        for (int i = 0; i < 5; i++) ink += seen[c - ' '][i] != 0;
        TEST_ASSERT_TRUE(width >= 1 && width <= 5 && (ink > 0) == (c != ' '));
        for (int i = 0; i < c - ' '; i++) TEST_ASSERT_TRUE(memcmp(seen[i], seen[c - ' '], 5) != 0);
    }
    TEST_ASSERT_EQUAL_INT(5, cp_letter('\n', columns));
    TEST_ASSERT_EQUAL_MEMORY(seen['?' - ' '], columns, 5);
    static const unsigned char letter_a[] = {0x7e, 0x11, 0x11, 0x11, 0x7e}, hanging[] = {0x18, 0xa4, 0xa4, 0xa4, 0x7c};
    TEST_ASSERT_EQUAL_MEMORY(letter_a, seen['A' - ' '], 5);
    TEST_ASSERT_EQUAL_MEMORY(hanging, seen['g' - ' '], 5);
}

/* The pixels of a picture of two rows and columns of gray images of 20 x 20, with these names; a pixel is ink, paper or image. */
static cp_picture named_tiles(const char *const *rows, const char *const *columns) {
    static unsigned char pixels[400];
    cp_image             images[4];
    cp_picture           picture = {0};
    cp_bytes             png = {0};
    for (int i = 0; i < 4; i++) images[i] = (cp_image){20, 20, 1, pixels};
    TEST_ASSERT_TRUE_MESSAGE(cp_tiles_write(scratch("named.png"), &(cp_tiles){4, 2, images, rows, columns}, &status),
                             status.message);
    TEST_ASSERT_TRUE(cp_file_read(scratch("named.png"), 1 << 24, &png, &status));
    TEST_ASSERT_TRUE_MESSAGE(cp_png_parse(png.data, png.size, "named.png", &picture, &status), status.message);
    cp_bytes_free(&png);
    return picture;
}

/* How many letters' pixels, of two pixels a side, are in this part of the picture. */
static int ink_in(const cp_picture *p, int x0, int y0, int x1, int y1) {
    const unsigned char *pixels = p->pixels;
    int                  ink = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) ink += pixels[((size_t)y * (size_t)p->width + (size_t)x) * 3] == 20;
    TEST_ASSERT_EQUAL_INT(0, ink % 4);
    return ink / 4;
}

static void names_stand_beside_rows_and_above_columns_and_are_cut_where_they_do_not_fit(void) {
    cp_picture bare = named_tiles(NULL, NULL);
    TEST_ASSERT_TRUE(bare.width == 2 * 80 + 4 && bare.height == bare.width); /* enlarged four times, with gaps of four */
    TEST_ASSERT_EQUAL_INT(0, ink_in(&bare, 0, 0, bare.width, bare.height));
    const char *const rows[] = {"a", NULL}, *const columns[] = {"", "ll"};
    cp_picture named = named_tiles(rows, columns);
    int        left = named.width - bare.width, top = named.height - bare.height;
    TEST_ASSERT_TRUE(left == 2 * 6 + 2 * 4 && top == 2 * CP_LETTER_ROWS + 2 * 4);
    TEST_ASSERT_EQUAL_INT(14, ink_in(&named, 0, top, left, top + 80)); /* a */
    TEST_ASSERT_EQUAL_INT(0, ink_in(&named, 0, top + 80, left, named.height));
    TEST_ASSERT_EQUAL_INT(0, ink_in(&named, 0, 0, left + 80, top));
    TEST_ASSERT_EQUAL_INT(2 * 9, ink_in(&named, left + 84, 0, named.width, top)); /* ll */
    const char *const wide[] = {"a\xC3\xA9", "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii"}, *const cut[] = {"mmmmmmmmmmmmmmmmmm", "l"};
    cp_picture shortened = named_tiles(wide, cut);
    left = shortened.width - bare.width;
    TEST_ASSERT_TRUE(left == 2 * 60 + 2 * 4);
    TEST_ASSERT_EQUAL_INT(14 + 9, ink_in(&shortened, 0, top, left, top + 80));                      /* a? */
    TEST_ASSERT_EQUAL_INT(27 * 6 + 2 * 4, ink_in(&shortened, 0, top + 80, left, shortened.height)); /* 27 i and two dots */
    TEST_ASSERT_EQUAL_INT(5 * 16 + 2 * 4, ink_in(&shortened, left, 0, left + 80, top));             /* five m and two dots */
    cp_picture_free(&bare), cp_picture_free(&named), cp_picture_free(&shortened);
}

/* ---- contours ---- */

typedef struct measured {
    double area;
    int    paths, closed;
} measured;

static void measure(void *user, const double *xy, int corners, bool closed) {
    measured *m = user;
    for (int i = 0; i < corners; i++) {
        int k = (i + 1) % corners;
        m->area += (xy[2 * i] * xy[2 * k + 1] - xy[2 * k] * xy[2 * i + 1]) / 2;
    }
    m->paths++;
    m->closed += closed;
}

static void contours_of_a_cone_are_circles(void) {
    static double values[SIDE * SIDE];
    cp_grid       grid = cone(values);
    measured      line = {0}, region = {0};
    TEST_ASSERT_TRUE(cp_contour_lines(&grid, -1.5, measure, &line));
    TEST_ASSERT_TRUE(cp_contour_regions(&grid, -1.5, measure, &region));
    TEST_ASSERT_EQUAL_INT(1, line.paths);
    TEST_ASSERT_EQUAL_INT(1, line.closed);
    TEST_ASSERT_TRUE(fabs(fabs(line.area) - 3.14159265 * 2.25) < 0.01);
    TEST_ASSERT_TRUE(fabs(fabs(region.area) - fabs(line.area)) < 1e-9);
}

static void regions_are_closed_along_the_border(void) {
    static double values[SIDE * SIDE];
    cp_grid       grid = cone(values);
    measured      all = {0}, none = {0}, cut = {0}, open = {0};
    cp_contour_regions(&grid, -10, measure, &all);
    TEST_ASSERT_TRUE(all.paths == 1 && all.closed == 1 && fabs(fabs(all.area) - 16) < 1e-9);
    cp_contour_regions(&grid, 1, measure, &none);
    TEST_ASSERT_EQUAL_INT(0, none.paths);
    cp_contour_regions(&grid, -2.4, measure, &cut);
    TEST_ASSERT_TRUE(cut.paths == 1 && cut.closed == 1 && fabs(cut.area) < 16 && fabs(cut.area) > 14);
    cp_contour_lines(&grid, -2.4, measure, &open);
    TEST_ASSERT_TRUE(open.paths == 4 && open.closed == 0);
}

static void contours_at_saddles_and_holes_do_not_cross(void) {
    double   saddle[] = {1, 0, 0, 1}, ring[] = {1, 1, 1, 1, 0, 1, 1, 1, 1}, gap[] = {1, 1, 1, 1, NAN, 1, 1, 1, 1};
    measured m = {0};
    cp_contour_lines(&(cp_grid){2, 2, 0, 1, 0, 1, saddle}, 0.5, measure, &m);
    TEST_ASSERT_EQUAL_INT(2, m.paths);
    m = (measured){0};
    cp_contour_regions(&(cp_grid){3, 3, 0, 2, 0, 2, ring}, 0.5, measure, &m);
    TEST_ASSERT_TRUE(m.paths == 2 && m.closed == 2);
    m = (measured){0};
    cp_contour_regions(&(cp_grid){3, 3, 0, 2, 0, 2, gap}, 0.5, measure, &m);
    TEST_ASSERT_TRUE(m.paths == 2 && m.closed == 2 && isfinite(m.area));
}

/* ---- axes ---- */

static void ticks_are_round_and_few(void) {
    cp_axis a = cp_axis_make(0.13, 0.97, false, 5);
    TEST_ASSERT_EQUAL_INT(4, a.ticks);
    TEST_ASSERT_EQUAL_STRING("0.2", a.text[0]);
    TEST_ASSERT_EQUAL_STRING("0.8", a.text[3]);
    a = cp_axis_make(-1.1, 1.1, false, 5);
    TEST_ASSERT_EQUAL_STRING("\xE2\x88\x92"
                             "1.0",
                             a.text[0]);
    TEST_ASSERT_EQUAL_STRING("0.0", a.text[2]);
    a = cp_axis_make(0.001, 1000, true, 8);
    TEST_ASSERT_EQUAL_INT(7, a.ticks);
    TEST_ASSERT_EQUAL_STRING("0.001", a.text[0]);
    TEST_ASSERT_EQUAL_STRING("1000", a.text[6]);
    a = cp_axis_make(0, 3e7, false, 3);
    TEST_ASSERT_EQUAL_STRING("10\xE2\x81\xB7", a.text[1]);
    for (int n = 2; n < 12; n++)
        for (double span = 1e-9; span < 1e12; span *= 3.7) {
            a = cp_axis_make(-span, 2 * span, false, n);
            TEST_ASSERT_TRUE(a.ticks >= 1 && a.ticks <= n + 1);
        }
}

static void impossible_ranges_are_corrected(void) {
    const double odd[][2] = {{NAN, 1},        {5, 5},           {0, 0},          {3, 2}, {INFINITY, -INFINITY},
                             {-1e308, 1e308}, {1e-320, 2e-320}, {1e15, 1e15 + 1}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int log = 0; log < 2; log++) {
            cp_axis a = cp_axis_make(odd[i][0], odd[i][1], log, 5);
            TEST_ASSERT_TRUE(a.min < a.max && isfinite(a.max - a.min));
            TEST_ASSERT_TRUE(a.ticks <= CP_TICKS_MAX);
        }
}

static void arrays_that_are_null_are_misuse(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    cp_panel  *p = cp_figure_panel(f, (cp_panel_config){0});
    double     two[] = {1, 2};
    errors_catch();
    cp_panel_line(p, (cp_style){0}, 2, NULL, two, NULL);
    expect_error("panel: line: an array of 2 numbers is NULL");
    cp_panel_line(p, (cp_style){0}, 2, two, NULL, NULL);
    expect_error("panel: line: an array of 2 numbers is NULL");
    cp_panel_points(p, (cp_style){0}, 2, NULL, NULL);
    expect_error("panel: points: an array of 2 numbers is NULL");
    cp_panel_band(p, (cp_style){0}, 2, two, NULL, two);
    expect_error("panel: band: an array of 2 numbers is NULL");
    cp_panel_histogram(p, (cp_style){0}, 2, NULL, (cp_bins){0});
    expect_error("panel: histogram: an array of 2 numbers is NULL");
    cp_panel_reliability(p, 2, two, NULL);
    expect_error("panel: reliability: an array of 2 numbers is NULL");
    cp_panel_confusion(p, (cp_style){0}, 2, NULL);
    expect_error("panel: confusion: an array of 2 numbers is NULL");
    cp_panel_contours(p, (cp_style){0}, NULL, 2, two);
    expect_error("panel: contours: the grid is NULL");
    cp_panel_line(p, (cp_style){0}, 0, NULL, NULL, NULL); /* an empty line */
    errors_release();
    cp_figure_free(f);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(an_empty_figure_is_a_valid_picture);
    RUN_TEST(every_point_with_coordinates_is_drawn);
    RUN_TEST(texts_are_escaped_wherever_they_come_from);
    RUN_TEST(titles_of_any_length_are_wrapped);
    RUN_TEST(lines_break_at_gaps_and_carry_error_bars);
    RUN_TEST(a_band_lies_between_its_values_and_breaks_at_gaps);
    RUN_TEST(bars_boxes_and_histograms_have_the_right_shapes);
    RUN_TEST(a_box_has_its_quartiles_median_and_whiskers);
    RUN_TEST(grids_are_drawn_as_bands_and_contours);
    RUN_TEST(a_legend_has_each_label_once);
    RUN_TEST(labels_of_one_panel_are_below_it_and_those_of_several_below_all);
    RUN_TEST(boxes_of_few_values_show_all_of_them);
    RUN_TEST(logarithmic_axes_are_marked);
    RUN_TEST(figures_on_paper_have_a_width_and_readable_texts);
    RUN_TEST(the_same_figure_gives_the_same_bytes);
    RUN_TEST(an_unwritable_path_is_reported);
    RUN_TEST(a_cell_map_has_its_numbers_from_the_top);
    RUN_TEST(cells_without_numbers_or_room_have_none);
    RUN_TEST(a_reliability_diagram_shows_accuracy_and_gap);
    RUN_TEST(several_histograms_have_the_same_bins);
    RUN_TEST(a_caption_is_available_to_screen_readers);
    RUN_TEST(all_colors_stand_out_from_the_background_in_light_and_dark);
    RUN_TEST(every_color_has_a_dark_variant);
    RUN_TEST(axes_of_the_same_label_share_their_limits);
    RUN_TEST(axes_without_a_label_are_shared_with_the_same_panel_in_other_figures);
    RUN_TEST(axes_of_names_are_shared_only_if_the_names_are_the_same);
    RUN_TEST(a_figure_is_drawn_the_same_from_its_description);
    RUN_TEST(descriptions_that_describe_no_figure_are_refused);
    RUN_TEST(a_picture_of_tiles_is_saved_with_its_caption);
    RUN_TEST(every_printable_character_has_a_letter_of_its_own);
    RUN_TEST(names_stand_beside_rows_and_above_columns_and_are_cut_where_they_do_not_fit);
    RUN_TEST(contours_of_a_cone_are_circles);
    RUN_TEST(regions_are_closed_along_the_border);
    RUN_TEST(contours_at_saddles_and_holes_do_not_cross);
    RUN_TEST(ticks_are_round_and_few);
    RUN_TEST(impossible_ranges_are_corrected);
    RUN_TEST(arrays_that_are_null_are_misuse);
    return UNITY_END();
}
