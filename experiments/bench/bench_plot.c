/* couplet bench plot: a picture of the ratios that tests/bench/compare.py measures. */
#include "experiments/bench/bench_plot.h"

#include "couplet.h"
#include "experiments/kit/figure/figure.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_ROWS = 32, NAME_LENGTH = 64 };

typedef struct ratios {
    int    count;
    char   names[MAX_ROWS][NAME_LENGTH];
    double values[3][MAX_ROWS]; /* sgld, train, infer */
} ratios;

/* Lines "name,sgld,train,infer" after a first line with these titles. */
static bool read_ratios(const char *path, ratios *r) {
    FILE *file = fopen(path, "r");
    char  line[256];
    if (!file) {
        fprintf(stderr, "couplet bench: %.200s: %s\n", path, strerror(errno));
        return false;
    }
    r->count = 0;
    int  number = 1;
    bool ok = fgets(line, sizeof line, file) && strncmp(line, "network,sgld,train,infer", 24) == 0;
    while (ok && fgets(line, sizeof line, file)) {
        int i = r->count;
        number++;
        if (i == MAX_ROWS) {
            fprintf(stderr, "couplet bench: %.200s: more than %d networks\n", path, MAX_ROWS);
            fclose(file);
            return false;
        }
        ok = sscanf(line, "%63[^,],%lf,%lf,%lf", r->names[i], &r->values[0][i], &r->values[1][i], &r->values[2][i]) == 4;
        for (int k = 0; k < 3 && ok; k++) ok = r->values[k][i] > 0 && r->values[k][i] < 1e6;
        r->count += ok;
    }
    fclose(file);
    if (ok && r->count) return true;
    fprintf(stderr, "couplet bench: %.200s, line %d: %s\n", path, number,
            number == 1 ? "\"network,sgld,train,infer\" and lines with a name and three ratios are expected"
                        : "a name and three positive ratios are expected");
    return false;
}

/* Would the figure's own file of numbers, OUT.csv, replace this one? */
static bool would_replace(const char *path, const char *out) {
    char        own[512];
    struct stat a, b;
    snprintf(own, sizeof own, "%.500s.csv", out);
    return stat(path, &a) == 0 && stat(own, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int cp_bench_plot(const cp_options *o) {
    static const char *const kinds[] = {"sgld", "train", "infer"};
    static ratios            r;
    const char              *names[MAX_ROWS], *out = cp_option_text(o, "out");
    cp_status                status = {0};
    if (cp_argument_count(o) != 2 || !out) {
        fprintf(
            stderr,
            "couplet bench: plot takes RATIOS.csv and --out FIGURE (FIGURE.svg, FIGURE.csv and FIGURE.figure.json are written)\n");
        return CP_EXIT_USAGE;
    }
    if (would_replace(cp_argument(o, 1), out)) {
        fprintf(stderr,
                "couplet bench: %.200s would be replaced by the figure's own numbers, %.200s.csv; another --out is needed\n",
                cp_argument(o, 1), out);
        return CP_EXIT_USAGE;
    }
    if (!read_ratios(cp_argument(o, 1), &r)) return CP_EXIT_FAILED;
    for (int i = 0; i < r.count; i++) names[i] = r.names[i];
    cp_figure *figure = cp_figure_new((cp_figure_config){
        .title = "PyTorch's time / Couplet's time",
        .caption = "How many times as fast as PyTorch Couplet is, for each network: the median over the rounds of the comparison.",
        .width = 130.0 * r.count});
    cp_panel  *panel =
        cp_figure_panel(figure, (cp_panel_config){.y_label = "times as fast", .x_names = names, .x_name_count = r.count});
    for (int k = 0; k < 3; k++) cp_panel_bars(panel, (cp_style){.color = k, .label = kinds[k]}, r.count, r.values[k], NULL, k, 3);
    cp_panel_level(panel, (cp_style){.color = 7, .dash = CP_DOTTED, .label = "equal"}, 1);
    bool ok = cp_figure_save(figure, out, &status);
    if (ok)
        printf("%s.svg; its numbers are in %s.csv and %s.figure.json\n", out, out, out);
    else
        fprintf(stderr, "couplet bench: %s\n", status.message);
    cp_figure_free(figure);
    return ok ? CP_EXIT_OK : CP_EXIT_FAILED;
}
