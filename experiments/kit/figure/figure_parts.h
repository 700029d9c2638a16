/* The parts of a figure, shared by the files that collect, draw, save and read figures.
 *
 * A kind of mark is one cp_mark in one file, mark_*.c, beside the cp_panel_* function that adds it, and one word in
 * CP_MARKS. All else (axes, legend, CSV, description) asks the descriptor. */
#pragma once

#include "core/io/json.h"
#include "experiments/kit/figure/axis.h"
#include "experiments/kit/figure/figure.h"
#include "experiments/kit/figure/svg.h"

enum { CP_TEXT_SIZE = 12 }; /* of all but the titles */

typedef struct cp_mark cp_mark;

typedef struct cp_series {
    const cp_mark    *mark;
    cp_style          style;                /* the label is a copy */
    int               n;                    /* of each of the next four, or it is NULL */
    double           *x, *y, *error, *from; /* contours: x the levels; cells: y the numbers in them */
    double            width;                /* of a bin */
    int               place, places;
    cp_grid           grid; /* the values are a copy */
    cp_ramp           ramp;
    int               bands, decimals;
    bool              shares; /* the grid's values are shares, which stand below the numbers */
    double            low, high;
    struct cp_series *next;
} cp_series;

struct cp_panel {
    cp_figure      *figure;
    cp_panel_config config; /* the texts are copies */
    cp_series      *first, *last;
    cp_panel       *next;
};

typedef struct cp_figure_block cp_figure_block;

struct cp_figure {
    cp_figure_config config; /* the texts are copies */
    cp_panel        *first, *last;
    int              panels;
    double           paper;  /* width in mm of a drawing for paper; 0: for screens, in pixels */
    bool             failed; /* not enough memory */
    cp_figure_block *blocks; /* its memory: panels, series, texts, numbers */
};

/* ---- collecting ---- */

cp_series *cp_series_add(cp_panel *panel, const cp_mark *mark, cp_style style);
cp_series *cp_series_add_data(cp_panel *panel, const cp_mark *mark, cp_style style, int n, const double *x, const double *y,
                              const double *error);
bool       cp_numbers_given(const char *mark, int n, const double *numbers); /* false after misuse: NULL for n numbers */
void       cp_series_set_grid(cp_panel *panel, cp_series *series, const cp_grid *grid);
void      *cp_figure_alloc(cp_figure *figure, size_t size); /* zeroed, freed with the figure; NULL: not enough memory */
char      *cp_figure_copy_text(cp_figure *figure, const char *text);
double    *cp_figure_copy_numbers(cp_figure *figure, const double *from, int n);

/* ---- axes ---- */

typedef struct cp_range {
    double min, max;
    bool   log;
    bool   tight;     /* no margin around the data */
    bool   from_zero; /* marks start at zero: no margin below it */
} cp_range;

void cp_range_include(cp_range *range, double value); /* a value that the axis cannot show is left out */

typedef struct cp_frame {
    double  left, top, w, h; /* the drawing area */
    cp_axis x, y;
    bool    y_down; /* y grows from the top */
} cp_frame;

void   cp_frame_axes(const cp_panel *panel, cp_frame *frame); /* from w and h; an `equal` panel gets another h */
double cp_frame_x(const cp_frame *frame, double value);       /* NaN for a value that the axis cannot show */
double cp_frame_y(const cp_frame *frame, double value);
bool   cp_frame_shows(double x, double y); /* whether a viewer can be given these coordinates */

/* Gives axes that show the same quantity the same limits, in all of these figures: versions of one, in several runs. NULLs
 * among them are skipped. */
void cp_figures_share_axes(cp_figure *const *figures, int count);

/* ---- marks ---- */

enum { CP_NEEDS_X = 1, CP_NEEDS_Y = 2, CP_NEEDS_GRID = 4 };

struct cp_mark {
    const char *name; /* in the CSV file and the description */
    int         needs;
    void (*range)(const cp_series *s, cp_range *x, cp_range *y);           /* NULL: takes no place */
    void (*draw)(cp_bytes *out, const cp_series *s, const cp_frame *f);    /* NULL: not drawn */
    double sample_width;                                                   /* in the legend; 0: has no entry */
    void (*sample)(cp_bytes *out, const cp_series *s, double x, double y); /* from its left end, around its middle */
    bool covers;                                                           /* it fills the panel: drawn first, without grid lines */
};

/* clang-format off */
#define CP_MARKS(MARK) \
    MARK(fill) MARK(cells) MARK(band) MARK(contours) MARK(bars) MARK(spans) MARK(histogram) MARK(box) \
    MARK(level) MARK(vertical) MARK(line) MARK(points)
/* clang-format on */
#define CP_MARK_DECLARE(name) extern const cp_mark cp_mark_##name;
CP_MARKS(CP_MARK_DECLARE)

/* What several marks share. */
void     cp_range_points(const cp_series *s, cp_range *x, cp_range *y); /* all x, and all y with their errors */
void     cp_range_grid(const cp_series *s, cp_range *x, cp_range *y);
cp_paint cp_series_paint(const cp_series *s);
void     cp_put_point(cp_bytes *out, cp_marker marker, double x, double y, double radius);
void     cp_open_stroke(cp_bytes *out, const cp_series *s, const char *class);
void     cp_put_error_bar(cp_bytes *out, const cp_frame *f, double x, double value, double error, double cap);
void     cp_sample_line(cp_bytes *out, const cp_series *s, double x, double y);

/* ---- letters of pixels ---- */

enum { CP_LETTER_ROWS = 8 };
int cp_letter(char c, unsigned char columns[5]); /* its width; a column's lowest bit is its top row; '?' for what is not ASCII */

/* ---- files ---- */

/* The whole SVG file. `name` makes its identifiers unique in a page with several. */
void cp_figure_draw(const cp_figure *figure, const char *name, cp_bytes *out);
void cp_figure_csv(const cp_figure *figure, cp_bytes *out);
void cp_figure_describe(cp_figure *figure, cp_json_writer *out);

/* The figure that cp_figure_describe described; NULL, with a message that names `name`, when it describes none. One without
 * panels has only title and caption, for a picture beside it. */
cp_figure *cp_figure_read(const cp_json *description, const char *name, cp_status *status);
