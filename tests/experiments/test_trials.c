/* Trials and studies: each trial is made once, reused after a stop, and marked if it diverged; and what is kept of them. */
#include "experiments/kit/run/study.h"

#include "core/child.h"
#include "core/scratch.h"
#include "core/threads.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { CASES = 3, REPEATS = 4 };

static const double     factors[CASES] = {1, 10, 100};
static const cp_case    cases[] = {{.name = "one", .data = &factors[0], .advice = ": take less"},
                                   {.name = "ten", .data = &factors[1], .advice = ": take less"},
                                   {.name = "hundred", .data = &factors[2], .secondary = true},
                                   {0}};
static const cp_measure measures[] = {{"draw", "draw, %", 3, false}, {"half", NULL, 1, true}, {0}};
static const cp_command command = {.name = "try", .purpose = "tries trials"};

static cp_options *parsed;
static cp_status   status;
static char        folder[544], said[8192];

/* What the trials of a test do, and how often they were made. */
static atomic_int made[CASES][REPEATS];
static int        diverging_case, stopping_trial, failing_trial, interrupting_trial;

static void remove_run(void) {
    static const char *const names[] = {"config.json", "log.jsonl", "result.json", "boxes.svg", "boxes.csv", "report.html", NULL};
    for (int i = 0; names[i]; i++) {
        char name[700];
        snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        remove(name);
    }
    rmdir(folder);
}

void setUp(void) {
    scratch_make();
    snprintf(folder, sizeof folder, "%s", scratch("run"));
    status = (cp_status){0};
    memset(made, 0, sizeof made);
    diverging_case = stopping_trial = failing_trial = interrupting_trial = -1;
}

void tearDown(void) {
    cp_options_free(parsed);
    parsed = NULL;
    cp_threads_set(0);
    remove_run();
    scratch_remove();
}

static const cp_options *options(const char *more) {
    static char *words[4];
    bool         help;
    words[0] = "--out", words[1] = folder, words[2] = more ? (char *)more : "--quiet";
    cp_options_free(parsed);
    parsed = cp_options_parse("kit", &command, 3, words, &help, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(parsed, status.message);
    return parsed;
}

static cp_trial_end draw(cp_trial *trial) {
    int    number = trial->repeat * CASES + (int)(trial->study_case - cases);
    cp_rng rng = cp_trial_stream(trial, "draw");
    double value = cp_rng_uniform(&rng) * *(const double *)trial->study_case->data;
    made[trial->study_case - cases][trial->repeat]++;
    if (number == interrupting_trial) raise(SIGINT);
    if (number == stopping_trial || cp_interrupted()) return CP_TRIAL_STOPPED;
    if (number == failing_trial) {
        cp_fail(&trial->status, "data.npz: no such file");
        return CP_TRIAL_STOPPED;
    }
    cp_trial_put(trial, "draw", value);
    cp_trial_put(trial, "half", value / 2);
    return trial->study_case - cases == diverging_case && trial->repeat > 0 ? CP_TRIAL_DIVERGED : CP_TRIAL_DONE;
}

static const cp_trials_config config = {.cases = cases, .measures = measures, .repeats = REPEATS, .trial = draw};

static cp_study *study_of(const char *more, cp_trials_config asked) { return cp_study_new(options(more), "Trying", asked); }

static int made_in_all(void) {
    int count = 0;
    for (int i = 0; i < CASES * REPEATS; i++) count += made[i % CASES][i / CASES];
    return count;
}

/* Runs a whole study, and keeps its output on stdout and stderr. */
static int run_study(const char *more, cp_trials_config asked) {
    int   out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    cp_study *study = study_of(more, asked);
    cp_study_run(study);
    int code = cp_study_close(study);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    return code;
}

static cp_json *result_read(void) {
    cp_json *result = cp_json_read(scratch("run/result.json"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(result, status.message);
    return result;
}

static const cp_json *of_case(const cp_json *result, const char *name) { return cp_json_get(cp_json_get(result, "methods"), name); }

static void is_said(const char *part) { TEST_ASSERT_NOT_NULL_MESSAGE(strstr(said, part), said); }

/* ---- trials ---- */

static void every_trial_is_made_once_with_the_stream_of_its_repetition(void) {
    cp_study *study = study_of(NULL, config);
    TEST_ASSERT_TRUE(cp_study_run(study));
    for (int c = 0; c < CASES; c++) {
        const double *each = cp_trials_values(study->trials, c, "draw"), *half = cp_trials_values(study->trials, c, "half");
        for (int r = 0; r < REPEATS; r++) {
            char name[32];
            snprintf(name, sizeof name, "draw.%d", r);
            cp_rng rng = cp_rng_named(1, name);
            double expected = cp_rng_uniform(&rng) * factors[c];
            TEST_ASSERT_EQUAL_INT(1, made[c][r]);
            TEST_ASSERT_TRUE(each[r] == expected && half[r] == expected / 2);
        }
    }
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_study_close(study));
}

static void results_have_the_same_bytes_with_any_number_of_threads(void) {
    cp_bytes first = {0}, second = {0};
    cp_threads_set(1);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, run_study(NULL, config));
    TEST_ASSERT_TRUE(cp_file_read(scratch("run/result.json"), 1 << 20, &first, &status));
    remove_run();
    cp_threads_set(4);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, run_study(NULL, config));
    TEST_ASSERT_TRUE(cp_file_read(scratch("run/result.json"), 1 << 20, &second, &status));
    TEST_ASSERT_EQUAL_UINT64(first.size, second.size);
    TEST_ASSERT_EQUAL_MEMORY(first.data, second.data, first.size);
    cp_bytes_free(&first);
    cp_bytes_free(&second);
}

static int interrupt_one(void *unused) {
    (void)unused;
    cp_threads_set(1);
    interrupting_trial = 5;
    int code = run_study(NULL, config);
    return made_in_all() == 6 ? code : 99;
}

static void an_interrupted_study_reuses_its_trials_and_runs_only_the_others(void) {
    char   errors[2048];
    cp_rng rng = cp_rng_named(1, "draw.0");
    if (!CHILD_MAY_START_THREADS) TEST_IGNORE_MESSAGE("the thread sanitizer loses a signal with a one-time handler");
    double expected = cp_rng_uniform(&rng);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_INTERRUPTED, child_run(interrupt_one, NULL, errors, sizeof errors));
    cp_study *study = study_of(NULL, config);
    TEST_ASSERT_TRUE(cp_study_run(study));
    for (int i = 0; i < CASES * REPEATS; i++) TEST_ASSERT_EQUAL_INT(i >= 5, made[i % CASES][i / CASES]);
    TEST_ASSERT_TRUE(cp_trials_values(study->trials, 0, "draw")[0] == expected); /* back from the log to the last bit */
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_study_close(study));
}

static void a_finished_study_is_shown_and_not_run_again(void) {
    run_study(NULL, config);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, run_study("--seed=1", config));
    TEST_ASSERT_EQUAL_INT(CASES * REPEATS, made_in_all());
    is_said("finished");
    is_said("draw, %");
}

static void log_lines_that_are_not_trials_of_this_study_are_ignored(void) {
    stopping_trial = 0;
    cp_threads_set(1);
    run_study(NULL, config);
    FILE *log = fopen(scratch("run/log.jsonl"), "a");
    fputs("{\"trial\":-1,\"draw\":5}\n{\"trial\":99999,\"draw\":5}\n{\"trial\":\"two\"}\n{\"trial\":1.5}\n", log);
    fclose(log);
    stopping_trial = -1;
    memset(made, 0, sizeof made);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, run_study(NULL, config));
    TEST_ASSERT_EQUAL_INT(CASES * REPEATS, made_in_all());
}

static void a_trial_that_stops_without_a_reason_is_named(void) {
    stopping_trial = 1 * CASES + 1;
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, run_study(NULL, config));
    is_said("kit try: ten, repetition 2: it could not be completed");
    TEST_ASSERT_NOT_EQUAL(0, access(scratch("run/result.json"), F_OK));
}

static void a_trial_that_fails_gives_its_reason(void) {
    failing_trial = 2;
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, run_study(NULL, config));
    is_said("hundred, repetition 1: data.npz: no such file");
}

static pthread_t    caller;
static atomic_int   elsewhere;
static cp_trial_end where(cp_trial *trial) {
    elsewhere += !pthread_equal(pthread_self(), caller);
    return draw(trial);
}

static void one_at_a_time_runs_on_the_calling_thread(void) {
    cp_trials_config alone = config;
    alone.trial = where;
    alone.one_at_a_time = true;
    caller = pthread_self();
    cp_threads_set(4);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, run_study(NULL, alone));
    TEST_ASSERT_EQUAL_INT(0, elsewhere);
    TEST_ASSERT_EQUAL_INT(CASES * REPEATS, made_in_all());
}

/* ---- series ---- */

static cp_trial_end learn(cp_trial *trial) {
    cp_trial_end end = draw(trial);
    for (int step = 0; step < 5; step++)
        cp_trial_put_point(trial, "half", 10 * step, step == 2 ? NAN : (trial->repeat + 1) / (step + 1.0));
    return end;
}

static cp_trials_config curves(void) {
    static const cp_measure with_a_curve[] = {{"draw", "draw, %", 3, false}, {"half", NULL, 1, false}, {0}};
    cp_trials_config        learning = config;
    learning.trial = learn;
    learning.measures = with_a_curve;
    return learning;
}

static void has_curves(const cp_trials *trials) {
    for (int c = 0; c < CASES; c++)
        for (int r = 0; r < REPEATS; r++) {
            cp_trial_series half = cp_trials_series(trials, c, r, "half");
            TEST_ASSERT_EQUAL_INT(5, half.count);
            for (int i = 0; i < 5; i++) {
                TEST_ASSERT_TRUE(half.x[i] == 10 * i);
                TEST_ASSERT_TRUE(i == 2 ? isnan(half.y[i]) : half.y[i] == (r + 1) / (i + 1.0));
            }
            TEST_ASSERT_EQUAL_INT(0, cp_trials_series(trials, c, r, "draw").count);
        }
}

static void a_series_is_recorded_point_by_point(void) {
    diverging_case = 1;
    cp_study *study = study_of(NULL, curves());
    TEST_ASSERT_TRUE(cp_study_run(study));
    has_curves(study->trials);                                                  /* of trials that diverged, too */
    TEST_ASSERT_TRUE(cp_trials_values(study->trials, 0, "half")[1] == 2 / 5.0); /* the last point */
    TEST_ASSERT_TRUE(isnan(cp_trials_values(study->trials, 1, "half")[1]));
    cp_study_close(study);
    cp_json       *result = result_read();
    const cp_json *series = cp_json_get(cp_json_get(of_case(result, "one"), "half"), "series"), *second = cp_json_at(series, 1);
    TEST_ASSERT_EQUAL_UINT64(REPEATS, series->count);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_at(cp_json_get(second, "x"), 4), 0) == 40);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_at(cp_json_get(second, "y"), 4), 0) == 2 / 5.0);
    TEST_ASSERT_EQUAL_INT(CP_JSON_NULL, cp_json_at(cp_json_get(second, "y"), 2)->kind);
    TEST_ASSERT_NULL(cp_json_get(cp_json_get(of_case(result, "one"), "draw"), "series"));
    cp_json_free(result);
}

static int interrupt_curves(void *unused) {
    (void)unused;
    cp_threads_set(1);
    interrupting_trial = 5;
    return run_study(NULL, curves());
}

static void series_are_read_back_from_the_log(void) {
    char errors[2048];
    if (!CHILD_MAY_START_THREADS) TEST_IGNORE_MESSAGE("the thread sanitizer loses a signal whose handler is for one time");
    TEST_ASSERT_EQUAL_INT(CP_EXIT_INTERRUPTED, child_run(interrupt_curves, NULL, errors, sizeof errors));
    cp_study *study = study_of(NULL, curves());
    TEST_ASSERT_TRUE(cp_study_run(study));
    TEST_ASSERT_EQUAL_INT(CASES * REPEATS - 5, made_in_all());
    has_curves(study->trials);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_study_close(study));
}

/* ---- folders ---- */

static void leave(cp_trial *trial, const char *text) {
    cp_file_path file = cp_folder_path(cp_trial_folder(trial).s, "note");
    cp_file_write(file.s, text, strlen(text), &trial->status);
}

static cp_trial_end leave_a_note(cp_trial *trial) {
    leave(trial, trial->study_case->name);
    return draw(trial);
}

static void every_trial_has_a_folder(void) {
    cp_trials_config noting = config;
    noting.trial = leave_a_note;
    cp_study *study = study_of(NULL, noting);
    TEST_ASSERT_TRUE(cp_study_run(study));
    for (int c = 0; c < CASES; c++)
        for (int r = 0; r < REPEATS; r++) {
            cp_file_path folder_of = cp_study_trial_folder(study, c, r), file = cp_folder_path(folder_of.s, "note");
            cp_bytes     text = {0};
            TEST_ASSERT_TRUE_MESSAGE(cp_file_read(file.s, 100, &text, &status), status.message);
            TEST_ASSERT_EQUAL_UINT64(strlen(cases[c].name), text.size);
            TEST_ASSERT_EQUAL_MEMORY(cases[c].name, text.data, text.size);
            cp_bytes_free(&text);
            remove(file.s), remove(folder_of.s);
        }
    TEST_ASSERT_EQUAL_INT(0, rmdir(scratch("run/trials")));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_study_close(study));
}

static cp_trial_end in_its_run(cp_trial *trial) {
    leave(trial, "here");
    return learn(trial);
}

/* As --jobs and --list start it. */
static void a_trial_that_is_a_run_has_that_folder_and_its_series_in_the_result(void) {
    static const cp_command alone = {.name = "try", .purpose = "tries trials", .study = true};
    char                   *words[] = {"--out", folder, "--trial=4", "--quiet"};
    cp_trials_config        one = curves();
    bool                    help;
    one.trial = in_its_run;
    parsed = cp_options_parse("kit", &alone, 4, words, &help, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(parsed, status.message);
    cp_study *study = cp_study_new(parsed, "Trying", one);
    TEST_ASSERT_FALSE(cp_study_run(study));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_study_close(study));
    scratch_holds("run/note", "here", 4);
    cp_json       *result = result_read();
    const cp_json *half = cp_json_get(cp_json_get(result, "series"), "half");
    TEST_ASSERT_EQUAL_STRING("ten", cp_json_string(cp_json_get(result, "case"), ""));
    TEST_ASSERT_EQUAL_UINT64(5, cp_json_get(half, "y")->count);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_at(cp_json_get(half, "y"), 4), 0) == 2 / 5.0);
    cp_json_free(result);
    remove(scratch("run/note"));
}

/* ---- what is kept ---- */

static void the_result_has_the_main_cases_and_measures_and_a_table(void) {
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, run_study("--seed=1", config));
    is_said("Results: ");
    cp_json       *result = result_read();
    const cp_json *one = of_case(result, "one"), *found = cp_json_get(one, "draw"), *each = cp_json_get(found, "each");
    double         values[REPEATS];
    TEST_ASSERT_EQUAL_STRING("try", cp_json_string(cp_json_get(result, "experiment"), ""));
    TEST_ASSERT_EQUAL_STRING("Trying", cp_json_string(cp_json_get(result, "title"), ""));
    TEST_ASSERT_EQUAL_UINT64(REPEATS, each->count);
    for (int r = 0; r < REPEATS; r++) values[r] = cp_json_number(cp_json_at(each, (size_t)r), NAN);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(found, "mean"), NAN) == cp_mean_sd_of(values, REPEATS).mean);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(found, "sd"), NAN) == cp_mean_sd_of(values, REPEATS).sd);
    TEST_ASSERT_NULL(cp_json_get(one, "half"));
    TEST_ASSERT_NULL(cp_json_get(one, "diverged"));
    TEST_ASSERT_NULL(of_case(result, "hundred"));
    const cp_json *table = cp_json_get(result, "table");
    TEST_ASSERT_EQUAL_UINT64(2, cp_json_get(table, "columns")->count);
    TEST_ASSERT_EQUAL_UINT64(2, cp_json_get(table, "rows")->count);
    cp_json_free(result);
}

static void a_case_that_diverged_has_no_mean_and_the_study_fails(void) {
    diverging_case = 1;
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, run_study("--seed=1", config));
    is_said("diverged (3 of 4)");
    is_said("ten diverged: take less.\n");
    is_said("kit try: ten diverged in 3 of 4 repetitions: take less; the results are in ");
    cp_json       *result = result_read();
    const cp_json *ten = of_case(result, "ten"), *draws = cp_json_get(ten, "draw"), *each = cp_json_get(draws, "each");
    TEST_ASSERT_EQUAL_INT64(3, cp_json_integer(cp_json_get(ten, "diverged"), 0));
    TEST_ASSERT_EQUAL_INT(CP_JSON_NULL, cp_json_get(draws, "mean")->kind);
    TEST_ASSERT_EQUAL_INT(CP_JSON_NUMBER, cp_json_at(each, 0)->kind);
    TEST_ASSERT_EQUAL_INT(CP_JSON_NULL, cp_json_at(each, 1)->kind);
    TEST_ASSERT_EQUAL_INT(CP_JSON_NUMBER, cp_json_get(cp_json_get(of_case(result, "one"), "draw"), "mean")->kind);
    cp_json_free(result);
}

static void a_secondary_case_that_diverged_gives_a_note_and_not_a_failure(void) {
    diverging_case = 2;
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, run_study("--seed=1", config));
    is_said("hundred diverged.\n");
}

static cp_trial_end always_diverged(cp_trial *trial) {
    (void)trial;
    return CP_TRIAL_DIVERGED;
}

static void cases_with_the_same_advice_share_a_note(void) {
    cp_trials_config hopeless = config;
    hopeless.trial = always_diverged;
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, run_study("--seed=1", hopeless));
    is_said("\none, ten diverged: take less.\nhundred diverged.\n");
}

static cp_trial_end without_numbers(cp_trial *trial) {
    (void)trial;
    return CP_TRIAL_DONE;
}

static void a_missing_number_is_not_a_divergence(void) {
    cp_trials_config empty = config;
    empty.trial = without_numbers;
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, run_study("--seed=1", empty));
    TEST_ASSERT_NULL(strstr(said, "diverged"));
    is_said("one           -\n");
}

static void one_repetition_has_no_standard_deviation_in_its_table(void) {
    cp_trials_config once = config;
    once.repeats = 1;
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, run_study("--seed=1", once));
    cp_json       *result = result_read();
    const cp_json *row = cp_json_at(cp_json_get(cp_json_get(result, "table"), "rows"), 0);
    double         value = cp_json_number(cp_json_get(cp_json_get(of_case(result, "one"), "draw"), "mean"), NAN);
    char           expected[16];
    snprintf(expected, sizeof expected, "%.3f", value);
    TEST_ASSERT_EQUAL_STRING(expected, cp_json_string(cp_json_at(row, 1), ""));
    cp_json_free(result);
}

static void a_studys_own_figures_notes_tables_and_members_are_kept(void) {
    cp_study *study = study_of("--report", config);
    TEST_ASSERT_TRUE(cp_study_run(study));
    cp_figure *figure = cp_figure_new((cp_figure_config){.title = "Draws"});
    cp_panel  *panel = cp_figure_panel(figure, (cp_panel_config){.y_label = "draw"});
    cp_panel_box(panel, (cp_style){0}, 0, REPEATS, cp_trials_values(study->trials, 0, "draw"), 0, 1);
    TEST_ASSERT_TRUE(cp_study_add_figure(study, figure, "boxes"));
    cp_study_add_note(study, "%d is a lot.", 100);
    cp_json_put_number(cp_study_result(study), "best", 0.5);
    cp_table *table = cp_table_new(2, "case", "half");
    cp_table_text(table, "%s", cases[2].name);
    cp_trials_put_cell(study->trials, table, 2, "half");
    cp_study_add_table(study, "halves", table);
    fflush(stdout);
    int out = dup(STDOUT_FILENO);
    TEST_ASSERT_NOT_NULL(freopen("/dev/null", "w", stdout));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_study_close(study));
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    cp_json *result = result_read();
    TEST_ASSERT_EQUAL_STRING("100 is a lot.", cp_json_string(cp_json_at(cp_json_get(result, "notes"), 0), ""));
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(result, "best"), 0) == 0.5);
    TEST_ASSERT_NULL(cp_json_get(result, "methods"));
    TEST_ASSERT_NULL(cp_json_get(result, "table"));
    TEST_ASSERT_EQUAL_UINT64(1, cp_json_get(cp_json_get(result, "halves"), "rows")->count);
    cp_json_free(result);
    TEST_ASSERT_EQUAL_INT(0, access(scratch("run/boxes.svg"), F_OK));
    TEST_ASSERT_EQUAL_INT(0, access(scratch("run/report.html"), F_OK));
}

/* ---- misuse ---- */

static char misused[256];
static void hear(const cp_error *error, void *unused) {
    (void)unused;
    const char *file = error->file ? strrchr(error->file, '/') : NULL;
    snprintf(misused, sizeof misused, "%s: %s (%s)", error->op, error->message, file ? file + 1 : "nowhere");
}

static void a_study_without_cases_measures_or_repetitions_is_misuse(void) {
    const cp_trials_config bad[] = {{.cases = cases + CASES, .measures = measures, .repeats = 1, .trial = draw},
                                    {.cases = cases, .measures = NULL, .repeats = 1, .trial = draw},
                                    {.cases = cases, .measures = measures, .repeats = 0, .trial = draw},
                                    {.cases = cases, .measures = measures, .repeats = -1, .trial = draw}};
    cp_error_handler(hear, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        *misused = '\0';
        TEST_ASSERT_NULL(cp_trials_new(bad[i]));
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(misused, "expected at least one of each (test_trials.c)"), misused);
    }
    cp_error_handler(NULL, NULL);
}

static void an_unknown_case_or_measure_is_misuse(void) {
    cp_trials *trials = cp_trials_new(config);
    cp_error_handler(hear, NULL);
    TEST_ASSERT_NULL(cp_trials_values(trials, 0, "drawn"));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(misused, "\"drawn\""), misused);
    TEST_ASSERT_NULL(cp_trials_values(trials, CASES, "draw"));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(misused, "no case 3"), misused);
    TEST_ASSERT_EQUAL_INT(0, cp_trials_diverged(trials, -1));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(misused, "no case -1"), misused);
    TEST_ASSERT_TRUE(isnan(cp_trials_mean_sd(trials, 0, "drawn").mean));
    TEST_ASSERT_EQUAL_STRING(
        "trials_values: there is no measure \"drawn\" among those of this study; did you mean \"draw\"? (test_trials.c)", misused);
    double   value = 0;
    cp_trial trial = {.trials = trials, .values = &value};
    cp_trial_put(&trial, "halv", 1);
    TEST_ASSERT_EQUAL_STRING(
        "trial_put: there is no measure \"halv\" among those of this study; did you mean \"half\"? (test_trials.c)", misused);
    cp_trial_put_point(&trial, "loss", 1, 1);
    TEST_ASSERT_EQUAL_STRING("trial_put_point: there is no measure \"loss\" among those of this study (test_trials.c)", misused);
    TEST_ASSERT_EQUAL_INT(0, cp_trials_series(trials, CASES, 0, "half").count);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(misused, "(test_trials.c)"), misused);
    cp_error_handler(NULL, NULL);
    cp_trials_free(trials);
}

static void a_study_that_could_not_be_opened_ends_without_another_message(void) {
    scratch_write("run", "x", 1);
    int err = dup(STDERR_FILENO);
    TEST_ASSERT_NOT_NULL(freopen("/dev/null", "w", stderr));
    cp_study *study = study_of(NULL, config);
    fflush(stderr);
    dup2(err, STDERR_FILENO);
    close(err);
    TEST_ASSERT_NULL(study);
    TEST_ASSERT_FALSE(cp_study_run(study));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, cp_study_close(study));
    remove(folder);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(every_trial_is_made_once_with_the_stream_of_its_repetition);
    RUN_TEST(results_have_the_same_bytes_with_any_number_of_threads);
    RUN_TEST(an_interrupted_study_reuses_its_trials_and_runs_only_the_others);
    RUN_TEST(a_finished_study_is_shown_and_not_run_again);
    RUN_TEST(log_lines_that_are_not_trials_of_this_study_are_ignored);
    RUN_TEST(a_trial_that_stops_without_a_reason_is_named);
    RUN_TEST(a_trial_that_fails_gives_its_reason);
    RUN_TEST(one_at_a_time_runs_on_the_calling_thread);
    RUN_TEST(a_series_is_recorded_point_by_point);
    RUN_TEST(series_are_read_back_from_the_log);
    RUN_TEST(every_trial_has_a_folder);
    RUN_TEST(a_trial_that_is_a_run_has_that_folder_and_its_series_in_the_result);
    RUN_TEST(the_result_has_the_main_cases_and_measures_and_a_table);
    RUN_TEST(a_case_that_diverged_has_no_mean_and_the_study_fails);
    RUN_TEST(a_secondary_case_that_diverged_gives_a_note_and_not_a_failure);
    RUN_TEST(cases_with_the_same_advice_share_a_note);
    RUN_TEST(a_missing_number_is_not_a_divergence);
    RUN_TEST(one_repetition_has_no_standard_deviation_in_its_table);
    RUN_TEST(a_studys_own_figures_notes_tables_and_members_are_kept);
    RUN_TEST(a_study_without_cases_measures_or_repetitions_is_misuse);
    RUN_TEST(an_unknown_case_or_measure_is_misuse);
    RUN_TEST(a_study_that_could_not_be_opened_ends_without_another_message);
    return UNITY_END();
}
