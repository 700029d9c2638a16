/* Figures, their parts, and reports: they parse, they hold what was put in, and nothing that is not a number gets in.
 * */
#include "core/random.h"
#include "experiments/kit/axis.h"
#include "experiments/kit/figure.h"
#include "experiments/kit/report.h"
#include "experiments/kit/svg.h"

#include "experiments/markup.h"
#include "tests/support/setup_files.h"

#include <math.h>

static char *text_of(const char *name) {
    cp_bytes bytes = {0};
    TEST_ASSERT_TRUE_MESSAGE(cp_file_read(scratch(name), 64 << 20, &bytes, &status), status.message);
    cp_bytes_append(&bytes, "", 1);
    return (char *)bytes.data;
}

/* Saves and frees the figure, checks what every figure must be, and returns the SVG's text. */
static char *drawn(cp_figure *figure) {
    TEST_ASSERT_TRUE_MESSAGE(cp_figure_save(figure, scratch("figure"), &status), status.message);
    cp_figure_free(figure);
    char *text = text_of("figure.svg");
    markup_is_well_formed(text);
    TEST_ASSERT_NULL(strstr(text, "nan"));
    TEST_ASSERT_NULL(strstr(text, "inf"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "http")); /* the name of SVG itself */
    return text;
}

static int csv_lines(const char *kind) {
    char *text = text_of("figure.csv"), part[40];
    snprintf(part, sizeof part, ",%s,", kind);
    int count = markup_count(text, part);
    free(text);
    return count;
}

/* ---- figures ---- */

static void an_empty_figure_is_a_picture_too(void) {
    free(drawn(cp_figure_new((cp_figure_config){0})));
    cp_figure *f = cp_figure_new((cp_figure_config){.title = "empty"});
    cp_figure_panel(f, (cp_panel_config){0});
    free(drawn(f));
}

static void every_point_is_drawn_but_those_without_a_place(void) {
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

static void bars_boxes_and_histograms_have_their_shapes(void) {
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
    cp_panel_histogram(p, (cp_style){.color = 3}, 101, values, 8);
    char *text = drawn(f);
    /* the paper; three frames and their clips; bars 3 + 2; one box; eight bins */
    TEST_ASSERT_EQUAL_INT(1 + 6 + 5 + 1 + 8, markup_count(text, "<rect"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<circle"));
    char *csv = text_of("figure.csv");
    TEST_ASSERT_NOT_NULL(strstr(csv, ",histogram,0,100,,125\n"));
    TEST_ASSERT_NOT_NULL(strstr(csv, ",histogram,875,1,,125\n"));
    free(csv);
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

static void grids_become_bands_and_contours(void) {
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

static void images_are_embedded(void) {
    unsigned char pixels[3][12];
    cp_image      images[3];
    for (int k = 0; k < 3; k++) {
        memset(pixels[k], 80 * k, sizeof pixels[k]);
        images[k] = (cp_image){2, 2, k == 1 ? 1 : 3, pixels[k]};
    }
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    cp_panel_tiles(cp_figure_panel(f, (cp_panel_config){.no_axes = true}), 3, images, 2);
    char *text = drawn(f);
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "href=\"data:image/png;base64,iVBORw0KGgo"));
    free(text);
}

static void a_legend_has_each_label_once(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    for (int k = 0; k < 3; k++) {
        cp_panel *p = cp_figure_panel(f, (cp_panel_config){0});
        cp_panel_points(p, (cp_style){.label = "class 1"}, 1, (double[]){k}, (double[]){1});
        cp_panel_level(p, (cp_style){.color = 6, .label = "limit"}, 2);
        cp_panel_note(p, "hidden", 3);
    }
    char *text = drawn(f);
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, ">class 1<"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, ">limit<"));
    TEST_ASSERT_EQUAL_INT(0, markup_count(text, "hidden"));
    TEST_ASSERT_EQUAL_INT(3, csv_lines("note"));
    free(text);
}

static void the_same_figure_gives_the_same_bytes(void) {
    char *text[2];
    for (int k = 0; k < 2; k++) {
        cp_figure *f = cp_figure_new((cp_figure_config){.title = "same"});
        cp_panel_histogram(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 5, (double[]){1, 2, 2, 3, 9}, 4);
        text[k] = drawn(f);
    }
    TEST_ASSERT_EQUAL_STRING(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

static void an_unwritable_place_is_told(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    TEST_ASSERT_FALSE(cp_figure_save(f, scratch("nowhere/figure"), &status));
    says(&status, "nowhere");
    cp_figure_free(f);
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

static void regions_close_along_the_border(void) {
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

static void saddles_and_holes_do_not_tangle(void) {
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

static void impossible_ranges_become_possible(void) {
    const double odd[][2] = {{NAN, 1},        {5, 5},           {0, 0},          {3, 2}, {INFINITY, -INFINITY},
                             {-1e308, 1e308}, {1e-320, 2e-320}, {1e15, 1e15 + 1}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int log = 0; log < 2; log++) {
            cp_axis a = cp_axis_make(odd[i][0], odd[i][1], log, 5);
            TEST_ASSERT_TRUE(a.least < a.most && isfinite(a.most - a.least));
            TEST_ASSERT_TRUE(a.ticks <= CP_TICKS_MOST);
        }
}

/* ---- reports ---- */

static void make_run(const char *result) {
    static const char config[] = "{\"experiment\":\"try\",\"options\":{\"rate\":0.001,\"lambda\":[0,10],\"fast\":true,\"seed\":1}}";
    static const char log[] = "{\"event\":\"start\",\"time\":\"2026-01-31T12:00:00Z\",\"threads\":2,\"seconds\":0}\n{"
                              "\"event\":\"finish\",\"seconds\":3}\n";
    scratch_write("config.json", config, sizeof config - 1);
    scratch_write("log.jsonl", log, sizeof log - 1);
    if (result) scratch_write("result.json", result, strlen(result));
}

static char *report_text(void) {
    const char *folder = scratch_folder;
    TEST_ASSERT_TRUE_MESSAGE(cp_report_write(&folder, 1, scratch("report.html"), &status), status.message);
    char *text = text_of("report.html");
    markup_is_well_formed(text);
    TEST_ASSERT_EQUAL_INT(markup_count(text, "http://www.w3.org/2000/svg"), markup_count(text, "http"));
    return text;
}

static void a_report_shows_command_table_and_figures(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){.title = "a figure on something"});
    cp_panel_points(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, 3, (double[]){1, 2, 3}, (double[]){1, 2, 3});
    free(drawn(f));
    make_run("{\"title\":\"A <title>\",\"notes\":[\"A & "
             "B\"],\"table\":{\"columns\":[\"method\",\"ours\"],\"rows\":[[\"hybrid\",\"97.68 (0.61)\"]]}}");
    char *text = report_text();
    TEST_ASSERT_NOT_NULL(strstr(
        text, "couplet try <span>--rate 0.001</span> <span>--lambda 0,10</span> <span>--fast</span> <span>--seed 1</span><"));
    TEST_ASSERT_NOT_NULL(strstr(text, "A &lt;title&gt;"));
    TEST_ASSERT_NOT_NULL(strstr(text, "<p>A &amp; B</p>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "<td>97.68 (0.61)</td>"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<figure>"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<svg "));
    TEST_ASSERT_EQUAL_INT(3, markup_count(text, "<circle"));
    TEST_ASSERT_NOT_NULL(strstr(text, "prefers-color-scheme:dark"));
    TEST_ASSERT_NOT_NULL(strstr(text, "width=device-width"));
    free(text);
}

static void a_report_makes_a_table_where_there_is_none(void) {
    make_run("{\"methods\":{\"hybrid\":{\"accuracy\":{\"mean\":97.678,\"sd\":0.6}},\"softmax\":{}}}");
    char *text = report_text();
    TEST_ASSERT_NOT_NULL(strstr(text, "<th>accuracy</th>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "<td>97.68 (0.60)</td>"));
    free(text);
}

static void an_unfinished_run_is_reported_as_that(void) {
    make_run(NULL);
    char *text = report_text();
    TEST_ASSERT_NOT_NULL(strstr(text, "not finished"));
    free(text);
}

static void figures_that_could_act_are_only_images(void) {
    static const char *const acting[] = {"<svg xmlns=\"x\"><script>alert(1)</script></svg>", "<svg onload=\"alert(1)\"></svg>",
                                         "<svg><a href=\"javascript:alert(1)\">x</a></svg>", "<svg><g/onclick=\"x\"></g></svg>",
                                         "</main><svg></svg>"};
    make_run("{}");
    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++) {
        scratch_write("f.svg", acting[i], strlen(acting[i]));
        char *text = report_text();
        TEST_ASSERT_EQUAL_INT(0, markup_count(text, "<svg"));
        TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<img alt=\"f.svg\" src=\"data:image/svg+xml;base64,"));
        free(text);
    }
}

static void folders_without_a_run_are_refused(void) {
    const char *folder = scratch_folder, *nowhere = "/nowhere/at/all";
    TEST_ASSERT_FALSE(cp_report_write(&folder, 1, scratch("report.html"), &status));
    says(&status, "config.json");
    TEST_ASSERT_FALSE(cp_report_write(&nowhere, 1, scratch("report.html"), &status));
    says(&status, "no such folder");
    TEST_ASSERT_EQUAL_INT(0, scratch_files(false));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(an_empty_figure_is_a_picture_too);
    RUN_TEST(every_point_is_drawn_but_those_without_a_place);
    RUN_TEST(texts_are_escaped_wherever_they_come_from);
    RUN_TEST(lines_break_at_gaps_and_carry_error_bars);
    RUN_TEST(bars_boxes_and_histograms_have_their_shapes);
    RUN_TEST(grids_become_bands_and_contours);
    RUN_TEST(images_are_embedded);
    RUN_TEST(a_legend_has_each_label_once);
    RUN_TEST(the_same_figure_gives_the_same_bytes);
    RUN_TEST(an_unwritable_place_is_told);
    RUN_TEST(contours_of_a_cone_are_circles);
    RUN_TEST(regions_close_along_the_border);
    RUN_TEST(saddles_and_holes_do_not_tangle);
    RUN_TEST(ticks_are_round_and_few);
    RUN_TEST(impossible_ranges_become_possible);
    RUN_TEST(a_report_shows_command_table_and_figures);
    RUN_TEST(a_report_makes_a_table_where_there_is_none);
    RUN_TEST(an_unfinished_run_is_reported_as_that);
    RUN_TEST(figures_that_could_act_are_only_images);
    RUN_TEST(folders_without_a_run_are_refused);
    return UNITY_END();
}
