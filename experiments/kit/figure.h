/* Figures: panels with axes, points, lines, bars, boxes, contours and images, saved as NAME.svg with the same data as
 * NAME.csv.
 *
 *     cp_figure *f = cp_figure_new((cp_figure_config){.title = "Accuracy"});
 *     cp_panel  *p = cp_figure_panel(f, (cp_panel_config){.x_label = "lambda", .y_label = "accuracy", .x_log = true});
 *     cp_panel_line(p, (cp_style){.color = 0, .label = "hybrid"}, n, lambda, mean, sd);
 *     bool saved = cp_figure_save(f, "runs/a/accuracy", &status);
 *     cp_figure_free(f);
 *
 * Data and texts are copied. Points that are not finite (or have no place on a log axis) are left out of the picture
 * and stay in the CSV. A lack of memory is remembered and told by save; misuse such as a NULL panel does nothing. */
#ifndef CP_KIT_FIGURE_H
#define CP_KIT_FIGURE_H

#include "core/error.h"
#include "core/io/png.h"
#include "experiments/kit/contour.h"

typedef struct cp_figure cp_figure;
typedef struct cp_panel  cp_panel;

typedef struct cp_figure_config {
    const char *title;
    int         columns;       /* panels in a row; 0: up to three */
    double      width, height; /* of a panel's drawing area; 0: 300 and 240 */
} cp_figure_config;

typedef struct cp_panel_config {
    const char        *title, *x_label, *y_label;
    double             x_least, x_most, y_least, y_most; /* both 0: from the data */
    bool               x_log, y_log;
    bool               equal;   /* a unit is as long on the one axis as on the other */
    bool               no_axes; /* for images */
    const char *const *x_names; /* names for x = 0, 1, 2, ... in the place of numbers */
    int                x_name_count;
} cp_panel_config;

cp_figure *cp_figure_new(cp_figure_config config);
cp_panel  *cp_figure_panel(cp_figure *figure, cp_panel_config config);
bool       cp_figure_save(cp_figure *figure, const char *path, cp_status *status); /* path.svg and path.csv */
void       cp_figure_free(cp_figure *figure);                                      /* NULL is fine */

typedef enum cp_marker {
    CP_MARK_AUTO, /* by the color, so that series differ in gray too */
    CP_CIRCLE,
    CP_SQUARE,
    CP_TRIANGLE,
    CP_DIAMOND,
    CP_PLUS,
    CP_CROSS,
    CP_NO_MARK,
} cp_marker;

typedef enum cp_dash { CP_DASH_AUTO, CP_SOLID, CP_DASHED, CP_DOTTED, CP_DASH_DOT } cp_dash;

typedef struct cp_style {
    int         color; /* of the palette: see cp_palette */
    cp_marker   marker;
    cp_dash     dash;
    bool        ring;    /* points are outlines */
    double      size;    /* a point's radius, 0: 3; a line's width, 0: 1.8 */
    double      opacity; /* 0: 1 */
    const char *label;   /* in the legend; one entry for all series with the same label; NULL: none */
} cp_style;

void cp_panel_points(cp_panel *panel, cp_style style, int n, const double *x, const double *y);
void cp_panel_line(cp_panel *panel, cp_style style, int n, const double *x, const double *y,
                   const double *error);                        /* error may be NULL */
void cp_panel_level(cp_panel *panel, cp_style style, double y); /* a line right across */
void cp_panel_histogram(cp_panel *panel, cp_style style, int n, const double *values, int bins);

/* Bars at x = 0 .. n-1; where several series stand side by side, this is number `place` of `places`. error may be
 * NULL. */
void cp_panel_bars(cp_panel *panel, cp_style style, int n, const double *heights, const double *error, int place, int places);

/* A box plot of n values at x: median, quartiles, whiskers to the last value within 1.5 boxes, points beyond. */
void cp_panel_box(cp_panel *panel, cp_style style, double x, int n, const double *values, int place, int places);

/* The grid as bands of color from `low` to `high`; CP_RAMP_TWO goes from the palette's first color over white to its
 * second, CP_RAMP_ONE from white to the style's color. */
typedef enum cp_ramp { CP_RAMP_TWO, CP_RAMP_ONE } cp_ramp;
void cp_panel_fill(cp_panel *panel, cp_style style, const cp_grid *grid, cp_ramp ramp, int bands, double low, double high);
void cp_panel_contours(cp_panel *panel, cp_style style, const cp_grid *grid, int n, const double *levels);

/* Images of one size in rows of `columns`, from the top left. */
void cp_panel_tiles(cp_panel *panel, int n, const cp_image *images, int columns);

/* A row of the CSV file, for what the picture rests on and no series shows: written below the others. */
void cp_panel_note(cp_panel *panel, const char *name, double value);

#endif
