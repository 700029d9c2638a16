/* A small font of pixels for pictures of images: printable ASCII, up to five columns of eight rows, in which the lowest row is for
 * what hangs below the line. */
#include "experiments/kit/figure/figure_parts.h"

enum { COLUMNS = 5, FIRST = ' ', LAST = '~' };

/* From the space on: five bytes each, a column from the left; their lowest bit is the top row. */
static const char font[] =
    "0000000000 5f00000000 0300030000 147f147f14 242a7f2a12 6313086463 3649552250 0300000000 1c22410000 41221c0000 "
    "2a1c3e1c2a 08083e0808 8060000000 0808080800 6060000000 6010080403 3e5149453e 427f400000 4261514946 2141454b31 "
    "1814127f10 2745454539 3c4a494930 0171090503 3649494936 064949291e 2400000000 8064000000 0814224100 1414141400 "
    "4122140800 0201510906 3e415d555e 7e1111117e 7f49494936 3e41414122 7f4141221c 7f49494941 7f09090901 3e4149497a "
    "7f0808087f 417f410000 2040413f01 7f08142241 7f40404040 7f020c027f 7f0408107f 3e4141413e 7f09090906 3e4151215e "
    "7f09192946 4649494931 01017f0101 3f4040403f 1f2040201f 7f2018207f 6314081463 0304780403 6151494543 7f41410000 "
    "0304081060 41417f0000 0402010204 8080808080 0102000000 2054545478 7f44444438 3844444444 384444447f 3854545458 "
    "047e050500 18a4a4a47c 7f04040478 7d00000000 80807d0000 7f10284400 017f400000 7c047c0478 7c04040478 3844444438 "
    "fc24242418 18242424fc 7c08040400 4854545424 043f444400 3c4040407c 1c2040201c 3c4030403c 4428102844 1ca0a0a07c "
    "4464544c44 0836414100 ff00000000 4141360800 1008101008 ";

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

int cp_letter(char c, unsigned char columns[5]) {
    const char *at = font + (2 * COLUMNS + 1) * ((c < FIRST || c > LAST ? '?' : c) - FIRST);
    int         width = c == ' ' ? 3 : 0;
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = (unsigned char)(16 * digit(at[2 * i]) + digit(at[2 * i + 1]));
        if (columns[i]) width = i + 1;
    }
    return width;
}
