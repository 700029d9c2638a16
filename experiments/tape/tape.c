/* couplet tape: pages that replay a tape. */
#include "core/io/file.h"
#include "core/show/value.h"
#include "experiments/commands.h"
#include "experiments/tape/tape_demos.h"

#include <stdlib.h>
#include <string.h>

static const cp_option options[] = {
    {.name = "list", .kind = CP_OPTION_FLAG, .help = "list the demos"},
    {.name = "out", .kind = CP_OPTION_TEXT, .value = "PAGE.html", .help = "file for the page; default: DEMO.html"},
    {.name = "gradients", .kind = CP_OPTION_FLAG, .help = "also print the gradients of all leaves, by cp_grad"},
    {0}};

enum { DEMOS_MAX = 32 };

static int list(FILE *file, int code) {
    for (const cp_tape_demo *d = cp_tape_demos; d->name; d++) fprintf(file, "%-14s %s\n", d->name, d->about);
    return code;
}

static const cp_tape_demo *demo_find(const cp_options *o, const char *name) {
    const char *names[DEMOS_MAX];
    int         count = 0;
    for (const cp_tape_demo *d = cp_tape_demos; d->name; d++) {
        if (strcmp(d->name, name) == 0) return d;
        if (count < DEMOS_MAX) names[count++] = d->name;
    }
    const char *near = cp_nearest_word(name, names, count);
    cp_complain(o, "there is no tape \"%.80s\"%s%s%s", name, near ? "; did you mean " : "; ",
                near ? near : "couplet tape --list lists them", near ? "?" : "");
    return NULL;
}

static bool print_gradients(cp_tape *tape, const cp_tape_demo_record *r) {
    cp_tensor *grads[CP_TAPE_DEMO_LEAVES];
    if (!cp_grad(tape, r->loss, r->leaves, r->leaf_count, grads)) return false;
    for (int i = 0; i < r->leaf_count; i++)
        printf("d %s / d %s = %s\n", r->loss->name, r->leaves[i]->name, cp_values_text(grads[i], CP_VALUES_MAX).s);
    return true;
}

/* Makes the page in memory first, so that an error leaves an older page unchanged. */
static bool page_write(const cp_tape_demo *d, cp_tape *tape, const cp_tape_demo_record *r, const char *path, cp_status *status) {
    char   title[200], *text = NULL;
    size_t size = 0;
    FILE  *file = open_memstream(&text, &size);
    snprintf(title, sizeof title, "%s: %s", d->name, d->about);
    if (!r->loss->name) r->loss->name = "loss";
    bool ok = file && cp_tape_html_with(tape, file, r->loss,
                                        (cp_tape_page){.title = title, .file = cp_tape_demos_file, .source = cp_tape_demos_source});
    ok = file && fclose(file) == 0 && ok;
    ok = ok ? cp_file_write(path, text, size, status) : cp_fail(status, "the page of %s could not be made", d->name);
    free(text);
    return ok;
}

static int demo_run(const cp_options *o, const cp_tape_demo *d, const char *path) {
    cp_tape            *tape = cp_tape_new();
    cp_tape_demo_record r = {0};
    cp_status           status = {0};
    d->record(tape, &r);
    if (!r.loss) {
        cp_fail(&status, "%s could not be computed", d->name);
    } else if (page_write(d, tape, &r, path, &status)) {
        printf("%s: %d nodes. Open it in a browser; %s#end is the finished replay.\n", path, cp_tape_length(tape), path);
        if (cp_option_flag(o, "gradients") && !print_gradients(tape, &r)) cp_fail(&status, "the gradients could not be computed");
    }
    cp_tape_free(tape);
    cp_model_free(r.model);
    return cp_exit_code(o, &status);
}

static int run(const cp_options *o) {
    if (cp_option_flag(o, "list")) return list(stdout, CP_EXIT_OK);
    if (cp_argument_count(o) == 0) {
        cp_complain(o, "DEMO is needed; the demos are:");
        return list(stderr, CP_EXIT_USAGE);
    }
    const cp_tape_demo *d = demo_find(o, cp_argument(o, 0));
    if (!d) return CP_EXIT_USAGE;
    const char *out = cp_option_text(o, "out");
    char        path[64];
    snprintf(path, sizeof path, "%s.html", d->name);
    return demo_run(o, d, out ? out : path);
}

const cp_command cp_command_tape = {
    .name = "tape",
    .purpose = "make a page that replays how a gradient is computed, op by op and rule by rule",
    .arguments = "[DEMO]",
    .details = "The page needs a browser and nothing else. It steps forward through the record of a computation, then back through "
               "the gradient rules. It can ask you to predict the gradients, and compute with numbers that you edit. --list lists "
               "the demos; for your own tapes use cp_tape_html.",
    .example = "chain --out chain.html",
    .options = options,
    .without = "seed|quiet|json",
    .first_words = "chain|fan-out|broadcast|perceptron|conv-block|gaussian-head|second-order|wrn|wrn-sampler|wrn-penalty",
    .run = run,
};
