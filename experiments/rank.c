/* couplet rank: which unlabeled rows to label next. */
#include "experiments/kit/train/rank.h"
#include "core/io/file.h"
#include "experiments/commands.h"
#include "experiments/kit/train/predictions.h"

#include <stdlib.h>

/* clang-format off */
static const cp_option options[] = {
    {.name = "by", .kind = CP_OPTION_CHOICE, .choices = CP_RANK_CHOICES, .fallback = "entropy",
     .help = "order: the most doubtful rows by entropy or margin of the posterior, the most usual by the model's density, mixed (doubtful and "
             "usual), or random"},
    {.name = "count", .kind = CP_OPTION_INT, .fallback = "100", .min = 1, .max = 1e9, .unit = "rows", .help = "rows to list"},
    {.name = "split", .kind = CP_OPTION_CHOICE, .choices = "train|val|test", .fallback = "train", .help = "split whose rows are ranked"},
    {.name = "out", .kind = CP_OPTION_TEXT, .value = "ROWS.csv", .help = "file for the list; default: it is printed"},
    CP_OPTION_WEIGHTS("selected"),
    {0}};
/* clang-format on */

typedef struct ranking {
    const cp_options *options;
    cp_run_model     *trained;
    cp_images        *images;
} ranking;

static void print_rows(const ranking *r, const cp_rank_row *rows, int count, FILE *file) {
    fprintf(file, "row,score,class,probability,entropy,margin%s\n", cp_run_model_generative(r->trained) ? ",density" : "");
    for (int i = 0; i < count; i++) {
        fprintf(file, "%d,%.9g,", rows[i].row, rows[i].score);
        cp_csv_text(file, cp_class_text(r->images->class_names, "", rows[i].best).s);
        fprintf(file, ",%.9g,%.9g,%.9g", rows[i].p, rows[i].entropy, 1 - rows[i].margin);
        if (cp_run_model_generative(r->trained)) fprintf(file, ",%.9g", rows[i].density);
        fputc('\n', file);
    }
}

static bool write_rows(const ranking *r, const cp_rank_row *rows, int count, const char *path, cp_status *status) {
    char  *text = NULL;
    size_t size = 0;
    FILE  *file = open_memstream(&text, &size);
    if (file) print_rows(r, rows, count, file);
    bool ok = (file && fclose(file) == 0) || cp_fail(status, "not enough memory for %d rows", count);
    ok = ok && cp_file_write(path, text, size, status);
    free(text);
    return ok;
}

static bool work(ranking *r, cp_status *status) {
    const cp_options *o = r->options;
    const char       *out = cp_option_text(o, "out");
    int               split = cp_option_choice(o, "split"), found, wanted = (int)cp_option_int(o, "count");
    cp_rank_row      *rows = cp_rank_split(r->trained, r->images, split, (cp_rank_by)cp_option_choice(o, "by"),
                                           (uint64_t)cp_option_int(o, "seed"), &found, status);
    if (!rows) return false;
    int  count = found < wanted ? found : wanted;
    bool ok = true;
    if (out)
        ok = write_rows(r, rows, count, out, status);
    else
        print_rows(r, rows, count, stdout);
    if (ok && out && !cp_option_flag(o, "quiet"))
        printf("%d of %d rows of the %s split without a label are in %s\n", count, found, cp_images_splits[split], out);
    free(rows);
    return ok;
}

static bool load(ranking *r, cp_status *status) {
    const cp_options *o = r->options;
    r->trained = cp_run_model_open(cp_argument(o, 0), (cp_weights)cp_option_choice(o, "weights"), status);
    r->images = r->trained ? cp_run_model_load(r->trained, cp_argument(o, 1), status) : NULL;
    if (!r->images) return false;
    if (*r->images->warning.message) cp_complain(o, "warning: %s", r->images->warning.message);
    return true;
}

static int run_rank(const cp_options *o) {
    cp_status status = {0};
    ranking   r = {.options = o};
    if (load(&r, &status)) work(&r, &status);
    cp_images_free(r.images);
    cp_run_model_free(r.trained);
    return cp_exit_code(o, &status);
}

const cp_command cp_command_rank = {
    .name = "rank",
    .purpose = "list the unlabeled rows that should be labeled next",
    .arguments = "RUN|MODEL.safetensors DATA",
    .details = "RUN is the folder of a model trained by couplet train. DATA is a set as for training; the rows whose labels the "
               "run has used are left out. The list is CSV, best first: the row's number from 0, its score, the likeliest class "
               "with its probability, the posterior's entropy and margin (scaled by the run's temperature) and, of a hybrid or jem "
               "model, the density, ln p(x) plus a constant.",
    .example = "runs/blood bloodmnist.npz --by mixed --count 80 --out next.csv",
    .options = options,
    .without = "json",
    .run = run_rank,
};
