/* The text of an SVG file: elements into a buffer, texts escaped, coordinates of two decimals. */
#pragma once

#include "core/io/bytes.h"

void cp_svg_put(cp_bytes *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text fit for XML and HTML: markup is escaped, and characters that neither allows are replaced. */
void cp_svg_escape(cp_bytes *out, const char *text);

typedef enum cp_anchor { CP_ANCHOR_START, CP_ANCHOR_MIDDLE, CP_ANCHOR_END } cp_anchor;

/* A line of text at x, y (its baseline), turned by `angle` degrees around that point. */
void cp_svg_text(cp_bytes *out, double x, double y, double size, cp_anchor anchor, double angle, bool bold, const char *text);

double cp_text_width(const char *text, double size); /* an estimate, rather too large than too small */

/* Colors come in pairs, for light and for dark screens. The palette is after Okabe and Ito's, distinguishable for color-blind
 * readers; all of it stands out from the paper by a contrast of three or more. */
typedef struct cp_color {
    double r, g, b; /* 0 to 255 */
} cp_color;
typedef struct cp_paint {
    cp_color light, dark;
} cp_paint;
enum { CP_PALETTE = 9 };
extern const cp_paint cp_paper, cp_ink, cp_rule, cp_frame_ink; /* background, text, grid lines, the frame around a panel */
cp_paint              cp_palette(int index);                   /* any index; wraps around */
cp_paint              cp_paint_mix(cp_paint a, cp_paint b, double share); /* share 0 is all of a, 1 all of b */
double                cp_contrast(cp_color a, cp_color b);                /* 1 to 21, as the guidelines for web pages define it */

/* The attributes of an element (once each): fill and stroke, where NULL is none. They have the light colors, which any
 * viewer understands, and a style with the dark ones for the rule of cp_svg_dark_rule. */
void cp_svg_paint(cp_bytes *out, const cp_paint *fill, const cp_paint *stroke);

extern const char cp_svg_dark_rule[]; /* a style element for the figure: dark colors on dark screens, not on paper */
