/* The folder of a run: what the run writes, what it finds, how it ends. */
#include "experiments/kit/report/report.h"
#include "experiments/kit/run/run.h"

#include "core/child.h"
#include "core/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

static const cp_option  options[] = {{.name = "rate", .kind = CP_OPTION_REAL, .fallback = "0.001"},
                                     {.name = "lambda", .kind = CP_OPTION_REALS, .fallback = "0,10"},
                                     {.name = "mode", .kind = CP_OPTION_CHOICE, .choices = "a|b", .fallback = "a"},
                                     {.name = "fast", .kind = CP_OPTION_FLAG},
                                     {.name = "labels", .kind = CP_OPTION_INT, .word = "all", .fallback = "10", .min = 1, .max = 99},
                                     {0}};
static const cp_command command = {.name = "try", .options = options};

static char        folder[544], heard[4096];
static cp_options *parsed;
static cp_status   status;
static int         log_opened; /* how often, other than by the run itself */

/* What cp_file_read calls; the C library has it under two names. Closing a file releases the locks of the process on it. */
int __real_openat64(int base, const char *path, int flags, mode_t mode);
int __wrap_openat(int base, const char *path, int flags, mode_t mode);
int __wrap_openat64(int base, const char *path, int flags, mode_t mode);

int __wrap_openat64(int base, const char *path, int flags, mode_t mode) {
    log_opened += strstr(path, "log.jsonl") != NULL;
    return __real_openat64(base, path, flags, mode);
}

int __wrap_openat(int base, const char *path, int flags, mode_t mode) { return __wrap_openat64(base, path, flags, mode); }

void setUp(void) {
    status = (cp_status){0};
    scratch_make();
    snprintf(folder, sizeof folder, "%s", scratch("run"));
}

static void remove_folder(const char *path) {
    static const char *const names[] = {"config.json", "log.jsonl", "result.json", "other", ".", NULL};
    for (int i = 0; names[i]; i++) {
        char name[700];
        snprintf(name, sizeof name, "%s/%s", path, names[i]);
        remove(name);
    }
    rmdir(path);
}

void tearDown(void) {
    cp_options_free(parsed);
    parsed = NULL;
    remove_folder(folder);
    scratch_remove();
}

/* Opens the run with more arguments, and keeps the output on stderr. */
static cp_run *open_run(const char *more) {
    static char *words[8];
    int          count = 0;
    bool         help;
    words[count++] = "--out";
    words[count++] = folder;
    words[count++] = "--quiet";
    if (more) words[count++] = (char *)more;
    cp_options_free(parsed);
    parsed = cp_options_parse("couplet", &command, count, words, &help, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(parsed, status.message);
    fflush(stderr);
    int   saved = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    dup2(fileno(file), STDERR_FILENO);
    cp_run *run = cp_run_open(parsed);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    heard[fread(heard, 1, sizeof heard - 1, file)] = '\0';
    fclose(file);
    return run;
}

static void refuses(const char *more, const char *part) {
    TEST_ASSERT_NULL(open_run(more));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(heard, part), heard);
}

static bool log_repeat(cp_run *run, int repeat) {
    cp_json_writer w = {0};
    cp_json_put_object(&w, NULL);
    cp_json_put_integer(&w, "repeat", repeat);
    cp_json_put_number(&w, "accuracy", 90 + 0.1 * repeat);
    cp_json_put_end(&w);
    return cp_run_log(run, &w);
}

static bool finish(cp_run *run) {
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    cp_json_put_string(&w, "experiment", "try");
    cp_json_put_end(&w);
    return cp_run_finish(run, &w);
}

static cp_json *read_json(const char *name) {
    char path[700];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return cp_json_read(path, &status);
}

static void a_run_writes_its_settings_its_log_and_its_result(void) {
    cp_run *run = open_run("--rate=0.5");
    TEST_ASSERT_NOT_NULL_MESSAGE(run, heard);
    TEST_ASSERT_EQUAL_INT(CP_RUN_NEW, run->state);
    TEST_ASSERT_TRUE(log_repeat(run, 0));
    TEST_ASSERT_TRUE(finish(run));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_run_close(run));
    cp_json *config = read_json("config.json"), *result = read_json("result.json");
    TEST_ASSERT_EQUAL_STRING("try", cp_json_string(cp_json_get(config, "experiment"), ""));
    const cp_json *o = cp_json_get(config, "options");
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(o, "rate"), 0) == 0.5);
    TEST_ASSERT_EQUAL_UINT64(2, cp_json_get(o, "lambda")->count);
    TEST_ASSERT_EQUAL_INT64(1, cp_json_integer(cp_json_get(o, "seed"), 0));
    TEST_ASSERT_NULL(cp_json_get(o, "threads"));
    TEST_ASSERT_NOT_NULL(result);
    cp_json_free(config);
    cp_json_free(result);
}

/* The line of that repetition in the log of a continued run, or NULL. */
static const cp_json *past_repeat(const cp_run *run, int64_t repeat) {
    for (int i = 0; i < run->past_count; i++)
        if (cp_json_integer(cp_json_get(run->past[i], "repeat"), -1) == repeat) return run->past[i];
    return NULL;
}

static void an_unfinished_run_is_continued_with_its_log(void) {
    cp_run *run = open_run(NULL);
    log_repeat(run, 0);
    log_repeat(run, 1);
    cp_run_close(run);
    FILE *torn = fopen(scratch("run/log.jsonl"), "a");
    fputs("{\"repeat\":2,\"acc", torn);
    fclose(torn);
    run = open_run("--threads=2");
    TEST_ASSERT_NOT_NULL_MESSAGE(run, heard);
    TEST_ASSERT_EQUAL_INT(CP_RUN_CONTINUED, run->state);
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(past_repeat(run, 1), "accuracy"), 0) == 90 + 0.1);
    TEST_ASSERT_NULL(past_repeat(run, 2));
    TEST_ASSERT_TRUE(log_repeat(run, 2));
    cp_run_close(run);
    run = open_run(NULL);
    TEST_ASSERT_NOT_NULL_MESSAGE(run, heard);
    TEST_ASSERT_NOT_NULL(past_repeat(run, 2));
    cp_run_close(run);
}

static void a_finished_run_is_found_and_kept(void) {
    cp_run *run = open_run(NULL);
    finish(run);
    cp_run_close(run);
    run = open_run(NULL);
    TEST_ASSERT_EQUAL_INT(CP_RUN_FINISHED, run->state);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_run_show(run));
}

static int show_of(const char *md5, const char *deep) {
    cp_run *run = open_run(NULL);
    TEST_ASSERT_EQUAL_INT(CP_RUN_FINISHED, run->state);
    return cp_run_show_unchanged(run, (cp_run_source[]){{"the data", "data/md5", md5}, {"the other", "a/b/md5", deep}, {0}});
}

static void a_finished_run_is_shown_only_while_its_sources_are_unchanged(void) {
    static const char result[] = "{\"data\": {\"md5\": \"12ab\"}, \"a\": {\"b\": {\"md5\": \"34cd\"}}}";
    cp_run_close(open_run(NULL));
    scratch_write("run/result.json", result, strlen(result));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, show_of("12ab", "34cd"));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, show_of("12ac", "34cd"));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, show_of("12ab", ""));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, show_of("", "34cd"));
}

static void a_run_that_diverged_is_shown_and_stays_a_failure(void) {
    cp_run_close(open_run(NULL));
    scratch_write("run/result.json", "{\"diverged\": true}", 18);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, cp_run_show(open_run(NULL)));
    scratch_write("run/result.json", "{\"diverged\": false}", 19);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_run_show(open_run(NULL)));
}

static void control_characters_in_a_result_do_not_reach_the_terminal(void) {
    static const char result[] =
        "{\"notes\": [\"a\\u001b[2J\", \"b\\nc\"], \"table\": {\"columns\": [\"set\\u0007\"], \"rows\": [[\"x\\u001b[7m\"]]}}";
    char shown[4096];
    cp_run_close(open_run(NULL));
    scratch_write("run/result.json", result, strlen(result));
    cp_run *run = open_run(NULL);
    run->quiet = false;
    int   out = dup(STDOUT_FILENO);
    FILE *file = tmpfile();
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_run_show(run));
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    rewind(file);
    shown[fread(shown, 1, sizeof shown - 1, file)] = '\0';
    fclose(file);
    TEST_ASSERT_EQUAL_STRING("set?\n-----\nx?[7m\n\na?[2J\nb\nc\n", shown);
}

static void a_different_setting_is_refused_by_its_name(void) {
    cp_run_close(open_run(NULL));
    refuses("--rate=0.002", "--rate");
    refuses("--lambda=0,11", "--lambda");
    refuses("--mode=b", "--mode");
    refuses("--fast", "--fast");
    refuses("--seed=2", "an unfinished run");
    cp_run *run = open_run(NULL);
    finish(run);
    cp_run_close(run);
    refuses("--seed=2", "a finished run");
}

static void a_run_from_before_an_option_existed_has_its_default(void) {
    cp_run_close(open_run(NULL));
    cp_json       *made = read_json("config.json");
    cp_json_writer w = {.pretty = true};
    cp_json_put_object(&w, NULL);
    for (const cp_json *m = made->first; m; m = m->next) {
        if (strcmp(m->key, "options") != 0) {
            cp_json_put_copy(&w, m->key, m);
            continue;
        }
        cp_json_put_object(&w, "options");
        for (const cp_json *o = m->first; o; o = o->next)
            if (strcmp(o->key, "mode") != 0 && strcmp(o->key, "fast") != 0) cp_json_put_copy(&w, o->key, o);
        cp_json_put_end(&w);
    }
    cp_json_put_end(&w);
    TEST_ASSERT_TRUE_MESSAGE(cp_json_writer_save(&w, scratch("run/config.json"), &status), status.message);
    cp_json_free(made);
    for (int i = 0; i < 2; i++) {
        cp_run *run = open_run(i ? "--mode=a" : NULL);
        TEST_ASSERT_NOT_NULL_MESSAGE(run, heard);
        cp_run_close(run);
    }
    refuses("--mode=b", "with another --mode");
    refuses("--fast", "with another --fast");
    refuses("--rate=0.002", "with another --rate");
}

/* An option that now also takes a word writes its numbers as texts. */
static void a_number_in_an_older_configuration_is_the_same_as_its_text(void) {
    cp_bytes text = {0};
    cp_run_close(open_run(NULL));
    TEST_ASSERT_TRUE(cp_file_read(scratch("run/config.json"), 1 << 16, &text, &status));
    cp_bytes_append(&text, "", 1);
    char *labels = strstr((char *)text.data, "\"10\"");
    TEST_ASSERT_NOT_NULL(labels);
    memcpy(labels, " 10 ", 4);
    TEST_ASSERT_TRUE(cp_file_write(scratch("run/config.json"), text.data, text.size - 1, &status));
    cp_bytes_free(&text);
    cp_run *run = open_run("--labels=10");
    TEST_ASSERT_NOT_NULL_MESSAGE(run, heard);
    cp_run_close(run);
    refuses("--labels=11", "with another --labels");
    refuses("--labels=all", "with another --labels");
}

static void a_folder_with_other_things_is_refused(void) {
    mkdir(folder, 0777);
    scratch_write("run/other", "x", 1);
    refuses(NULL, "not empty");
}

static void a_path_that_is_a_file_is_refused(void) {
    scratch_write("run", "x", 1);
    refuses(NULL, "is a file");
    char *words[] = {"--out", NULL};
    bool  help;
    char  below[600];
    snprintf(below, sizeof below, "%s/deeper", folder);
    words[1] = below;
    cp_options *o = cp_options_parse("couplet", &command, 2, words, &help, &status);
    TEST_ASSERT_FALSE(cp_folder_make(below, &status));
    says(&status, "is a file");
    cp_options_free(o);
    remove(folder);
}

/* The superuser may write everywhere, so the child becomes another user. */
static int open_as_nobody(void *unused) {
    (void)unused;
    if (geteuid() == 0 && setuid(65534) != 0) return 77;
    cp_run *run = open_run(NULL);
    return run ? 99 : strstr(heard, "Permission denied") ? 42 : 43;
}

static void a_folder_that_cannot_be_written_is_refused(void) {
    char errors[2048];
    chmod(scratch_folder, 0755);
    mkdir(folder, 0555);
    int code = child_run(open_as_nobody, NULL, errors, sizeof errors);
    if (code == 77) TEST_IGNORE_MESSAGE("the superuser cannot change to another user here");
    TEST_ASSERT_EQUAL_INT(42, code);
    rmdir(folder);
    chmod(scratch_folder, 0555);
    TEST_ASSERT_EQUAL_INT(42, child_run(open_as_nobody, NULL, errors, sizeof errors));
    chmod(scratch_folder, 0700);
}

static void a_damaged_settings_file_is_refused(void) {
    cp_run_close(open_run(NULL));
    scratch_write("run/config.json", "{\"experiment\":", 14);
    refuses(NULL, "config.json");
}

static void a_damaged_line_in_the_log_is_refused_by_its_number(void) {
    cp_run_close(open_run(NULL));
    scratch_write("run/log.jsonl", "{\"a\":1}\n{oops}\n", 15);
    refuses(NULL, "line 2");
}

/* With a limit on the size of files a write fails as on a full disk. */
static int write_until_full(void *unused) {
    (void)unused;
    cp_run *run = open_run(NULL);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){400, 400});
    int i = 0;
    while (i < 100 && cp_run_should_continue(run) && log_repeat(run, i)) i++;
    if (i == 0 || i == 100 || finish(run)) return 99;
    return cp_run_close(run);
}

static void a_full_disk_ends_the_run_with_a_message_and_complete_lines(void) {
    char errors[2048];
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, child_run(write_until_full, NULL, errors, sizeof errors));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(errors, "log.jsonl"), errors);
    cp_run *run = open_run(NULL);
    TEST_ASSERT_NOT_NULL_MESSAGE(run, heard);
    TEST_ASSERT_EQUAL_INT(CP_RUN_CONTINUED, run->state);
    TEST_ASSERT_NOT_NULL(past_repeat(run, 0));
    cp_run_close(run);
}

static int open_elsewhere(void *unused) {
    (void)unused;
    cp_run *run = open_run(NULL);
    if (run) return cp_run_close(run);
    return strstr(heard, "another process") ? 42 : 43;
}

static void two_processes_do_not_share_a_folder(void) {
    char    errors[2048];
    cp_run *run = open_run(NULL);
    TEST_ASSERT_EQUAL_INT(42, child_run(open_elsewhere, NULL, errors, sizeof errors));
    cp_run_close(run);
}

static void two_processes_do_not_share_a_continued_folder(void) {
    char errors[2048];
    cp_run_close(open_run(NULL));
    cp_run *run = open_run(NULL);
    TEST_ASSERT_EQUAL_INT(CP_RUN_CONTINUED, run->state);
    TEST_ASSERT_EQUAL_INT(42, child_run(open_elsewhere, NULL, errors, sizeof errors));
    cp_run_close(run);
}

static void a_lock_is_kept_while_the_report_is_written(void) {
    char     errors[2048];
    cp_bytes log = {0};
    cp_run  *run = open_run(NULL);
    cp_bytes_text(&log, "{\"event\":\"start\",\"time\":\"2026-01-31T23:59:59Z\"}\n");
    TEST_ASSERT_TRUE_MESSAGE(cp_report_write_run(folder, &log, scratch("page.html"), &status), status.message);
    TEST_ASSERT_EQUAL_INT(42, child_run(open_elsewhere, NULL, errors, sizeof errors));
    cp_run_close(run);
    cp_bytes_free(&log);
    TEST_ASSERT_TRUE(cp_file_read(scratch("page.html"), 1 << 20, &log, &status));
    cp_bytes_append(&log, "", 1);
    TEST_ASSERT_NOT_NULL(strstr((const char *)log.data, "2026-01-31"));
    cp_bytes_free(&log);
}

static void the_report_of_a_run_that_ends_does_not_open_its_log(void) {
    cp_run *run = open_run("--report");
    TEST_ASSERT_TRUE(finish(run));
    log_opened = 0;
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_run_close(run));
    TEST_ASSERT_EQUAL_INT(0, remove(scratch("run/report.html")));
    TEST_ASSERT_EQUAL_INT(0, log_opened);
}

static void a_process_killed_before_its_first_line_leaves_a_new_run(void) {
    cp_run_close(open_run(NULL));
    scratch_write("run/log.jsonl", "", 0);
    cp_run *run = open_run(NULL);
    TEST_ASSERT_EQUAL_INT(CP_RUN_NEW, run->state);
    cp_run_close(run);
    remove(scratch("run/config.json"));
    scratch_write("run/log.jsonl", "", 0);
    run = open_run(NULL);
    TEST_ASSERT_NOT_NULL_MESSAGE(run, heard);
    TEST_ASSERT_EQUAL_INT(CP_RUN_NEW, run->state);
    cp_run_close(run);
}

static void a_repeated_result_replaces_the_old_one(void) {
    cp_run *run = open_run(NULL);
    finish(run);
    cp_run_close(run);
    open_run("--rate=0.7"); /* refused, but parsed */
    run = cp_run_replace(parsed);
    TEST_ASSERT_NOT_NULL(run);
    TEST_ASSERT_EQUAL_INT(CP_RUN_NEW, run->state);
    TEST_ASSERT_TRUE(finish(run));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, cp_run_close(run));
    cp_json *config = read_json("config.json");
    TEST_ASSERT_TRUE(cp_json_number(cp_json_get(cp_json_get(config, "options"), "rate"), 0) == 0.7);
    cp_json_free(config);
}

static int interrupt(void *unused) {
    (void)unused;
    cp_run *run = open_run(NULL);
    int     count = 0;
    for (; count < 10 && cp_run_should_continue(run); count++) {
        log_repeat(run, count);
        if (count == 2) raise(SIGINT);
    }
    int code = cp_run_close(run);
    return count == 3 ? code : 99;
}

static void an_interrupted_run_says_how_to_continue_and_ends_with_130(void) {
    char errors[2048];
    TEST_ASSERT_EQUAL_INT(CP_EXIT_INTERRUPTED, child_run(interrupt, NULL, errors, sizeof errors));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(errors, "continues"), errors);
    cp_run *run = open_run(NULL);
    TEST_ASSERT_EQUAL_INT(CP_RUN_CONTINUED, run->state);
    TEST_ASSERT_NOT_NULL(past_repeat(run, 2));
    cp_run_close(run);
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(a_run_writes_its_settings_its_log_and_its_result);
    RUN_TEST(an_unfinished_run_is_continued_with_its_log);
    RUN_TEST(a_finished_run_is_found_and_kept);
    RUN_TEST(a_finished_run_is_shown_only_while_its_sources_are_unchanged);
    RUN_TEST(a_run_that_diverged_is_shown_and_stays_a_failure);
    RUN_TEST(control_characters_in_a_result_do_not_reach_the_terminal);
    RUN_TEST(a_different_setting_is_refused_by_its_name);
    RUN_TEST(a_run_from_before_an_option_existed_has_its_default);
    RUN_TEST(a_number_in_an_older_configuration_is_the_same_as_its_text);
    RUN_TEST(a_folder_with_other_things_is_refused);
    RUN_TEST(a_path_that_is_a_file_is_refused);
    RUN_TEST(a_folder_that_cannot_be_written_is_refused);
    RUN_TEST(a_damaged_settings_file_is_refused);
    RUN_TEST(a_damaged_line_in_the_log_is_refused_by_its_number);
    RUN_TEST(a_full_disk_ends_the_run_with_a_message_and_complete_lines);
    RUN_TEST(two_processes_do_not_share_a_folder);
    RUN_TEST(two_processes_do_not_share_a_continued_folder);
    RUN_TEST(a_lock_is_kept_while_the_report_is_written);
    RUN_TEST(the_report_of_a_run_that_ends_does_not_open_its_log);
    RUN_TEST(a_process_killed_before_its_first_line_leaves_a_new_run);
    RUN_TEST(a_repeated_result_replaces_the_old_one);
    RUN_TEST(an_interrupted_run_says_how_to_continue_and_ends_with_130);
    return UNITY_END();
}
