/* Draws the ratios that compare.py has measured: plot_ratios RATIOS.csv FIGURE writes FIGURE.svg, .csv and .figure.json. */
#include "experiments/kit/figure/figure.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 32, NAME_LENGTH = 64, KINDS = 3 };

static const char *const kinds[KINDS] = {"sgld", "train", "infer"};

typedef struct ratios {
    int    count;
    char   names[MAX_ROWS][NAME_LENGTH];
    double values[KINDS][MAX_ROWS];
} ratios;

/* Lines "name,sgld,train,infer" after a first line with these titles. */
static bool read_ratios(const char *path, ratios *r) {
    FILE *file = fopen(path, "r");
    char  line[256];
    bool  ok = file && fgets(line, sizeof line, file) && strncmp(line, "network,sgld,train,infer", 24) == 0;
    for (r->count = 0; ok && r->count < MAX_ROWS && fgets(line, sizeof line, file); r->count += ok) {
        int i = r->count;
        ok = sscanf(line, "%63[^,],%lf,%lf,%lf", r->names[i], &r->values[0][i], &r->values[1][i], &r->values[2][i]) == 1 + KINDS;
        for (int k = 0; k < KINDS && ok; k++) ok = r->values[k][i] > 0 && r->values[k][i] < 1e6;
    }
    if (file) fclose(file);
    return ok && r->count > 0;
}

int main(int count, char **words) {
    static ratios r;
    const char   *names[MAX_ROWS];
    cp_status     status = {0};
    if (count != 3 || !read_ratios(words[1], &r)) {
        fprintf(stderr, "plot_ratios needs RATIOS.csv, with \"network,sgld,train,infer\" and lines with a name and three positive "
                        "ratios, and FIGURE, the picture's path without an extension\n");
        return 2;
    }
    for (int i = 0; i < r.count; i++) names[i] = r.names[i];
    cp_figure *figure = cp_figure_new((cp_figure_config){
        .title = "PyTorch's time / Couplet's time",
        .caption = "How many times as fast as PyTorch Couplet is, for each network: the median over the rounds of the comparison.",
        .width = 130.0 * r.count});
    cp_panel  *panel =
        cp_figure_panel(figure, (cp_panel_config){.y_label = "times as fast", .x_names = names, .x_name_count = r.count});
    for (int k = 0; k < KINDS; k++)
        cp_panel_bars(panel, (cp_style){.color = k, .label = kinds[k]}, r.count, r.values[k], NULL, k, KINDS);
    cp_panel_level(panel, (cp_style){.color = 7, .dash = CP_DOTTED, .label = "equal"}, 1);
    if (cp_figure_finish(figure, words[2], &status)) return 0;
    fprintf(stderr, "plot_ratios: %s\n", status.message);
    return 1;
}
