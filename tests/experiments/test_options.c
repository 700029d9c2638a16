/* Option parsing, tables and progress lines. */
#include "experiments/commands.h"
#include "experiments/kit/cli/options.h"
#include "experiments/kit/report/table.h"
#include "experiments/kit/run/progress.h"
#include "tests/support/errors.h"

#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const cp_option table[] = {
    {.name = "rate", .kind = CP_OPTION_REAL, .fallback = "0.001", .min = 0, .max = 10, .help = "learning rate"},
    {.name = "steps", .kind = CP_OPTION_INT, .fallback = "3000", .min = 1, .max = 1e6, .help = "updates", .unit = "steps"},
    {.name = "geometry", .kind = CP_OPTION_CHOICE, .choices = "reported|printed", .fallback = "reported", .help = "which"},
    {.name = "lambda", .kind = CP_OPTION_REALS, .fallback = "10", .min = 0, .max = 1e6, .help = "coupling"},
    {.name = "offset", .kind = CP_OPTION_REAL, .fallback = "0", .help = "any number"},
    {.name = "name", .kind = CP_OPTION_TEXT, .help = "a word"},
    {.name = "report", .kind = CP_OPTION_FLAG, .help = "with a report"},
    {.name = "energy", .kind = CP_OPTION_REAL, .word = "auto", .fallback = "auto", .max = 100, .help = "weight"},
    {.name = "length", .kind = CP_OPTION_INT, .word = "run", .fallback = "5", .min = 1, .max = 9, .help = "moves"},
    {0}};
static const cp_command command = {
    .name = "try", .purpose = "tries options", .arguments = "[FILE [MORE]]", .options = table, .example = "--steps 5"};

static cp_options *parsed;
static cp_status   status;
static bool        help;

void setUp(void) { status = (cp_status){0}; }
void tearDown(void) {
    cp_options_free(parsed);
    parsed = NULL;
}

/* Keeps the arguments, because the result points to them. */
static bool parse_for(const cp_command *which, const char *line) {
    static char  text[512];
    static char *words[32];
    int          count = 0;
    cp_options_free(parsed);
    status = (cp_status){0};
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) words[count++] = word;
    parsed = cp_options_parse("couplet", which, count, words, &help, &status);
    return parsed != NULL;
}

static bool parse(const char *line) { return parse_for(&command, line); }

static void refused(const char *line, const char *first, const char *second) {
    TEST_ASSERT_FALSE_MESSAGE(parse(line), line);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, first), status.message);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, second), status.message);
}

static void without_arguments_all_options_have_their_defaults(void) {
    TEST_ASSERT_TRUE(parse(""));
    TEST_ASSERT_TRUE(cp_option_real(parsed, "rate") == 0.001);
    TEST_ASSERT_EQUAL_INT64(3000, cp_option_int(parsed, "steps"));
    TEST_ASSERT_EQUAL_INT(0, cp_option_choice(parsed, "geometry"));
    TEST_ASSERT_EQUAL_INT(1, cp_option_reals(parsed, "lambda").count);
    TEST_ASSERT_NULL(cp_option_text(parsed, "name"));
    TEST_ASSERT_FALSE(cp_option_flag(parsed, "report"));
    TEST_ASSERT_EQUAL_INT64(1, cp_option_int(parsed, "seed"));
    TEST_ASSERT_NULL(cp_option_text(parsed, "out"));
    TEST_ASSERT_FALSE(cp_option_given(parsed, "rate"));
}

static void values_follow_a_space_or_an_equals_sign(void) {
    TEST_ASSERT_TRUE_MESSAGE(parse("--rate 0.5 --steps=7 --geometry printed --lambda=0,0.1,1e2 --report --seed 9 --offset -3.5"),
                             status.message);
    TEST_ASSERT_TRUE(cp_option_real(parsed, "rate") == 0.5);
    TEST_ASSERT_EQUAL_INT64(7, cp_option_int(parsed, "steps"));
    TEST_ASSERT_EQUAL_INT(1, cp_option_choice(parsed, "geometry"));
    TEST_ASSERT_EQUAL_STRING("printed", cp_option_text(parsed, "geometry"));
    cp_reals list = cp_option_reals(parsed, "lambda");
    TEST_ASSERT_EQUAL_INT(3, list.count);
    TEST_ASSERT_TRUE(list.at[0] == 0 && list.at[1] == 0.1 && list.at[2] == 100);
    TEST_ASSERT_TRUE(cp_option_flag(parsed, "report"));
    TEST_ASSERT_EQUAL_INT64(9, cp_option_int(parsed, "seed"));
    TEST_ASSERT_TRUE(cp_option_real(parsed, "offset") == -3.5);
    TEST_ASSERT_TRUE(cp_option_given(parsed, "rate"));
}

static void whole_numbers_may_be_written_as_reals(void) {
    TEST_ASSERT_TRUE(parse("--steps 1e4"));
    TEST_ASSERT_EQUAL_INT64(10000, cp_option_int(parsed, "steps"));
    refused("--steps 1.5", "--steps", "1.5");
}

static void two_dashes_end_the_options(void) {
    TEST_ASSERT_TRUE(parse("--steps 5 -- --rate -x"));
    TEST_ASSERT_EQUAL_INT(2, cp_argument_count(parsed));
    TEST_ASSERT_EQUAL_STRING("--rate", cp_argument(parsed, 0));
    TEST_ASSERT_EQUAL_STRING("-x", cp_argument(parsed, 1));
    TEST_ASSERT_NULL(cp_argument(parsed, 2));
}

static void unknown_options_are_named_with_the_nearest_known_one(void) {
    refused("--stpes 5", "--stpes", "did you mean --steps?");
    refused("--geometri=printed", "--geometri", "did you mean --geometry?");
    refused("--rat", "--rat", "did you mean --rate?");
    refused("--thread 2", "--thread", "did you mean --threads?");
    refused("-r 5", "-r", "two dashes");
    TEST_ASSERT_FALSE(parse("--xyzzyxyzzy 5"));
    TEST_ASSERT_NULL(strstr(status.message, "did you mean"));
}

static void wrong_values_are_named_with_what_was_expected(void) {
    refused("--rate fast", "--rate", "fast");
    refused("--rate 11", "--rate", "from 0 to 10");
    refused("--rate nan", "--rate", "nan");
    refused("--rate inf", "--rate", "inf");
    refused("--rate 0x10", "--rate", "0x10");
    refused("--rate 1.0x", "--rate", "1.0x");
    refused("--rate=", "--rate", "expected a number");
    refused("--steps 0", "--steps", "from 1 to 1000000");
    refused("--steps 99999999999999999999999", "--steps", "whole number");
    refused("--lambda 1,,2", "--lambda", "commas");
    refused("--lambda 1,-2", "--lambda", "from 0");
    refused("--geometry prnited", "reported|printed", "did you mean printed?");
    refused("--name=", "--name", "empty");
    refused("--seed -1", "--seed", "from 0");
}

static void a_number_may_be_given_as_its_word(void) {
    TEST_ASSERT_TRUE(parse(""));
    TEST_ASSERT_TRUE(cp_option_real_or(parsed, "energy", 7) == 7 && isnan(cp_option_real(parsed, "energy")));
    TEST_ASSERT_EQUAL_INT64(5, cp_option_int_or(parsed, "length", 7));
    TEST_ASSERT_TRUE(parse("--energy 0.25 --length run"));
    TEST_ASSERT_TRUE(cp_option_real_or(parsed, "energy", 7) == 0.25 && cp_option_real(parsed, "energy") == 0.25);
    TEST_ASSERT_EQUAL_INT64(7, cp_option_int_or(parsed, "length", 7));
    TEST_ASSERT_EQUAL_INT64(0, cp_option_int(parsed, "length"));
    TEST_ASSERT_EQUAL_STRING("run", cp_option_text(parsed, "length"));
    refused("--energy -1", "--energy", "a number from 0 to 100 or \"auto\"");
    refused("--energy nan", "--energy", "nan");
    refused("--energy run", "--energy", "or \"auto\"");
    refused("--length 2.5", "--length", "a whole number from 1 to 9 or \"run\"");
    TEST_ASSERT_EQUAL_STRING("X|auto", cp_option_value(&table[7]).s);
    TEST_ASSERT_EQUAL_STRING("N|run", cp_option_value(&table[8]).s);
}

static void a_wrong_name_is_misuse_at_the_callers_line_with_the_nearest_name(void) {
    TEST_ASSERT_TRUE(parse(""));
    errors_catch();
    TEST_ASSERT_EQUAL_INT64(0, cp_option_int(parsed, "stpes"));
    expect_error_at("option_int", "couplet try has no option \"stpes\"; did you mean \"steps\"?", __FILE__, __LINE__ - 1);
    TEST_ASSERT_NULL(cp_option_text(parsed, "xyzzyxyzzy"));
    expect_error_at("option_text", "has no option \"xyzzyxyzzy\"", __FILE__, __LINE__ - 1);
    cp_option_real(parsed, "steps");
    expect_error_at("option_real", "\"steps\" of couplet try is of another kind; read it with cp_option_int", __FILE__,
                    __LINE__ - 2);
    cp_option_flag(parsed, "raport");
    expect_error_at("option_flag", "did you mean \"report\"?", __FILE__, __LINE__ - 1);
    cp_option_choice(parsed, "geometri");
    expect_error_at("option_choice", "did you mean \"geometry\"?", __FILE__, __LINE__ - 1);
    cp_option_reals(parsed, "lamda");
    expect_error_at("option_reals", "did you mean \"lambda\"?", __FILE__, __LINE__ - 1);
    cp_option_given(parsed, "rat");
    expect_error_at("option_text", "did you mean \"rate\"?", __FILE__, __LINE__ - 1);
    errors_release();
}

static void status_needs_no_arguments_and_no_required_options(void) {
    static const cp_option  needs[] = {{.name = "data", .kind = CP_OPTION_TEXT, .required = true}, {0}};
    static const cp_command study = {.name = "study", .arguments = "FILE", .options = needs, .study = true};
    TEST_ASSERT_TRUE_MESSAGE(parse_for(&study, "--status folder"), status.message);
    TEST_ASSERT_EQUAL_STRING("folder", cp_option_text(parsed, "status"));
    TEST_ASSERT_TRUE_MESSAGE(parse_for(&study, "--status folder --json"), status.message);
    TEST_ASSERT_FALSE(parse_for(&study, "--status folder file"));
    TEST_ASSERT_EQUAL_STRING("--status cannot be combined with \"file\"", status.message);
    TEST_ASSERT_FALSE(parse_for(&study, "--status folder --data x"));
    TEST_ASSERT_EQUAL_STRING("--status cannot be combined with --data", status.message);
    TEST_ASSERT_FALSE(parse_for(&study, "file"));
    TEST_ASSERT_EQUAL_STRING("--data TEXT is required", status.message);
}

static void missing_extra_and_repeated_values_are_refused(void) {
    refused("--rate", "--rate", "needs a value");
    refused("--rate --steps 5", "--rate", "needs a value");
    refused("--geometry", "--geometry", "reported|printed");
    refused("--report=yes", "--report", "takes no value");
    refused("--rate 1 --rate 1", "--rate", "twice");
    refused("a b c", "\"c\"", "FILE [MORE]");
}

static void required_options_and_arguments_must_be_given(void) {
    static const cp_option  needs[] = {{.name = "out", .kind = CP_OPTION_TEXT, .value = "PROBS.npy", .required = true}, {0}};
    static const cp_command strict = {.name = "strict", .arguments = "A B", .options = needs};
    char                   *words[] = {"a", "b", "--out", "x"};
    TEST_ASSERT_NULL(cp_options_parse("couplet", &strict, 2, words, &help, &status));
    TEST_ASSERT_NOT_NULL(strstr(status.message, "--out PROBS.npy"));
    status = (cp_status){0};
    TEST_ASSERT_NULL(cp_options_parse("couplet", &strict, 1, words, &help, &status));
    TEST_ASSERT_NOT_NULL(strstr(status.message, "A B"));
    parsed = cp_options_parse("couplet", &strict, 4, words, &help, &status);
    TEST_ASSERT_EQUAL_STRING("x", cp_option_text(parsed, "out"));
}

static void help_takes_precedence_and_lists_every_option(void) {
    TEST_ASSERT_FALSE(parse("--nonsense 4 --help"));
    TEST_ASSERT_TRUE(help);
    char  *text = NULL;
    size_t size;
    FILE  *file = open_memstream(&text, &size);
    cp_command_help(file, "couplet", &command, NULL);
    fclose(file);
    const char *parts[] = {
        "tries options", "--rate",  "(default 0.001)", "(default 3000 steps)", "--geometry reported|printed", "--seed", "--threads",
        "--out DIR",     "--quiet", "--json",          "couplet try --steps 5"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, parts[i]), parts[i]);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) TEST_ASSERT_LESS_OR_EQUAL(100, strlen(line));
    free(text);
}

static void options_are_forwarded_and_a_study_has_its_own(void) {
    static const cp_option  own[] = {{.name = "rate", .kind = CP_OPTION_TEXT, .fallback = "many"}, {0}};
    static const cp_command study = {
        .name = "study", .purpose = "p", .options = own, .study = true, .without = "seed|trial", .forwards_to = &command};
    char       *words[] = {"--slurm", "--jobs=3", "--steps=7"};
    bool        help;
    cp_options *o = cp_options_parse("kit", &study, 3, words, &help, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(o, status.message);
    TEST_ASSERT_EQUAL_STRING("", cp_option_text(o, "slurm"));
    TEST_ASSERT_EQUAL_INT64(3, cp_option_int(o, "jobs"));
    TEST_ASSERT_TRUE(cp_option_given(o, "steps"));
    TEST_ASSERT_EQUAL_STRING("many", cp_option_text(o, "rate")); /* its own option, not the other command's */
    TEST_ASSERT_NULL(cp_option_text(o, "status"));
    cp_options_free(o);
    o = cp_options_parse("kit", &study, 1, (char *[]){"--slurm=--time=1:00 -p x"}, &help, &status);
    TEST_ASSERT_EQUAL_STRING("--time=1:00 -p x", cp_option_text(o, "slurm"));
    cp_options_free(o);
    TEST_ASSERT_NULL(cp_options_parse("kit", &study, 1, (char *[]){"--trial=1"}, &help, &status));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "there is no option --trial"), status.message);
    TEST_ASSERT_NULL(cp_options_parse("kit", &study, 1, (char *[]){"--steps=x"}, &help, &status));
}

/* ---- tables ---- */

static void columns_of_tables_are_aligned(void) {
    char     *text = NULL;
    size_t    size;
    FILE     *file = open_memstream(&text, &size);
    cp_table *t = cp_table_new(3, "method", "ours", "paper");
    cp_table_text(t, "hybrid");
    cp_table_mean_sd(t, 97.678, 0.614, 2);
    cp_table_text(t, "97.54 (0.35)");
    cp_table_text(t, "m\xC3\xA9thode");
    cp_table_mean_sd(t, NAN, 1, 2);
    cp_table_number(t, 5, 1);
    cp_table_print(t, file);
    fclose(file);
    TEST_ASSERT_EQUAL_STRING("method           ours         paper\n"
                             "-------  ------------  ------------\n"
                             "hybrid   97.68 (0.61)  97.54 (0.35)\n"
                             "m\xC3\xA9thode             -           5.0\n",
                             text);
    free(text);
    cp_json_writer w = {0};
    cp_table_put(t, &w, NULL);
    TEST_ASSERT_TRUE(cp_json_writer_finish(&w, &status));
    cp_json  *json = cp_json_parse(w.out.data, w.out.size, "table", &status);
    cp_table *back = cp_table_new(0);
    cp_table_read(back, json);
    file = open_memstream(&text, &size);
    cp_table_print(back, file);
    fclose(file);
    TEST_ASSERT_NOT_NULL(strstr(text, "hybrid   97.68 (0.61)  97.54 (0.35)\n"));
    free(text);
    cp_table_free(back);
    cp_table_free(t);
    cp_json_free(json);
    cp_json_writer_free(&w);
}

static void columns_of_words_are_left_aligned(void) {
    static const char *const cells[] = {"a", "softmax", "-", "-0.5", "b", "jem", "-", "diverged (1 of 2)"};
    char                    *text = NULL;
    size_t                   size;
    FILE                    *file = open_memstream(&text, &size);
    cp_table                *t = cp_table_new(4, "set", "method", "value", "gain");
    for (int i = 0; i < 8; i++) cp_table_text(t, "%s", cells[i]);
    cp_table_print(t, file);
    cp_table_latex(t, (cp_table_groups){0}, file);
    fclose(file);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, "a    softmax      -               -0.5\n"
                                              "b    jem          -  diverged (1 of 2)\n"),
                                 text);
    TEST_ASSERT_NOT_NULL(strstr(text, "{tabular}{llrr@{ }r}"));
    TEST_ASSERT_NOT_NULL(strstr(text, "b & jem & -- & diverged & (1 of 2) \\\\\n"));
    free(text);
    cp_table_free(t);
}

static double processor_time_to_print(int rows, char **text) {
    size_t    size;
    FILE     *file = open_memstream(text, &size);
    cp_table *t = cp_table_new(3, "set", "method", "accuracy, %");
    for (int i = 0; i < rows; i++) {
        cp_table_text(t, "%d", i);
        cp_table_text(t, i < 29999 ? "jem" : "hybrid");
        cp_table_number(t, i, 1);
    }
    clock_t start = clock();
    cp_table_print(t, file);
    fclose(file);
    cp_table_free(t);
    return (double)(clock() - start);
}

/* If time grew with the square of the number of rows, it would be a hundred times as long. Other processes may slow down one attempt. */
static void a_table_of_30000_rows_takes_as_long_to_print_as_100_of_300(void) {
    char *text = NULL;
    bool  linear = false;
    for (int attempt = 0; attempt < 5 && !linear; attempt++) {
        double small = 0;
        for (int i = 0; i < 100; i++) {
            small += processor_time_to_print(300, &text);
            free(text);
        }
        linear = processor_time_to_print(30000, &text) < 20 * small;
        TEST_ASSERT_NOT_NULL(strstr(text, "\n0      jem             0.0\n1      jem             1.0\n"));
        TEST_ASSERT_NOT_NULL(strstr(text, "\n29999  hybrid      29999.0\n"));
        free(text);
    }
    TEST_ASSERT_TRUE(linear);
}

static void texts_are_quoted_where_csv_needs_it(void) {
    char  *text = NULL;
    size_t size;
    FILE  *file = open_memstream(&text, &size);
    cp_csv_text(file, "plain text");
    cp_csv_text(file, "a, b");
    cp_csv_text(file, "\"c\"");
    fclose(file);
    TEST_ASSERT_EQUAL_STRING("plain text\"a, b\"\"\"\"c\"\"\"", text);
    free(text);
}

static void tables_are_also_written_as_latex(void) {
    char     *text = NULL;
    size_t    size;
    FILE     *file = open_memstream(&text, &size);
    cp_table *t = cp_table_new(2, "method", "accuracy, %");
    cp_table_text(t, "a \"b\" & c_d");
    cp_table_number(t, 5, 1);
    cp_table_mean_sd(t, 7, NAN, 1);
    cp_table_mean_sd(t, NAN, NAN, 1);
    cp_table_latex(t, (cp_table_groups){0}, file);
    fclose(file);
    TEST_ASSERT_EQUAL_STRING("% needs \\usepackage{booktabs}\n\\begin{tabular}{lr}\n\\toprule\n"
                             "method & accuracy, \\% \\\\\n\\midrule\n"
                             "a \"b\" \\& c\\_d & 5.0 \\\\\n7.0 & -- \\\\\n\\bottomrule\n\\end{tabular}\n",
                             text);
    free(text);
    cp_table_free(t);
}

static void in_latex_groups_are_separated_their_best_is_bold_and_numbers_are_aligned(void) {
    static const char *const cells[] = {"Blood",   "1",
                                        "softmax", "39.4 (5.8)",
                                        "5.5",     "-0.5 (2 of 3, p 1)",
                                        "Blood",   "1",
                                        "jem",     "99.9 (0.1), 5 of 10",
                                        "0.1",     "-",
                                        "Blood",   "1",
                                        "hybrid",  "39.4 (12.7)",
                                        "4.5",     "+1.5 (3 of 3, p 0.2)",
                                        "Blood",   "10",
                                        "softmax", "50.0 (1.0)",
                                        "7.0",     "+0.1 (1 of 1, p 1)",
                                        "Liver",   "10",
                                        "softmax", "<1|a",
                                        "7.0",     "-",
                                        "Liver",   "10",
                                        "hybrid",  "60.0",
                                        "8.0",     "-"};
    char                    *text = NULL;
    size_t                   size;
    FILE                    *file = open_memstream(&text, &size);
    cp_table                *t = cp_table_new(6, "set", "labels", "method", "accuracy, % (end)", "ECE", "gain");
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) cp_table_text(t, "%s", cells[i]);
    cp_table_latex(t, (cp_table_groups){2, (int[]){0, 0, 0, 1, -1, 0}}, file);
    fclose(file);
    TEST_ASSERT_EQUAL_STRING("% needs \\usepackage{booktabs}\n\\begin{tabular}{lrlr@{ }rrr@{ }r}\n\\toprule\n"
                             "set & labels & method & \\multicolumn{2}{r}{\\shortstack[r]{accuracy, \\%\\\\(end)}} & ECE & "
                             "\\multicolumn{2}{r}{gain} \\\\\n"
                             "\\midrule\n"
                             "Blood & 1 & softmax & \\textbf{39.4} & (5.8) & 5.5 & $-$0.5 & (2 of 3, p 1) \\\\\n"
                             " &  & jem, 5 of 10 & 99.9 & (0.1) & 0.1 & -- &  \\\\\n" /* of other runs: not compared */
                             " &  & hybrid & \\textbf{39.4} & (12.7) & \\textbf{4.5} & $+$1.5 & (3 of 3, p 0.2) \\\\\n"
                             "\\addlinespace\n"
                             " & 10 & softmax & 50.0 & (1.0) & 7.0 & $+$0.1 & (1 of 1, p 1) \\\\\n" /* alone in its group */
                             "\\midrule\n"
                             "Liver & 10 & softmax & $<$1$|$a &  & \\textbf{7.0} & -- &  \\\\\n"
                             " &  & hybrid & 60.0 &  & 8.0 & -- &  \\\\\n"
                             "\\bottomrule\n\\end{tabular}\n",
                             text);
    free(text);
    cp_table_free(t);
}

static void control_characters_in_cells_do_not_reach_the_terminal(void) {
    char     *text = NULL;
    size_t    size;
    FILE     *file = open_memstream(&text, &size);
    cp_table *t = cp_table_new(2, "a\x1b[2Jb", "ok");
    cp_table_text(t, "%s", "x\x07y\xffz");
    cp_table_text(t, "%s", "\xC3\xA4");
    cp_table_print(t, file);
    cp_table_latex(t, (cp_table_groups){0}, file);
    fclose(file);
    TEST_ASSERT_EQUAL_INT(0, strncmp(text, "a?[2Jb  ok\n------  --\nx?y?z   \xC3\xA4\n%", 32));
    for (const char *c = text; *c; c++) TEST_ASSERT_TRUE(*c == '\n' || (*c >= 32 && *c != 127) || (unsigned char)*c >= 0x80);
    free(text);
    cp_table_free(t);
}

/* ---- defaults that depend on a choice ---- */

static const cp_option preset_table[] = {
    {.name = "preset", .kind = CP_OPTION_CHOICE, .choices = "quick|paper", .fallback = "quick"},
    {.name = "kind", .kind = CP_OPTION_CHOICE, .choices = "a|b|c", .fallback = "a"},
    {.name = "rate", .kind = CP_OPTION_REAL, .fallback = "0.001", .help = "of Adam"},
    {.name = "steps", .kind = CP_OPTION_INT, .fallback = "10", .min = 1, .max = 100},
    {0}};
static const cp_default preset_defaults[] = {{"preset", "paper", "kind", "b"},
                                             {"preset", "paper", "rate", "0.1"},
                                             {"kind", "b", "rate", "0.2"},
                                             {"kind", "c", "steps", "30"},
                                             {0}};
static const cp_command with_presets = {.name = "preset", .options = preset_table, .defaults = preset_defaults};

static void defaults_depend_on_another_options_value(void) {
    TEST_ASSERT_TRUE(parse_for(&with_presets, ""));
    TEST_ASSERT_TRUE(cp_option_real(parsed, "rate") == 0.001);
    TEST_ASSERT_TRUE(parse_for(&with_presets, "--kind c"));
    TEST_ASSERT_EQUAL_INT64(30, cp_option_int(parsed, "steps"));
    TEST_ASSERT_FALSE(cp_option_given(parsed, "steps"));
    TEST_ASSERT_TRUE(parse_for(&with_presets, "--preset paper"));
    TEST_ASSERT_EQUAL_STRING("b", cp_option_text(parsed, "kind"));
}

static void of_several_matching_defaults_the_last_wins_even_indirectly(void) {
    TEST_ASSERT_TRUE(parse_for(&with_presets, "--preset paper"));
    TEST_ASSERT_TRUE(cp_option_real(parsed, "rate") == 0.2); /* paper makes kind b, and kind b the rate */
    TEST_ASSERT_TRUE(parse_for(&with_presets, "--preset paper --kind a"));
    TEST_ASSERT_TRUE(cp_option_real(parsed, "rate") == 0.1);
}

static void a_given_value_overrides_such_a_default_at_any_position(void) {
    TEST_ASSERT_TRUE(parse_for(&with_presets, "--rate 7 --preset paper"));
    TEST_ASSERT_TRUE(cp_option_real(parsed, "rate") == 7);
    TEST_ASSERT_TRUE(parse_for(&with_presets, "--preset paper --kind c --steps 5"));
    TEST_ASSERT_EQUAL_INT64(5, cp_option_int(parsed, "steps"));
}

static void help_shows_the_defaults_that_depend_on_another_option(void) {
    TEST_ASSERT_EQUAL_STRING("of Adam (default 0.001; with --preset paper 0.1; with --kind b 0.2)",
                             cp_option_about(&with_presets, &preset_table[2]).s);
    TEST_ASSERT_EQUAL_STRING("of Adam (default 0.001)", cp_option_about(NULL, &preset_table[2]).s);
}

/* Tables are written by hand; the compiler does not check the names in them. */
static void couplet_trains_presets_name_options_and_values_that_exist(void) {
    const cp_option *all[CP_OPTIONS_MAX];
    int              count = cp_command_options(&cp_command_train, all), rows = 0;
    for (const cp_default *d = cp_command_train.defaults; d->when; d++, rows++) {
        int  when = 0, option = 0;
        char line[200];
        while (when < count && strcmp(all[when]->name, d->when) != 0) when++;
        while (option < count && strcmp(all[option]->name, d->option) != 0) option++;
        TEST_ASSERT_TRUE_MESSAGE(when < count && option < count && when < option, d->option);
        snprintf(line, sizeof line, "data.npz --%s %s --%s %s", d->when, d->is, d->option, d->value);
        TEST_ASSERT_TRUE_MESSAGE(parse_for(&cp_command_train, line), status.message);
    }
    TEST_ASSERT_TRUE(rows > 0);
}

static void the_preset_paper_of_couplet_train_has_the_papers_values(void) {
    TEST_ASSERT_TRUE(parse_for(&cp_command_train, "data.npz --preset paper"));
    TEST_ASSERT_EQUAL_INT64(150, cp_option_int(parsed, "epochs"));
    TEST_ASSERT_EQUAL_INT64(100, cp_option_int(parsed, "sgld"));
    TEST_ASSERT_TRUE(cp_option_real(parsed, "rate") == 1e-4 && cp_option_real(parsed, "alpha") == 2);
    TEST_ASSERT_TRUE(cp_option_real(parsed, "noise") == 0.01 && cp_option_real(parsed, "clamp") == 0);
    TEST_ASSERT_EQUAL_STRING("any", cp_option_text(parsed, "range"));
    TEST_ASSERT_EQUAL_STRING("none", cp_option_text(parsed, "flip"));
    TEST_ASSERT_EQUAL_INT64(0, cp_option_int(parsed, "shift"));
    TEST_ASSERT_EQUAL_STRING("hybrid", cp_option_text(parsed, "method"));
    TEST_ASSERT_TRUE(parse_for(&cp_command_train, "data.npz --preset jem"));
    TEST_ASSERT_EQUAL_STRING("jem", cp_option_text(parsed, "method"));
}

/* ---- progress ---- */

static double pretended;
static double pretended_clock(void) { return pretended; }

static int lines_of(double seconds, int64_t total, bool quiet, char **text) {
    size_t      size;
    FILE       *file = tmpfile();
    cp_progress p = {.label = "training", .unit = "steps", .total = total, .quiet = quiet};
    int         lines = 0;
    p.file = file;
    p.clock = pretended_clock;
    pretended = 0;
    cp_progress_start(&p);
    for (int64_t i = 1; i <= total; i++) {
        pretended = seconds * (double)i / (double)total;
        cp_progress_update(&p, i, "loss 0.25");
    }
    cp_progress_end(&p);
    size = (size_t)ftell(file);
    *text = calloc(size + 1, 1);
    rewind(file);
    TEST_ASSERT_EQUAL_UINT64(size, fread(*text, 1, size, file));
    fclose(file);
    for (char *c = *text; *c; c++) lines += *c == '\n';
    return lines;
}

static void progress_in_a_pipe_is_printed_as_a_few_plain_lines(void) {
    char *text;
    TEST_ASSERT_EQUAL_INT(10, lines_of(1000, 5000, false, &text));
    TEST_ASSERT_NULL(strchr(text, '\r'));
    TEST_ASSERT_NULL(strchr(text, '\033'));
    TEST_ASSERT_NOT_NULL(strstr(text, "training  50 %  5.00 steps/s  loss 0.25  8 min 20 s left\n"));
    free(text);
    TEST_ASSERT_EQUAL_INT(0, lines_of(5, 5000, false, &text));
    free(text);
    TEST_ASSERT_EQUAL_INT(3, lines_of(35, 5000, false, &text));
    free(text);
    TEST_ASSERT_EQUAL_INT(0, lines_of(1000, 5000, true, &text));
    free(text);
}

static void progress_may_show_any_text_in_place_of_the_loss(void) {
    char        text[400] = "", longest[300];
    FILE       *file = tmpfile();
    cp_progress p = {.label = "training", .unit = "steps", .total = 10, .file = file, .clock = pretended_clock};
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    pretended = 0;
    cp_progress_start(&p);
    pretended = 20;
    cp_progress_update(&p, 5, "gap +0.31  val 78.4 %");
    pretended = 40;
    cp_progress_update(&p, 10, longest); /* is cut, and ends the line */
    cp_progress_end(&p);
    rewind(file);
    TEST_ASSERT_NOT_NULL(fgets(text, sizeof text, file));
    TEST_ASSERT_EQUAL_STRING("training  50 %  0.25 steps/s  gap +0.31  val 78.4 %  20 s left\n", text);
    TEST_ASSERT_NOT_NULL(fgets(text, sizeof text, file));
    TEST_ASSERT_TRUE(text[strlen(text) - 1] == '\n');
    fclose(file);
}

static void durations_are_easy_to_read(void) {
    TEST_ASSERT_EQUAL_STRING("0.5 s", cp_duration_text(0.5).s);
    TEST_ASSERT_EQUAL_STRING("12 s", cp_duration_text(12.2).s);
    TEST_ASSERT_EQUAL_STRING("3 min 20 s", cp_duration_text(200).s);
    TEST_ASSERT_EQUAL_STRING("2 h 05 min", cp_duration_text(7500).s);
    TEST_ASSERT_EQUAL_STRING("?", cp_duration_text(INFINITY).s);
    TEST_ASSERT_EQUAL_STRING("?", cp_duration_text(NAN).s);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(without_arguments_all_options_have_their_defaults);
    RUN_TEST(values_follow_a_space_or_an_equals_sign);
    RUN_TEST(whole_numbers_may_be_written_as_reals);
    RUN_TEST(two_dashes_end_the_options);
    RUN_TEST(unknown_options_are_named_with_the_nearest_known_one);
    RUN_TEST(wrong_values_are_named_with_what_was_expected);
    RUN_TEST(a_number_may_be_given_as_its_word);
    RUN_TEST(a_wrong_name_is_misuse_at_the_callers_line_with_the_nearest_name);
    RUN_TEST(status_needs_no_arguments_and_no_required_options);
    RUN_TEST(missing_extra_and_repeated_values_are_refused);
    RUN_TEST(required_options_and_arguments_must_be_given);
    RUN_TEST(help_takes_precedence_and_lists_every_option);
    RUN_TEST(columns_of_tables_are_aligned);
    RUN_TEST(columns_of_words_are_left_aligned);
    RUN_TEST(a_table_of_30000_rows_takes_as_long_to_print_as_100_of_300);
    RUN_TEST(texts_are_quoted_where_csv_needs_it);
    RUN_TEST(tables_are_also_written_as_latex);
    RUN_TEST(options_are_forwarded_and_a_study_has_its_own);
    RUN_TEST(in_latex_groups_are_separated_their_best_is_bold_and_numbers_are_aligned);
    RUN_TEST(control_characters_in_cells_do_not_reach_the_terminal);
    RUN_TEST(defaults_depend_on_another_options_value);
    RUN_TEST(of_several_matching_defaults_the_last_wins_even_indirectly);
    RUN_TEST(a_given_value_overrides_such_a_default_at_any_position);
    RUN_TEST(help_shows_the_defaults_that_depend_on_another_option);
    RUN_TEST(couplet_trains_presets_name_options_and_values_that_exist);
    RUN_TEST(the_preset_paper_of_couplet_train_has_the_papers_values);
    RUN_TEST(progress_in_a_pipe_is_printed_as_a_few_plain_lines);
    RUN_TEST(progress_may_show_any_text_in_place_of_the_loss);
    RUN_TEST(durations_are_easy_to_read);
    return UNITY_END();
}
