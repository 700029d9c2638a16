/* The paper's table, as it prints it. */
#include "experiments/study/paper.h"

#include <string.h>

enum { SETS = 6, LABELS = 2, METHODS = 3 };

static const int64_t          labels_of[LABELS] = {1, 10};
static const cp_method *const methods[METHODS] = {&cp_method_softmax, &cp_method_jem, &cp_method_hybrid};

/* clang-format off */
static const struct {
    const char   *name, *file;
    cp_paper_cell at[LABELS][METHODS];
} sets[SETS] = {
    {"Blood", "bloodmnist",
     {{{{46.72, 4.978}, {39.08, 8.444}}, {{48.19, 9.631}, {24.55, 15.98}}, {{52.31, 3.336}, {19.68, 5.109}}},
      {{{74.21, 1.710}, {22.18, 2.715}}, {{65.93, 20.70}, {19.25, 26.64}}, {{77.71, 2.920}, {2.626, 0.652}}}}},
    {"Derma", "dermamnist",
     {{{{28.24, 11.78}, {56.26, 18.95}}, {{36.12, 10.43}, {23.38, 8.818}}, {{40.89, 16.12}, {18.11, 5.270}}},
      {{{49.99, 2.220}, {40.88, 5.674}}, {{58.99, 3.215}, {24.58, 9.340}}, {{61.04, 4.791}, {18.41, 3.575}}}}},
    {"OrganA", "organamnist",
     {{{{34.24, 3.894}, {53.70, 2.437}}, {{40.37, 5.193}, {18.27, 4.990}}, {{40.04, 5.064}, {27.91, 12.51}}},
      {{{66.56, 2.428}, {27.82, 1.101}}, {{71.87, 1.879}, {5.684, 1.074}}, {{74.89, 1.646}, {2.582, 1.406}}}}},
    {"OrganC", "organcmnist",
     {{{{28.16, 3.466}, {60.06, 5.543}}, {{33.47, 7.056}, {18.65, 8.823}}, {{34.15, 6.103}, {13.78, 4.765}}},
      {{{62.12, 1.282}, {31.68, 0.786}}, {{68.02, 3.161}, {9.796, 1.974}}, {{73.07, 2.744}, {6.275, 4.451}}}}},
    {"OrganS", "organsmnist",
     {{{{25.30, 1.296}, {61.60, 4.047}}, {{28.50, 4.522}, {23.47, 12.11}}, {{22.43, 1.831}, {13.81, 10.64}}},
      {{{48.078, 2.786}, {43.70, 2.316}}, {{54.52, 2.459}, {15.81, 4.209}}, {{53.45, 7.873}, {10.36, 2.916}}}}},
    {"Pneumonia", "pneumoniamnist",
     {{{{54.04, 9.849}, {25.67, 18.84}}, {{62.53, 0.064}, {23.36, 12.01}}, {{64.74, 6.750}, {20.90, 13.25}}},
      {{{80.90, 3.790}, {11.87, 5.181}}, {{81.70, 4.477}, {11.84, 5.247}}, {{81.28, 2.990}, {11.33, 3.722}}}}},
};
/* clang-format on */

static int find_set(const char *data_name) {
    for (int s = 0; s < SETS; s++) {
        size_t length = strlen(sets[s].file);
        if (strncmp(data_name, sets[s].file, length) == 0 && (!data_name[length] || strchr("_-.", data_name[length]))) return s;
    }
    return -1;
}

const char *cp_paper_set(const char *data_name) {
    int s = find_set(data_name);
    return s < 0 ? NULL : sets[s].name;
}

const cp_paper_cell *cp_paper_find(const char *data_name, int64_t labels, const cp_method *method) {
    int s = find_set(data_name);
    for (int l = 0; s >= 0 && l < LABELS; l++)
        for (int m = 0; m < METHODS; m++)
            if (labels_of[l] == labels && methods[m] == method) return &sets[s].at[l][m];
    return NULL;
}
