/* Reports: what they show of runs, how they compare them, and how they handle damaged folders. */
#include "experiments/kit/report/report.h"

#include "experiments/drawn.h"

#include <math.h>

static char run_folders[4][300];

/* Runs get separate folders within the scratch folder; their files are removed first, then the folders. */
static void remove_runs(void) {
    for (int i = 0; i < 4; i++) {
        DIR *folder = run_folders[i][0] ? opendir(run_folders[i]) : NULL;
        for (struct dirent *entry; folder && (entry = readdir(folder));) {
            char path[600];
            snprintf(path, sizeof path, "%.290s/%.255s", run_folders[i], entry->d_name);
            if (entry->d_name[0] != '.') remove(path);
        }
        if (folder) closedir(folder), rmdir(run_folders[i]);
        run_folders[i][0] = '\0';
    }
}

void setUp(void) {
    status = (cp_status){0};
    scratch_make();
}
void tearDown(void) {
    remove_runs();
    scratch_remove();
}

/* ---- one run ---- */

static void make_run(const char *result) {
    static const char config[] = "{\"experiment\":\"try\",\"options\":{\"rate\":0.001,\"lambda\":[0,10],\"fast\":true,\"seed\":1}}";
    static const char log[] = "{\"event\":\"start\",\"time\":\"2026-01-31T12:00:00Z\",\"threads\":2,\"seconds\":0}\n{"
                              "\"event\":\"finish\",\"seconds\":3}\n";
    scratch_write("config.json", config, sizeof config - 1);
    scratch_write("log.jsonl", log, sizeof log - 1);
    if (result) scratch_write("result.json", result, strlen(result));
}

static char *report_of(const char *const *folders, int count) {
    TEST_ASSERT_TRUE_MESSAGE(cp_report_write(folders, count, scratch("report.html"), &status), status.message);
    char *text = text_of("report.html");
    markup_is_well_formed(text);
    TEST_ASSERT_EQUAL_INT(markup_count(text, "http://www.w3.org/2000/svg"), markup_count(text, "http"));
    return text;
}

static char *report_text(void) { return report_of((const char *[]){scratch_folder}, 1); }

static void a_report_shows_command_table_and_figures(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){.title = "a figure on something", .caption = "Three points & a <caption>."});
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
    TEST_ASSERT_NOT_NULL(strstr(text, "<figcaption>Three points &amp; a &lt;caption&gt;."));
    TEST_ASSERT_NOT_NULL(strstr(text, "prefers-color-scheme:dark"));
    TEST_ASSERT_NOT_NULL(strstr(text, "width=device-width"));
    free(text);
}

static void a_report_makes_a_table_if_there_is_none(void) {
    make_run("{\"methods\":{\"hybrid\":{\"accuracy\":{\"mean\":97.678,\"sd\":0.6}},\"softmax\":{}}}");
    char *text = report_text();
    TEST_ASSERT_NOT_NULL(strstr(text, "<th>accuracy</th>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "<td>97.68 (0.60)</td>"));
    free(text);
}

static void a_user_program_is_called_by_its_name(void) {
    static const char log[] = "{\"event\":\"start\",\"command\":\"moons\",\"seconds\":0}\n";
    make_run("{\"title\":\"Two moons\"}");
    scratch_write("log.jsonl", log, sizeof log - 1);
    char *text = report_text();
    TEST_ASSERT_NOT_NULL(strstr(text, "<pre class=\"command\">moons <span>--rate 0.001</span>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "<title>Two moons</title>"));
    free(text);
    text = report_of((const char *[]){scratch_folder, scratch_folder}, 2);
    TEST_ASSERT_NOT_NULL(strstr(text, "<h1>moons: 2 runs</h1>"));
    free(text);
}

static void a_stopped_trainings_report_has_its_first_date_and_its_total_time(void) {
    static const char log[] = "{\"event\":\"start\",\"time\":\"2026-01-31T12:00:00Z\",\"seconds\":0}\n"
                              "{\"event\":\"stop\",\"step\":7,\"time\":\"2026-01-31T12:01:00Z\",\"seconds\":60}\n"
                              "{\"event\":\"interrupt\",\"seconds\":60}\n{\"event\":\"continue\",\"seconds\":0}\n"
                              "{\"event\":\"start\",\"step\":7,\"time\":\"2026-02-01T12:00:00Z\",\"seconds\":1}\n"
                              "{\"event\":\"stage 2\",\"step\":8}\n{\"event\":\"interrupt\",\"seconds\":20}\n"
                              "{\"event\":\"continue\",\"seconds\":0}\n{\"event\":\"finish\",\"seconds\":5}\n";
    make_run("{}");
    scratch_write("log.jsonl", log, sizeof log - 1);
    char *text = report_text();
    TEST_ASSERT_NOT_NULL(strstr(text, "2026-01-31"));
    TEST_ASSERT_NULL(strstr(text, "2026-02-01"));
    TEST_ASSERT_NOT_NULL(strstr(text, ", 85 s"));
    free(text);
}

static void an_unfinished_run_is_reported_with_its_finished_trials(void) {
    static const char log[] = "{\"event\":\"start\",\"seconds\":0}\n{\"trial\":0}\n{\"trial\":3}\n{\"tri";
    make_run(NULL);
    scratch_write("log.jsonl", log, sizeof log - 1);
    char *text = report_text();
    TEST_ASSERT_NOT_NULL(strstr(text, "not finished (2 trials done)"));
    TEST_ASSERT_NULL(strstr(text, "CSV")); /* there is no figure */
    free(text);
}

static void figures_with_scripts_are_embedded_as_images(void) {
    static const char *const acting[] = {"<svg xmlns=\"x\"><script>alert(1)</script></svg>", "<svg onload=\"alert(1)\"></svg>",
                                         "<svg><a href=\"javascript:alert(1)\">x</a></svg>", "<svg><g/onclick=\"x\"></g></svg>",
                                         "<?xml version=\"1.0\"?>\n<!-- a > b --><!DOCTYPE svg>\n<svg></svg></main>"};
    make_run("{}");
    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++) {
        scratch_write("f.svg", acting[i], strlen(acting[i]));
        char *text = report_text();
        TEST_ASSERT_EQUAL_INT(0, markup_count(text, "<svg"));
        TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<img alt=\"f\" src=\"data:image/svg+xml;base64,"));
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

static void pictures_are_embedded_with_their_captions(void) {
    unsigned char pixels[4] = {0, 80, 160, 240};
    cp_tiles      tiles = {.n = 1, .columns = 1, .images = &(cp_image){2, 2, 1, pixels}};
    make_run("{}");
    TEST_ASSERT_TRUE(cp_tiles_save(scratch("samples"), "Samples & more.", &tiles, &status));
    TEST_ASSERT_TRUE(cp_tiles_write(scratch("bare.png"), &tiles, &status));
    char *text = report_text();
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<img alt=\"Samples &amp; more.\" src=\"data:image/png;base64,iVBORw0KGgo"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<img alt=\"bare\" src=\"data:image/png;base64,iVBORw0KGgo"));
    TEST_ASSERT_NOT_NULL(strstr(text, "<figcaption>Samples &amp; more. "));
    TEST_ASSERT_NOT_NULL(strstr(text, "<figcaption><span class=\"soft\">Saved as bare.png</span>"));
    free(text);
}

static void with_a_damaged_description_the_saved_picture_is_used(void) {
    make_run("{}");
    free(drawn(cp_figure_new((cp_figure_config){.title = "t"})));
    scratch_write("figure.figure.json", "{\"panels\":[{\"series\":[{}]}]}", 27);
    char *text = report_text();
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<img alt=\"figure\" src=\"data:image/svg+xml;base64,"));
    TEST_ASSERT_NOT_NULL(strstr(text, "figure.figure.json"));
    free(text);
}

static void figures_of_several_panels_have_a_layout_for_narrow_screens(void) {
    cp_figure *f = cp_figure_new((cp_figure_config){0});
    for (int i = 0; i < 3; i++) cp_panel_level(cp_figure_panel(f, (cp_panel_config){0}), (cp_style){0}, i);
    make_run("{}");
    free(drawn(f));
    char *text = report_text(), *large = strstr(text, "<div class=\"at-large\">"), *narrow = strstr(text, "<div class=\"narrow\">");
    TEST_ASSERT_EQUAL_INT(2, markup_count(text, "<svg "));
    double wide = strtod(strstr(large, "width=\"") + 7, NULL), slim = strtod(strstr(narrow, "width=\"") + 7, NULL);
    TEST_ASSERT_TRUE(wide > 900 && slim < 400);
    free(text);
}

/* ---- folders from somebody else ---- */

static const char secret[] = "root:x:0:0:a secret of the machine";
static const char secret_base64[] = "cm9vdDp4OjA6MDph";

/* Makes a link in the scratch folder to a file that is not in it. */
static void link_secret(const char *name, const char *outside) {
    remove(outside);
    TEST_ASSERT_TRUE(cp_file_write(outside, secret, sizeof secret - 1, &status));
    TEST_ASSERT_EQUAL_INT(0, symlink(outside, scratch(name)));
}

static void links_out_of_the_folder_are_not_followed(void) {
    static const char *const names[] = {"evil.png", "evil.svg", "evil.figure.json", "log.jsonl", "result.json"};
    char                     outside[300];
    snprintf(outside, sizeof outside, "%s.outside", scratch_folder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        make_run(NULL);
        remove(scratch(names[i]));
        link_secret(names[i], outside);
        char *text = report_text();
        TEST_ASSERT_NULL_MESSAGE(strstr(text, "secret"), names[i]);
        TEST_ASSERT_NULL_MESSAGE(strstr(text, secret_base64), names[i]);
        TEST_ASSERT_TRUE_MESSAGE(i == 3 || strstr(text, "symbolic link"), names[i]); /* a bad log is ignored */
        free(text);
        remove(scratch(names[i]));
    }
    link_secret("config.json.link", outside);
    TEST_ASSERT_EQUAL_INT(0, rename(scratch("config.json.link"), scratch("config.json")));
    TEST_ASSERT_FALSE(cp_report_write((const char *[]){scratch_folder}, 1, scratch("report.html"), &status));
    says(&status, "symbolic link");
    remove(outside);
}

static void a_run_may_be_named_by_a_link_to_its_folder_and_folders_in_it_are_not_entered(void) {
    char link[300];
    snprintf(link, sizeof link, "%s.link", scratch_folder);
    remove(link);
    make_run("{\"title\":\"By a link\"}");
    TEST_ASSERT_EQUAL_INT(0, symlink(scratch_folder, link));
    TEST_ASSERT_EQUAL_INT(0, symlink("/", scratch("folder.svg")));
    char *text = report_of((const char *[]){link}, 1);
    TEST_ASSERT_NOT_NULL(strstr(text, "<title>By a link</title>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "folder.svg: this is a symbolic link"));
    free(text);
    remove(link);
}

static void a_fifo_does_not_block_a_report(void) {
    static const char *const names[] = {"x.svg", "x.png", "x.figure.json", "log.jsonl", "result.json", "config.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        make_run(NULL);
        remove(scratch(names[i]));
        TEST_ASSERT_EQUAL_INT(0, mkfifo(scratch(names[i]), 0600));
        status = (cp_status){0};
        bool written = cp_report_write((const char *[]){scratch_folder}, 1, scratch("report.html"), &status);
        TEST_ASSERT_EQUAL_INT(strcmp(names[i], "config.json") != 0, written);
        if (!written) says(&status, "this is a pipe");
        remove(scratch(names[i]));
    }
}

static void only_what_is_a_png_or_svg_is_embedded(void) {
    static const char *const others[] = {
        secret, "", "<svgx></svgx>", "<html><svg></svg></html>", "<!-- <svg>", "\x89PNG\r\n\x1A\n"};
    make_run("{}");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int k = 0; k < 2; k++) {
            const char *name = k ? "f.svg" : "f.png";
            scratch_write(name, others[i], strlen(others[i]));
            char *text = report_text();
            TEST_ASSERT_EQUAL_INT(0, markup_count(text, "<img"));
            TEST_ASSERT_EQUAL_INT(1, markup_count(text, "this is neither a PNG nor an SVG file"));
            free(text);
            remove(scratch(name));
        }
}

/* ---- several ---- */

/* A run in a separate folder, "run0", "run1", ...; a NULL file is left out. */
static const char *make_one(int number, const char *config, const char *result, double max) {
    char *folder = run_folders[number], path[400];
    snprintf(folder, sizeof run_folders[0], "%s/run%d", scratch_folder, number);
    TEST_ASSERT_EQUAL_INT(0, mkdir(folder, 0700));
    snprintf(path, sizeof path, "%s/config.json", folder);
    TEST_ASSERT_TRUE(!config || cp_file_write(path, config, strlen(config), &status));
    snprintf(path, sizeof path, "%s/result.json", folder);
    TEST_ASSERT_TRUE(!result || cp_file_write(path, result, strlen(result), &status));
    cp_figure *f = cp_figure_new((cp_figure_config){.title = "loss"});
    cp_panel  *p = cp_figure_panel(f, (cp_panel_config){.x_label = "step", .y_label = "loss"});
    cp_panel_points(p, (cp_style){0}, 2, (double[]){0, 1}, (double[]){0, max});
    snprintf(path, sizeof path, "%s/loss", folder);
    TEST_ASSERT_TRUE(cp_figure_save(f, path, &status));
    cp_figure_free(f);
    return folder;
}

static const char slow_config[] = "{\"experiment\":\"try\",\"options\":{\"rate\":0.001,\"steps\":50,\"fast\":false,\"seed\":1}}";
static const char fast_config[] =
    "{\"experiment\":\"try\",\"options\":{\"rate\":0.1,\"steps\":50,\"fast\":true,\"seed\":1,\"new\":[1,2]}}";

static void runs_are_compared_by_options_and_results(void) {
    const char *folders[] = {
        make_one(0, slow_config, "{\"methods\":{\"hybrid\":{\"accuracy\":{\"mean\":97.5,\"sd\":0.25}}}}", 1),
        make_one(1, fast_config,
                 "{\"methods\":{\"hybrid\":{\"accuracy\":{\"mean\":null,\"sd\":null}},\"a<b\":{\"nll\":{\"mean\":0.125}}}}", 1)};
    char *text = report_of(folders, 2), *table = strstr(text, "compare\""), *end = strstr(table, "</table>");
    *end = '\0';
    TEST_ASSERT_NOT_NULL(strstr(table, "<th colspan=\"3\">options that differ</th><th colspan=\"2\">results</th>"));
    TEST_ASSERT_NOT_NULL(strstr(table, "<th>rate</th><th>fast</th><th>new</th><th>hybrid: accuracy</th><th>a&lt;b: nll</th>"));
    TEST_ASSERT_NOT_NULL(strstr(table, "<td>0.001</td><td>no</td><td>\xE2\x80\x93</td><td>97.50 (0.25)</td><td>\xE2\x80\x93</td>"));
    TEST_ASSERT_NOT_NULL(strstr(table, "<td>0.1</td><td>yes</td><td>1,2</td><td>\xE2\x80\x93</td><td>0.1250</td>"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(table, "href=\"#run0\""));
    *end = '<';
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<section id=\"run1\">"));
    free(text);
}

static void results_without_methods_are_compared_by_their_table(void) {
    const char *result = "{\"table\":{\"columns\":[\"method\",\"ours\"],\"rows\":[[\"hybrid\",\"97.68\"],[\"jem\"]]}}";
    const char *folders[] = {make_one(0, slow_config, result, 1), make_one(1, slow_config, "{\"loss\":0.5,\"name\":\"x\"}", 1)};
    char       *text = report_of(folders, 2);
    TEST_ASSERT_NOT_NULL(strstr(text, "<th>hybrid: ours</th><th>loss</th></tr>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "<td>97.68</td><td>\xE2\x80\x93</td></tr>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "<td>\xE2\x80\x93</td><td>0.5</td></tr>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "These runs have the same options."));
    free(text);
}

/* The number at the last tick of the vertical axis of the n-th drawing. */
static double highest_tick(const char *text, int drawing) {
    const char *p = text;
    for (int i = 0; i <= drawing; i++) p = strstr(p + 1, "<svg ");
    const char *end = strstr(p, "</svg>");
    double      max = 0;
    while ((p = strstr(p + 1, "text-anchor=\"end\"")) && p < end) max = fmax(max, strtod(strchr(p, '>') + 1, NULL));
    return max;
}

static void figures_of_one_name_have_the_same_axes_in_all_runs(void) {
    const char *other = "{\"experiment\":\"other\",\"options\":{}}";
    const char *folders[] = {make_one(0, slow_config, "{}", 1), make_one(1, other, "{}", 40), make_one(2, fast_config, NULL, 6)};
    char       *text = report_of(folders, 3);
    TEST_ASSERT_TRUE(highest_tick(text, 0) == 6 && highest_tick(text, 1) == 6); /* the two of one experiment share their axes */
    TEST_ASSERT_TRUE(highest_tick(text, 2) == 40);                              /* the other does not */
    free(text);
    text = report_of(folders, 1);
    TEST_ASSERT_TRUE(highest_tick(text, 0) == 1);
    free(text);
}

static void runs_of_different_experiments_are_kept_apart(void) {
    const char *other = "{\"experiment\":\"other\",\"options\":{\"rate\":5}}";
    const char *folders[] = {make_one(0, slow_config, "{}", 1), make_one(1, other, "{}", 1), make_one(2, fast_config, "{}", 1)};
    char       *text = report_of(folders, 3), *first = strstr(text, "<h2>try</h2>"), *second = strstr(text, "<h2>other</h2>");
    TEST_ASSERT_TRUE(first && second && first < second);
    TEST_ASSERT_NOT_NULL(strstr(text, "<title>3 runs</title>"));
    TEST_ASSERT_TRUE(strstr(text, "id=\"run2\"") < second && strstr(text, "id=\"run1\"") > second);
    TEST_ASSERT_EQUAL_INT(2, markup_count(text, "<div class=\"wide compare\">"));
    free(text);
}

static void damaged_and_unfinished_runs_are_reported_and_not_dropped(void) {
    const char *folders[] = {make_one(0, slow_config, "{}", 1), make_one(1, "{\"experiment\":", "{}", 1),
                             make_one(2, slow_config, "{\"title\":", 1), make_one(3, slow_config, NULL, 1)};
    char       *text = report_of(folders, 4);
    TEST_ASSERT_EQUAL_INT(4, markup_count(text, "<section "));
    TEST_ASSERT_NOT_NULL(strstr(text, "<h2>Folders that cannot be read</h2>"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "run1/config.json:"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "run2/result.json:"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, ">damaged<"));
    TEST_ASSERT_EQUAL_INT(2, markup_count(text, ">not finished<"));
    TEST_ASSERT_EQUAL_INT(3, markup_count(text, "<figure>"));
    free(text);
}

static const char measured[] =
    "{\"test\":{\"end\":{\"accuracy\":54.321,\"balanced_accuracy\":50,\"auc\":0.82812,\"ece\":8.16,\"nll\":1.0212,\"intervals\":{"
    "\"accuracy\":[51.2,57.4],\"auc\":[0.81,null]}},\"scaled\":{\"ece\":3.25,\"intervals\":{\"ece\":[2,4.55]}}},"
    "\"table\":{\"columns\":[\"test\",\"MCE\"],\"rows\":[[\"end\",\"22.4\"]]},\"ood_table\":{\"columns\":[\"a\"],\"rows\":[]}}";

static void the_first_table_has_a_row_per_run_with_measures_and_intervals(void) {
    const char *folders[] = {make_one(0, slow_config, measured, 1), make_one(1, fast_config, measured, 1),
                             make_one(2, slow_config, NULL, 1)};
    char       *text = report_of(folders, 3), *table = strstr(text, "<table>"), *end = strstr(table, "</table>");
    char       *rest = end + 1;
    *end = '\0';
    TEST_ASSERT_EQUAL_INT(4, markup_count(table, "<tr>"));
    TEST_ASSERT_NOT_NULL(strstr(table, "<th>run</th><th>accuracy, %</th><th>balanced accuracy, %</th><th>AUC</th><th>ECE, %</th>"
                                       "<th>ECE, % (scaled)</th><th>NLL</th>"));
    TEST_ASSERT_EQUAL_INT(2, markup_count(table, "<td>54.3<div class=\"soft\">51.2\xE2\x80\x93"
                                                 "57.4</div></td><td>50.0</td>"));
    TEST_ASSERT_EQUAL_INT(2, markup_count(table, "<td>0.828</td>")); /* half an interval is none */
    TEST_ASSERT_EQUAL_INT(2, markup_count(table, "<td>3.2<div class=\"soft\">2.0\xE2\x80\x93"
                                                 "4.5</div></td><td>1.021</td>"));
    TEST_ASSERT_EQUAL_INT(1, markup_count(table, "not finished"));
    TEST_ASSERT_NOT_NULL(strstr(table, "<span>rate 0.1</span>, <span>fast yes</span>, <span>new 1,2</span>"));
    TEST_ASSERT_NOT_NULL(strstr(table, "/</span><wbr/><span>run1</span></a>")); /* a name breaks at its slashes only */
    TEST_ASSERT_NOT_NULL(strstr(rest, "<details class=\"unprinted\"><summary>All results</summary>"));
    TEST_ASSERT_EQUAL_INT(2, markup_count(rest, "<details><summary>Table: test</summary>"));
    TEST_ASSERT_EQUAL_INT(2, markup_count(rest, "<details><summary>Table: ood</summary>"));
    free(text);
}

static void a_single_run_has_the_first_table_too(void) {
    make_run("{\"metrics\":{\"plain\":{\"accuracy\":99,\"intervals\":{}}}}");
    char *text = report_text();
    TEST_ASSERT_EQUAL_INT(1, markup_count(text, "<td>99.0</td>"));
    TEST_ASSERT_EQUAL_INT(5, markup_count(text, "<td>\xE2\x80\x93</td>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "Posterior of the softmax"));
    free(text);
}

static void tables_are_folded_where_figures_need_the_room(void) {
    static const char result[] = "{\"table\":{\"columns\":[\"a\"],\"rows\":[]},\"differences\":{\"columns\":[\"b\"],\"rows\":[]}}";
    make_run(result);
    for (int drawn_too = 0; drawn_too < 2; drawn_too++) {
        if (drawn_too) free(drawn(cp_figure_new((cp_figure_config){.title = "t"})));
        char *text = report_text();
        TEST_ASSERT_EQUAL_INT(2, markup_count(text, "<table>"));
        TEST_ASSERT_EQUAL_INT(drawn_too, markup_count(text, "<summary>Table: differences</summary>"));
        TEST_ASSERT_EQUAL_INT(0, markup_count(text, "<summary>Table: a</summary>"));
        free(text);
    }
}

static void long_lists_of_results_are_cut_with_a_note(void) {
    char result[4000] = "{", name[40];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "%s\"m%d\":%d", i ? "," : "", i, i);
        strcat(result, name);
    }
    strcat(result, "}");
    const char *folders[] = {make_one(0, slow_config, result, 1), make_one(1, slow_config, result, 1)};
    char       *text = report_of(folders, 2);
    TEST_ASSERT_NOT_NULL(strstr(text, "<th>m23</th></tr>"));
    TEST_ASSERT_NOT_NULL(strstr(text, "6 more results are in the sections of the runs."));
    free(text);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_report_shows_command_table_and_figures);
    RUN_TEST(a_report_makes_a_table_if_there_is_none);
    RUN_TEST(a_user_program_is_called_by_its_name);
    RUN_TEST(a_stopped_trainings_report_has_its_first_date_and_its_total_time);
    RUN_TEST(an_unfinished_run_is_reported_with_its_finished_trials);
    RUN_TEST(figures_with_scripts_are_embedded_as_images);
    RUN_TEST(folders_without_a_run_are_refused);
    RUN_TEST(pictures_are_embedded_with_their_captions);
    RUN_TEST(with_a_damaged_description_the_saved_picture_is_used);
    RUN_TEST(figures_of_several_panels_have_a_layout_for_narrow_screens);
    RUN_TEST(links_out_of_the_folder_are_not_followed);
    RUN_TEST(a_run_may_be_named_by_a_link_to_its_folder_and_folders_in_it_are_not_entered);
    RUN_TEST(a_fifo_does_not_block_a_report);
    RUN_TEST(only_what_is_a_png_or_svg_is_embedded);
    RUN_TEST(runs_are_compared_by_options_and_results);
    RUN_TEST(results_without_methods_are_compared_by_their_table);
    RUN_TEST(figures_of_one_name_have_the_same_axes_in_all_runs);
    RUN_TEST(runs_of_different_experiments_are_kept_apart);
    RUN_TEST(damaged_and_unfinished_runs_are_reported_and_not_dropped);
    RUN_TEST(the_first_table_has_a_row_per_run_with_measures_and_intervals);
    RUN_TEST(a_single_run_has_the_first_table_too);
    RUN_TEST(tables_are_folded_where_figures_need_the_room);
    RUN_TEST(long_lists_of_results_are_cut_with_a_note);
    return UNITY_END();
}
