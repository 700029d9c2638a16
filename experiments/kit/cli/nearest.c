/* The word that somebody who mistyped one may have meant. */
#include "experiments/kit/cli/options.h"

#include <string.h>

enum { WORD_MAX = 40 };

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* Insertions, deletions, exchanges and swaps of neighbors (optimal string alignment). */
static int edit_distance(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b), rows[3][WORD_MAX + 1];
    if (n > WORD_MAX || m > WORD_MAX) return WORD_MAX;
    for (int j = 0; j <= m; j++) rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            now[j] = smaller(smaller(now[j - 1], before[j]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = smaller(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *cp_nearest_word(const char *word, const char *const *words, int count) {
    const char *best = NULL;
    int         length = (int)strlen(word);
    int         distance = length < 3 ? 2 : length / 2 + 1; /* must be less */
    for (int i = 0; i < count; i++) {
        int  d = edit_distance(word, words[i]);
        bool prefix = length >= 2 && strncmp(word, words[i], (size_t)length) == 0;
        if (prefix) d = smaller(d, 1);
        if (d < distance) best = words[i], distance = d;
    }
    return best;
}
