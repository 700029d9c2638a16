/* What a figure is made of: shared by figure.c, which collects, and figure_draw.c, which draws. */
#ifndef CP_KIT_FIGURE_PARTS_H
#define CP_KIT_FIGURE_PARTS_H

#include "core/io/bytes.h"
#include "experiments/kit/figure.h"

typedef enum cp_series_kind {
    CP_SERIES_FILL, /* in the order of drawing */
    CP_SERIES_TILES,
    CP_SERIES_CONTOURS,
    CP_SERIES_BARS,
    CP_SERIES_HISTOGRAM,
    CP_SERIES_BOX,
    CP_SERIES_LEVEL,
    CP_SERIES_LINE,
    CP_SERIES_POINTS,
    CP_SERIES_NOTE,
    CP_SERIES_KINDS
} cp_series_kind;

typedef struct cp_series {
    cp_series_kind    kind;
    cp_style          style; /* the label is a copy */
    int               n;
    double           *x, *y, *error; /* a box: y the values, x its place; a histogram: x left edges, y counts; contours: x levels */
    double            width;         /* of a histogram's bin */
    int               place, places;
    cp_grid           grid; /* the values are a copy */
    cp_ramp           ramp;
    int               bands;
    double            low, high;
    cp_bytes          png;
    int               image_width, image_height;
    struct cp_series *next;
} cp_series;

struct cp_panel {
    cp_figure      *figure;
    cp_panel_config config; /* the texts are copies */
    cp_series      *first, *last;
    cp_panel       *next;
};

struct cp_figure {
    cp_figure_config config;
    cp_panel        *first, *last;
    int              panels;
    bool             failed; /* not enough memory */
};

extern const char *const cp_series_names[CP_SERIES_KINDS];

/* The whole SVG file. `name` makes its identifiers unique in a page with several. */
void cp_figure_draw(const cp_figure *figure, const char *name, cp_bytes *out);

#endif
