/* Lists of runs: quoting for sh, the state of a run from its folder, damage, processes, file systems without locks. */
#include "experiments/kit/metrics/paired.h"
#include "experiments/kit/run/runs.h"

#include "core/scratch.h"
#include "core/threads.h"
#include "experiments/study/image_study.h"
#include "experiments/study/paper.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

static cp_status status;
static cp_runs  *runs;
static bool      no_locks;
static char      printed[4096];

/* Simulates a file system without locks if the test asks for it. glibc has the function under two names. */
#ifdef __GLIBC__
#define REAL __real_fcntl64
#else
#define REAL __real_fcntl
#endif
int REAL(int file, int command, void *argument);
int __wrap_fcntl(int file, int command, void *argument);
int __wrap_fcntl64(int file, int command, void *argument);

int __wrap_fcntl64(int file, int command, void *argument) {
    if (no_locks && (command == F_SETLK || command == F_SETLKW || command == F_GETLK)) {
        errno = ENOLCK;
        return -1;
    }
    return REAL(file, command, argument);
}

int __wrap_fcntl(int file, int command, void *argument) { return __wrap_fcntl64(file, command, argument); }

void setUp(void) {
    scratch_make();
    status = (cp_status){0};
    no_locks = false;
    runs = cp_runs_new(scratch("study"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(runs, status.message);
}

void tearDown(void) {
    char command[600];
    cp_runs_free(runs);
    snprintf(command, sizeof command, "rm -rf '%s'", scratch("study"));
    TEST_ASSERT_EQUAL_INT(0, system(command));
    scratch_remove();
}

static void add(const char *name, int count, const char *const *words) {
    cp_words list = {0};
    for (int i = 0; i < count; i++) cp_words_add(&list, "%s", words[i]);
    TEST_ASSERT_TRUE_MESSAGE(cp_runs_add(runs, name, "group", &list, &status), status.message);
}

/* A run that is a script of sh, which finds its folder in $out. */
static void add_script(const char *name, const char *script) {
    char text[600];
    snprintf(text, sizeof text, "out=${0#--out=}; mkdir -p \"$out\"; %s", script);
    runs->executable = "/bin/sh";
    add(name, 2, (const char *[]){"-c", text});
}

#define FINISHES "echo '{}' >\"$out/config.json\"; echo '{\"found\": 1}' >\"$out/result.json\""

static void put_file(int run, const char *name, const char *text) {
    char path[1200];
    TEST_ASSERT_TRUE(cp_folder_make(cp_runs_folder(runs, run).s, &status));
    snprintf(path, sizeof path, "%s/%s", cp_runs_folder(runs, run).s, name);
    TEST_ASSERT_TRUE_MESSAGE(cp_file_write(path, text, strlen(text), &status), status.message);
}

/* `kit try --status STUDY`, say, and what it prints. */
static int of_study(const char *option, int (*function)(const cp_options *options)) {
    static const cp_command study = {.name = "try", .study = true};
    char                    path[544], *words[] = {(char *)option, path};
    bool                    help;
    snprintf(path, sizeof path, "%s", scratch("study"));
    cp_options *o = cp_options_parse("kit", &study, 2, words, &help, &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(o, status.message);
    int   out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO), dup2(fileno(file), STDERR_FILENO);
    int code = function(o);
    fflush(stdout);
    dup2(out, STDOUT_FILENO), dup2(err, STDERR_FILENO);
    close(out), close(err);
    rewind(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
    fclose(file);
    cp_options_free(o);
    return code;
}

static void has_no_control_characters(const char *text) {
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 && *c != '\n') TEST_FAIL_MESSAGE(text);
}

/* ---- words ---- */

static void arguments_are_quoted_where_sh_needs_it(void) {
    static const char *const words[] = {"plain-1.5,2=3", "two words", "it's", "$HOME;`x`\"", "", "a\\b"};
    cp_bytes                 line = {0};
    char                     back[300];
    cp_bytes_text(&line, "printf '%s\\n'");
    for (int i = 0; i < 6; i++) cp_bytes_text(&line, " "), cp_shell_quote(&line, words[i]);
    cp_bytes_append(&line, "", 1);
    TEST_ASSERT_NOT_NULL(strstr((char *)line.data, " plain-1.5,2=3 'two words'"));
    FILE *pipe = popen((char *)line.data, "r");
    back[fread(back, 1, sizeof back - 1, pipe)] = '\0';
    pclose(pipe);
    TEST_ASSERT_EQUAL_STRING("plain-1.5,2=3\ntwo words\nit's\n$HOME;`x`\"\n\na\\b\n", back);
    cp_bytes_free(&line);
}

static void a_command_is_a_line_with_its_folder(void) {
    cp_bytes line = {0};
    char     expected[900];
    add("a", 2, (const char *[]){"train", "my data.npz"});
    snprintf(runs->program, sizeof runs->program, "couplet");
    for (int threads = 0; threads <= 2; threads += 2) { /* 0: others run at the same time */
        cp_words command = cp_runs_command(runs, 0, threads);
        cp_words_put_line(&command, &line);
        cp_words_free(&command);
    }
    cp_bytes_append(&line, "", 1);
    snprintf(
        expected, sizeof expected,
        "couplet train 'my data.npz' --out=%s/study/runs/a --threads=1 --quiet\ncouplet train 'my data.npz' --out=%s/study/runs/a "
        "--threads=2 --quiet\n",
        scratch_folder, scratch_folder);
    TEST_ASSERT_EQUAL_STRING(expected, (char *)line.data);
    cp_bytes_free(&line);
}

static void two_runs_of_one_name_are_refused(void) {
    add("a", 0, NULL);
    add("b", 0, NULL);
    TEST_ASSERT_TRUE_MESSAGE(cp_runs_check(runs, &status), status.message);
    add("a", 0, NULL);
    TEST_ASSERT_FALSE(cp_runs_check(runs, &status));
    says(&status, "two runs would both be called a,");
}

static void a_list_is_kept_and_read_back(void) {
    add("a", 2, (const char *[]){"train", "x y"});
    add("b", 1, (const char *[]){"train"});
    TEST_ASSERT_TRUE_MESSAGE(cp_runs_save(runs, &status), status.message);
    cp_runs *back = cp_runs_load(scratch("study/"), &status);
    TEST_ASSERT_NOT_NULL_MESSAGE(back, status.message);
    TEST_ASSERT_EQUAL_INT(2, back->count);
    TEST_ASSERT_EQUAL_STRING("x y", back->at[0].words.at[1]);
    TEST_ASSERT_EQUAL_STRING("b", back->at[1].name);
    TEST_ASSERT_EQUAL_STRING("group", back->at[1].group);
    cp_runs_free(back);
}

static void a_folder_without_a_study_is_refused(void) {
    TEST_ASSERT_NULL(cp_runs_load(scratch_folder, &status));
    says(&status, "is not a study");
    cp_runs *other = cp_runs_new(scratch_folder, &status);
    TEST_ASSERT_FALSE(cp_runs_check(other, &status));
    says(&status, "is not empty and is not a study");
    cp_runs_free(other);
    scratch_write("file", "x", 1);
    TEST_ASSERT_NULL(cp_runs_new(scratch("file"), &status));
    says(&status, "is a file");
    char path[1000];
    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = '\0';
    TEST_ASSERT_NULL(cp_runs_new(path, &status));
    says(&status, "too long");
}

static void copied_runs_make_a_study_and_runs_of_other_commands_do_not(void) {
    cp_folder_make(scratch("study/runs/train-20260131-235959"), &status);
    add("a", 0, NULL);
    add("b", 0, NULL);
    TEST_ASSERT_FALSE(cp_runs_check(runs, &status));
    says(&status, "is not empty and is not a study");
    put_file(1, "result.json", "{\"found\": 1}");
    TEST_ASSERT_TRUE_MESSAGE(cp_runs_check(runs, &status), status.message);
}

/* ---- looking ---- */

static void the_state_of_a_run_is_read_from_its_folder(void) {
    static const char *const names[] = {"none", "empty", "begun", "done", "diverged", "failed",
                                        "torn", "bad",   "line",  "half", "silent",   "list"};
    for (int i = 0; i < 12; i++) add(names[i], 0, NULL);
    cp_folder_make(cp_runs_folder(runs, 1).s, &status);
    put_file(2, "config.json", "{}");
    put_file(2, "log.jsonl", "{}\n{\"half");
    put_file(3, "config.json", "{}");
    put_file(3, "result.json", "{\"found\": 1}");
    put_file(4, "config.json", "{}");
    put_file(4, "result.json", "{\"diverged\": true}");
    cp_folder_make(scratch("study/failed"), &status);
    TEST_ASSERT_TRUE(cp_file_write(cp_runs_failure_path(runs, 5).s, "x", 1, &status));
    put_file(6, "config.json", "{}");
    put_file(6, "result.json", "{\"a\":");
    put_file(7, "config.json", "");
    put_file(8, "config.json", "{}");
    put_file(8, "log.jsonl", "{oops}\n");
    put_file(9, "result.json", "{\"found\": 1}");
    put_file(10, "config.json", "{}");
    put_file(10, "result.json", "{}");
    put_file(11, "config.json", "[1]");
    static const cp_run_stage expected[] = {CP_STAGE_PENDING,  CP_STAGE_PENDING, CP_STAGE_PENDING, CP_STAGE_DONE,
                                            CP_STAGE_DIVERGED, CP_STAGE_FAILED,  CP_STAGE_DAMAGED, CP_STAGE_DAMAGED,
                                            CP_STAGE_DAMAGED,  CP_STAGE_DAMAGED, CP_STAGE_DAMAGED, CP_STAGE_DAMAGED};
    for (int i = 0; i < 12; i++) TEST_ASSERT_EQUAL_INT_MESSAGE(expected[i], cp_runs_stage(runs, i), names[i]);
}

static void runs_of_other_commands_are_counted(void) {
    add("a", 0, NULL);
    TEST_ASSERT_EQUAL_INT(0, cp_runs_count_others(runs));
    for (int i = 1; i < 4; i++) add((const char *[]){"b", "c", "d.damaged-1"}[i - 1], 0, NULL);
    for (int i = 0; i < 4; i++) put_file(i, i == 2 ? "notes.txt" : "config.json", "{}"); /* c is not a run */
    TEST_ASSERT_EQUAL_INT(0, cp_runs_count_others(runs));
    cp_runs *some = cp_runs_new(scratch("study"), &status);
    cp_words words = {0};
    TEST_ASSERT_TRUE(cp_runs_add(some, "a", "group", &words, &status));
    TEST_ASSERT_EQUAL_INT(1, cp_runs_count_others(some));
    cp_runs_free(some);
}

static void a_file_that_cannot_be_read_is_not_damaged(void) {
    static const char *const files[] = {"config.json", "result.json", "log.jsonl"};
    for (int i = 0; i < 3; i++) {
        char path[1200];
        add(files[i], 0, NULL);
        for (int k = 0; k < 3; k++)
            if (k != i) put_file(i, files[k], "{\"found\": 1}\n");
        snprintf(path, sizeof path, "%s/%s", cp_runs_folder(runs, i).s, files[i]);
        TEST_ASSERT_TRUE(cp_folder_make(path, &status));
        TEST_ASSERT_NOT_EQUAL_MESSAGE(CP_STAGE_DAMAGED, cp_runs_stage(runs, i), files[i]);
    }
    TEST_ASSERT_EQUAL_INT(CP_STAGE_PENDING, cp_runs_stage(runs, 1));
}

static void a_run_is_running_while_its_log_is_locked(void) {
    int ready[2], go[2];
    add("a", 0, NULL);
    put_file(0, "log.jsonl", "{}\n");
    TEST_ASSERT_TRUE(pipe(ready) == 0 && pipe(go) == 0);
    pid_t child = fork();
    if (child == 0) {
        char         path[1200], byte = 'x';
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        snprintf(path, sizeof path, "%s/log.jsonl", cp_runs_folder(runs, 0).s);
        int file = open(path, O_RDWR);
        _exit(fcntl(file, F_SETLK, &lock) != 0 || write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1);
    }
    char byte;
    TEST_ASSERT_EQUAL_INT(1, read(ready[0], &byte, 1));
    TEST_ASSERT_EQUAL_INT(CP_STAGE_RUNNING, cp_runs_stage(runs, 0));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    TEST_ASSERT_EQUAL_INT(CP_STAGE_PENDING, cp_runs_stage(runs, 0)); /* the lock of a dead process blocks nobody */
    close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
}

static void damage_is_moved_aside(void) {
    add("a", 0, NULL);
    for (int i = 1; i <= 2; i++) {
        char path[1200];
        put_file(0, "config.json", "{");
        TEST_ASSERT_TRUE_MESSAGE(cp_runs_quarantine(runs, &status), status.message);
        TEST_ASSERT_EQUAL_INT(CP_STAGE_PENDING, cp_runs_stage(runs, 0));
        snprintf(path, sizeof path, "%s.damaged-%d/config.json", cp_runs_folder(runs, 0).s, i);
        TEST_ASSERT_EQUAL_INT(0, access(path, F_OK));
    }
}

static void damaged_weights_are_moved_aside_unless_the_run_is_done(void) {
    char path[1200];
    add("cut", 0, NULL);
    add("done", 0, NULL);
    add("deep", 0, NULL);
    add("other", 0, NULL);
    for (int i = 0; i < 4; i++) put_file(i, "config.json", "{}");
    put_file(1, "result.json", "{\"found\": 1}");
    put_file(0, "checkpoint.safetensors", "");
    put_file(1, "selected.safetensors", "cut");
    snprintf(path, sizeof path, "%s/lambda-1", cp_runs_folder(runs, 2).s);
    cp_folder_make(path, &status);
    put_file(2, "lambda-1/checkpoint.safetensors", "cut");
    put_file(3, "notes.txt", "cut");
    TEST_ASSERT_TRUE_MESSAGE(cp_runs_quarantine(runs, &status), status.message);
    for (int i = 0; i < 4; i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(i == 0 || i == 2 ? -1 : 0, access(cp_runs_folder(runs, i).s, F_OK), runs->at[i].name);
    snprintf(path, sizeof path, "%s.damaged-1/lambda-1", cp_runs_folder(runs, 2).s);
    TEST_ASSERT_EQUAL_INT(0, access(path, F_OK));
}

static void a_file_system_without_locks_is_refused(void) {
    no_locks = true;
    TEST_ASSERT_FALSE(cp_runs_quarantine(runs, &status));
    says(&status, "cannot be locked");
}

/* ---- runs.jsonl ---- */

#define LINE(name, result) "{\"name\":\"" name "\",\"config\":{\"experiment\":\"train\"},\"result\":" result "}\n"

static void reopen(void) {
    cp_runs_free(runs);
    runs = cp_runs_open(scratch("study"), &status);
}

static void reopen_with(const char *lines) {
    TEST_ASSERT_TRUE_MESSAGE(cp_file_write(scratch("study/runs.jsonl"), lines, strlen(lines), &status), status.message);
    reopen();
}

static void lines_are_finished_runs(void) {
    reopen_with(LINE("b", "{\"found\": 2}") LINE("a", "{\"diverged\": true}") LINE("other", "{\"found\": 3}"));
    TEST_ASSERT_NOT_NULL_MESSAGE(runs, status.message);
    add("a", 0, NULL);
    add("b", 0, NULL);
    add("c", 0, NULL);
    TEST_ASSERT_TRUE_MESSAGE(cp_runs_check(runs, &status), status.message); /* the file makes the folder a study */
    TEST_ASSERT_EQUAL_INT(CP_STAGE_DIVERGED, cp_runs_stage(runs, 0));
    TEST_ASSERT_EQUAL_INT(CP_STAGE_DONE, cp_runs_stage(runs, 1));
    TEST_ASSERT_EQUAL_INT(CP_STAGE_PENDING, cp_runs_stage(runs, 2));
    TEST_ASSERT_EQUAL_INT(1, cp_runs_count_others(runs));
    cp_json *result = cp_runs_read(runs, "b", CP_RUN_RESULT), *made = cp_runs_read(runs, "b", CP_RUN_CONFIG);
    TEST_ASSERT_EQUAL_INT64(2, cp_json_integer(cp_json_get(result, "found"), 0));
    TEST_ASSERT_EQUAL_STRING("train", cp_json_string(cp_json_get(made, "experiment"), ""));
    TEST_ASSERT_NULL(cp_runs_read(runs, "c", CP_RUN_RESULT));
    cp_json_free(result);
    cp_json_free(made);
}

static void the_folder_of_a_run_overrides_its_line(void) {
    reopen_with(LINE("a", "{\"found\": 1}") LINE("b", "{\"found\": 1}"));
    add("a", 0, NULL);
    add("b", 0, NULL);
    put_file(0, "config.json", "{}");
    put_file(1, "config.json", "{}");
    put_file(1, "result.json", "{\"found\": 2}");
    TEST_ASSERT_EQUAL_INT(CP_STAGE_PENDING, cp_runs_stage(runs, 0));
    cp_json *result = cp_runs_read(runs, "b", CP_RUN_RESULT);
    TEST_ASSERT_EQUAL_INT64(2, cp_json_integer(cp_json_get(result, "found"), 0));
    cp_words stored = cp_runs_stored(runs);
    TEST_ASSERT_EQUAL_INT(2, stored.count);
    cp_words_free(&stored);
    cp_json_free(result);
}

static void a_damaged_line_is_named_by_its_number(void) {
    static const char *const bad[] = {"{oops}\n",
                                      "[1]\n",
                                      "\n",
                                      "{\"name\":\"b\",\"conf",
                                      LINE("", "{\"found\": 1}"),
                                      LINE("b", "{}"),
                                      LINE("b", "[1]"),
                                      "{\"name\":\"b\",\"result\":{\"found\":1}}\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400];
        snprintf(text, sizeof text, "%s%s", LINE("a", "{\"found\": 1}"), bad[i]);
        reopen_with(text);
        TEST_ASSERT_NULL_MESSAGE(runs, bad[i]);
        TEST_ASSERT_EQUAL_INT(CP_STATUS_DAMAGED, status.kind);
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(status.message, "runs.jsonl, line 2"), status.message);
        says(&status, "remove the line");
    }
    reopen_with(LINE("a", "{\"found\": 1}") LINE("a", "{\"found\": 1}"));
    TEST_ASSERT_NULL(runs);
    says(&status, "the run a appears twice");
}

static int pack(void) { return of_study("--pack", cp_runs_pack); }

static void packing_keeps_finished_runs_and_the_lines_of_earlier_ones(void) {
    static const char expected[] = "{\"name\":\"a\",\"config\":{},\"result\":{\"found\":0.1}}\n" /* as it was */
                                   "{\"name\":\"old\",\"config\":{},\"result\":{\"found\":3}}\n"
                                   "{\"name\":\"z\",\"config\":{},\"result\":{\"found\":2}}\n";
    reopen_with(
        "{\"name\":\"old\",\"config\":{},\"result\":{\"found\":3}}\n{\"name\":\"z\",\"config\":{},\"result\":{\"found\":1}}\n");
    static const char *const names[] = {"z", "a", "begun", "torn", "empty"};
    for (int i = 0; i < 5; i++) add(names[i], 0, NULL), put_file(i, "config.json", "{}");
    put_file(0, "result.json", "{\"found\": 2}");
    put_file(1, "result.json", "{\n  \"found\": 0.1\n}\n");
    put_file(3, "result.json", "{\"found\":");
    put_file(4, "result.json", "{}");
    for (int again = 0; again < 2; again++) {
        TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, pack());
        scratch_holds("study/runs.jsonl", expected, strlen(expected));
    }
    TEST_ASSERT_EQUAL_INT(0, access(cp_runs_folder(runs, 0).s, F_OK)); /* nothing is removed */
}

static void a_folder_without_finished_runs_is_not_packed(void) {
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, pack());
    add("begun", 0, NULL);
    put_file(0, "config.json", "{}");
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, pack());
    TEST_ASSERT_EQUAL_INT(-1, access(scratch("study/runs.jsonl"), F_OK));
    TEST_ASSERT_TRUE(cp_file_write(scratch("study/runs.jsonl"), "{oops}\n", 7, &status));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, pack());
    scratch_holds("study/runs.jsonl", "{oops}\n", 7); /* what is damaged is not overwritten */
}

/* ---- doing ---- */

static bool do_all(int jobs) {
    return cp_runs_execute(runs, (cp_runs_config){.jobs = jobs, .threads = 1, .quiet = true, .called = "try"}, &status);
}

static int do_one(const cp_options *o) {
    (void)o;
    return do_all(1) ? CP_EXIT_OK : CP_EXIT_FAILED;
}

static void runs_are_made_in_parallel_and_only_once(void) {
    for (int i = 0; i < 7; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        add_script(name, "echo x >>\"$out/times\"; " FINISHES);
    }
    TEST_ASSERT_TRUE_MESSAGE(do_all(3), status.message);
    TEST_ASSERT_TRUE_MESSAGE(do_all(2), status.message);
    for (int i = 0; i < 7; i++) {
        char path[100];
        snprintf(path, sizeof path, "study/runs/r%d/times", i);
        scratch_holds(path, "x\n", 2);
    }
}

static void a_failure_is_reported_and_kept_and_does_not_stop_the_others(void) {
    add_script("bad", "echo 'no such luck' >&2; exit 1");
    add_script("killed", "kill -9 $$");
    add_script("good", FINISHES);
    TEST_ASSERT_FALSE(do_all(1));
    says(&status, "2 of 3 runs failed");
    scratch_holds("study/failed/bad.txt", "no such luck\n", 13);
    scratch_holds("study/failed/killed.txt", "it was killed by signal 9\n", 26);
    TEST_ASSERT_EQUAL_INT(CP_STAGE_FAILED, cp_runs_stage(runs, 0));
    TEST_ASSERT_EQUAL_INT(CP_STAGE_DONE, cp_runs_stage(runs, 2));
}

static void failures_of_finished_runs_are_removed(void) {
    add_script("a", "mkdir -p \"$out/../../failed\"; echo killed >\"$out/../../failed/a.txt\"; " FINISHES);
    add_script("b", FINISHES);
    TEST_ASSERT_TRUE_MESSAGE(do_all(1), status.message); /* another process reported a failure while this one made the run */
    TEST_ASSERT_EQUAL_INT(-1, access(cp_runs_failure_path(runs, 0).s, F_OK));
    TEST_ASSERT_EQUAL_INT(-1, access(scratch("study/failed"), F_OK));
}

static void control_characters_in_outside_text_do_not_reach_the_terminal(void) {
    static const char list[] = "{\"runs\": [{\"name\": \"a\\u001b[7m\", \"command\": []}, {\"name\": \"held\", \"command\": []}]}";
    add("a\033[7m", 0, NULL);
    TEST_ASSERT_TRUE(cp_folder_make(scratch("study/failed"), &status));
    TEST_ASSERT_TRUE(cp_file_write(cp_runs_failure_path(runs, 0).s, "first\nlast \033[2J\r\n", 17, &status));
    TEST_ASSERT_TRUE(cp_file_write(scratch("study/study.json"), list, strlen(list), &status));
    TEST_ASSERT_EQUAL_INT(CP_EXIT_OK, of_study("--status", cp_runs_status));
    has_no_control_characters(printed);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(printed, "a?[7m: last ?[2J?\n"), printed);
    cp_runs_free(runs);
    runs = cp_runs_new(scratch("study"), &status);
    add_script("b", "printf 'no \\033[2Jluck\\nat all\\n' >&2; exit 1");
    TEST_ASSERT_EQUAL_INT(CP_EXIT_FAILED, of_study("--status", do_one));
    has_no_control_characters(printed);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(printed, "b failed: no ?[2Jluck\nat all\n"), printed);
}

static void a_run_without_its_data_is_not_started(void) {
    add_script("there", FINISHES);
    add_script("gone", "echo x >>\"$out/times\"; " FINISHES);
    runs->at[1].without_data = true;
    TEST_ASSERT_TRUE_MESSAGE(do_all(1), status.message);
    TEST_ASSERT_FALSE(cp_runs_is_pending(runs, 1));
    TEST_ASSERT_EQUAL_INT(CP_STAGE_DONE, cp_runs_stage(runs, 0));
    TEST_ASSERT_EQUAL_INT(-1, access(cp_runs_folder(runs, 1).s, F_OK));
}

static void a_program_that_cannot_be_started_is_reported(void) {
    add_script("a", FINISHES);
    runs->executable = "/nowhere/couplet";
    TEST_ASSERT_FALSE(do_all(1));
    says(&status, "1 of 1 runs failed");
    TEST_ASSERT_EQUAL_INT(CP_STAGE_FAILED, cp_runs_stage(runs, 0));
}

static void a_run_locked_by_another_process_is_waited_for(void) {
    /* The first call leaves a process that finishes the run after the second call. */
    add_script("a",
               "echo 'another process is running in this folder' >&2; [ -e \"$out/first\" ] && echo x >\"$out/second\" && exit 1\n"
               "echo x >\"$out/first\"; (while [ -e \"$out/first\" -a ! -e \"$out/second\" ]; do sleep 0.1; done; " FINISHES
               ") & exit 1");
    TEST_ASSERT_TRUE_MESSAGE(do_all(1), status.message);
    TEST_ASSERT_EQUAL_INT(CP_STAGE_DONE, cp_runs_stage(runs, 0));
}

/* ---- results of studies of images ---- */

static void the_sign_test_is_the_binomial_test(void) {
    TEST_ASSERT_TRUE(cp_sign_test(0, 0) == 1);
    TEST_ASSERT_TRUE(cp_sign_test(5, 5) == 1);
    TEST_ASSERT_TRUE(cp_sign_test(10, 0) == 2.0 / 1024);
    TEST_ASSERT_TRUE(cp_sign_test(1, 9) == 22.0 / 1024);
    TEST_ASSERT_TRUE(cp_sign_test(8, 2) == 112.0 / 1024);
    TEST_ASSERT_TRUE(cp_sign_test(1, 4) == 0.375); /* which is printed as 0.38 */
    TEST_ASSERT_TRUE(cp_sign_test(1, 0) == 1);
    TEST_ASSERT_TRUE(cp_sign_test(2000, 2000) == 1);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.11749506836896137, cp_sign_test(1950, 2050)); /* by Python's fractions */
    TEST_ASSERT_TRUE(cp_sign_test(0, 5000) == 0);
}

static void the_papers_values_cover_its_six_sets(void) {
    TEST_ASSERT_EQUAL_STRING("Blood", cp_paper_set("bloodmnist_rebuilt"));
    TEST_ASSERT_EQUAL_STRING("OrganS", cp_paper_set("organsmnist"));
    TEST_ASSERT_NULL(cp_paper_set("bloodmnistic"));
    TEST_ASSERT_NULL(cp_paper_set("phantom"));
    TEST_ASSERT_TRUE(cp_paper_find("pneumoniamnist", 10, &cp_method_hybrid)->accuracy.mean == 81.28);
    TEST_ASSERT_TRUE(cp_paper_find("bloodmnist", 1, &cp_method_softmax)->ece.sd == 8.444);
    TEST_ASSERT_NULL(cp_paper_find("bloodmnist", 100, &cp_method_softmax));
    TEST_ASSERT_NULL(cp_paper_find("bloodmnist", 1, NULL));
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(arguments_are_quoted_where_sh_needs_it);
    RUN_TEST(a_command_is_a_line_with_its_folder);
    RUN_TEST(two_runs_of_one_name_are_refused);
    RUN_TEST(a_list_is_kept_and_read_back);
    RUN_TEST(a_folder_without_a_study_is_refused);
    RUN_TEST(copied_runs_make_a_study_and_runs_of_other_commands_do_not);
    RUN_TEST(the_state_of_a_run_is_read_from_its_folder);
    RUN_TEST(runs_of_other_commands_are_counted);
    RUN_TEST(a_file_that_cannot_be_read_is_not_damaged);
    RUN_TEST(a_run_is_running_while_its_log_is_locked);
    RUN_TEST(damage_is_moved_aside);
    RUN_TEST(damaged_weights_are_moved_aside_unless_the_run_is_done);
    RUN_TEST(a_file_system_without_locks_is_refused);
    RUN_TEST(lines_are_finished_runs);
    RUN_TEST(the_folder_of_a_run_overrides_its_line);
    RUN_TEST(a_damaged_line_is_named_by_its_number);
    RUN_TEST(packing_keeps_finished_runs_and_the_lines_of_earlier_ones);
    RUN_TEST(a_folder_without_finished_runs_is_not_packed);
    RUN_TEST(runs_are_made_in_parallel_and_only_once);
    RUN_TEST(a_failure_is_reported_and_kept_and_does_not_stop_the_others);
    RUN_TEST(failures_of_finished_runs_are_removed);
    RUN_TEST(control_characters_in_outside_text_do_not_reach_the_terminal);
    RUN_TEST(a_run_without_its_data_is_not_started);
    RUN_TEST(a_program_that_cannot_be_started_is_reported);
    RUN_TEST(a_run_locked_by_another_process_is_waited_for);
    RUN_TEST(the_sign_test_is_the_binomial_test);
    RUN_TEST(the_papers_values_cover_its_six_sets);
    return UNITY_END();
}
