/* Figures: panels with axes, points, lines, bars, boxes, contours and heat maps, and pictures of images.
 *
 *     cp_figure *f = cp_figure_new((cp_figure_config){
 *         .title = "Accuracy", .caption = "The mean over 10 repetitions; the bars are one standard deviation."});
 *     cp_panel  *p = cp_figure_panel(f, (cp_panel_config){.x_label = "lambda", .y_label = "accuracy", .x_log = true});
 *     cp_panel_line(p, (cp_style){.color = 0, .label = "hybrid"}, n, lambda, mean, sd);
 *     bool saved = cp_figure_save(f, "runs/a/accuracy", &status);
 *     cp_figure_free(f);
 *
 * A figure is saved three times: NAME.svg, light or dark like the reader's screen; NAME.csv with its
 * numbers, and on an axis of names the nearest name; NAME.figure.json, from which a report draws it again next to those of other runs.
 *
 * Axes with the same label (and the same scale, and names) show the same quantity and have the same limits: in all
 * panels of a figure, and in a report in the figures of that name of all runs. There, axes without a label are the same
 * when their panels have the same place. Limits that are given are kept.
 *
 * Data and texts are copied. Points that are not finite (or have no place on a log axis) are left out of the picture
 * and stay in the CSV. Running out of memory is remembered and reported by save; misuse such as a NULL panel does nothing. */
#pragma once

#include "core/error.h"
#include "core/io/png.h"
#include "experiments/kit/figure/contour.h"

typedef struct cp_figure cp_figure;
typedef struct cp_panel  cp_panel;

typedef struct cp_figure_config {
    const char *title;
    const char *caption;       /* sentences: what is shown, one repetition or the mean over how many, what the bars are */
    int         columns;       /* panels in a row; 0: up to three */
    double      width, height; /* of a panel's drawing area; 0: 300 and 240 */
} cp_figure_config;

typedef struct cp_panel_config {
    const char        *title, *x_label, *y_label;
    double             x_min, x_max, y_min, y_max; /* both 0: from the data */
    bool               x_log, y_log;
    bool               equal;   /* units have the same length on both axes */
    const char *const *x_names; /* names for x = 0, 1, 2, ... instead of numbers */
    int                x_name_count;
    const char *const *y_names; /* names for y = 0, 1, 2, ... from the top downward, as the rows of a matrix are */
    int                y_name_count;
} cp_panel_config;

cp_figure *cp_figure_new(cp_figure_config config);
cp_panel  *cp_figure_panel(cp_figure *figure, cp_panel_config config);
bool       cp_figure_save(cp_figure *figure, const char *path, cp_status *status);   /* path.svg, .csv and .figure.json */
bool       cp_figure_finish(cp_figure *figure, const char *path, cp_status *status); /* saves it there, and frees it */
void       cp_figure_free(cp_figure *figure);                                        /* NULL is allowed */

/* Sets the caption, for one with numbers in it. */
void cp_figure_caption(cp_figure *figure, const char *format, ...) __attribute__((format(printf, 2, 3)));

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
    bool        band;    /* a line's errors are an area around it, not bars */
    double      size;    /* a point's radius, 0: 3; a line's width, 0: 1.8 */
    double      opacity; /* 0: the mark's own, 1 for points and lines */
    const char *label;   /* in the legend; one entry for all series with the same label; NULL: none */
} cp_style;

/* ---- points and lines ---- */

void cp_panel_points(cp_panel *panel, cp_style style, int n, const double *x, const double *y);
void cp_panel_line(cp_panel *panel, cp_style style, int n, const double *x, const double *y,
                   const double *error); /* error may be NULL */
void cp_panel_band(cp_panel *panel, cp_style style, int n, const double *x, const double *low,
                   const double *high);                            /* the area between; behind what is added after it */
void cp_panel_level(cp_panel *panel, cp_style style, double y);    /* a line right across */
void cp_panel_vertical(cp_panel *panel, cp_style style, double x); /* a line from top to bottom */

/* ---- bars and boxes ---- */

/* Bars at x = 0 .. n-1; where several series are side by side, this is number `place` of `places`. error may be NULL. */
void cp_panel_bars(cp_panel *panel, cp_style style, int n, const double *heights, const double *error, int place, int places);

/* Bars of one width that begin at `left` and reach from `from` (NULL: from zero) to `to`. */
void cp_panel_spans(cp_panel *panel, cp_style style, int n, const double *left, double width, const double *from, const double *to);

/* Bins of equal width; the last one includes its upper end. Values outside min to max are not counted. */
typedef struct cp_bins {
    double min, max; /* both 0: from the values */
    int    count;    /* 0: 20 */
    bool   share;    /* heights are shares of all finite values, so that sets of different sizes compare */
} cp_bins;
void    cp_panel_histogram(cp_panel *panel, cp_style style, int n, const double *values, cp_bins bins);
cp_bins cp_bins_over(cp_bins bins, int n, const double *values); /* widened to hold these too: several sets, one set of bins */

/* A box plot of n values at x: median, quartiles, whiskers to the last value within 1.5 boxes, points beyond; of fewer than eight values
 * all are points, side by side in their order. */
void cp_panel_box(cp_panel *panel, cp_style style, double x, int n, const double *values, int place, int places);

/* The reliability diagram of n bins of equal width between 0 and 1: accuracy as bars, what lies between it and the mean
 * confidence of the bin, and the diagonal of perfect calibration. A bin without values has NaN in both. */
void cp_panel_reliability(cp_panel *panel, int n, const double *confidence, const double *accuracy);

/* ---- functions of two variables, matrices ---- */

/* The grid as bands of color from `low` to `high`; CP_RAMP_TWO goes from the palette's first color over the paper's to
 * its second, CP_RAMP_ONE from the paper's to the style's color. */
typedef enum cp_ramp { CP_RAMP_TWO, CP_RAMP_ONE } cp_ramp;
void cp_panel_fill(cp_panel *panel, cp_style style, const cp_grid *grid, cp_ramp ramp, int bands, double low, double high);
void cp_panel_contours(cp_panel *panel, cp_style style, const cp_grid *grid, int n, const double *levels);

/* A heat map: one cell for each value, rows from the top, colored from the paper's color at `low` to the style's at `high`, with
 * the number written in it, with that many decimals (negative: without a number). The panel should have names for both axes. */
void cp_panel_cells(cp_panel *panel, cp_style style, int rows, int columns, const double *values, double low, double high,
                    int decimals);

/* The same for a confusion matrix, one row for each true class: the counts as numbers, with their share of the row as color and, where
 * there is room, below the count. */
void cp_panel_confusion(cp_panel *panel, cp_style style, int classes, const double *counts);

/* Images of one size in rows of `columns`, from the top left, enlarged, as a picture of their own: the PNG file alone, or path.png with a
 * caption for the report. Names are shortened where they do not fit. */
typedef struct cp_tiles {
    int                n, columns;
    const cp_image    *images;                          /* (n) */
    const char *const *row_names, *const *column_names; /* one for each, NULL or "" for none; NULL: no names */
} cp_tiles;
bool cp_tiles_write(const char *path, const cp_tiles *tiles, cp_status *status);
bool cp_tiles_save(const char *path, const char *caption, const cp_tiles *tiles, cp_status *status);
