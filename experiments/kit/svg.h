/* The text of an SVG file: elements into a buffer, texts escaped, coordinates of two decimals. */
#ifndef CP_KIT_SVG_H
#define CP_KIT_SVG_H

#include "core/io/bytes.h"

void cp_svg_put(cp_bytes *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text fit for XML and HTML: markup escaped, what is no character of either replaced. */
void cp_svg_escape(cp_bytes *out, const char *text);

typedef enum cp_anchor { CP_ANCHOR_START, CP_ANCHOR_MIDDLE, CP_ANCHOR_END } cp_anchor;

/* A line of text at x, y (its baseline), turned by `angle` degrees around that point. */
void cp_svg_text(cp_bytes *out, double x, double y, double size, cp_anchor anchor, double angle, bool bold, const char *text);

double cp_text_width(const char *text, double size); /* an estimate, rather too large than too small */

void cp_base64(cp_bytes *out, const void *data, size_t size);

/* "#RRGGBB" of the palette (Okabe and Ito's, told apart by color-blind readers and in gray), and of mixtures: share 0
 * is all of the first color, 1 all of the second. */
typedef struct cp_color {
    double r, g, b; /* 0 to 255 */
} cp_color;
typedef struct cp_color_text {
    char s[8];
} cp_color_text;
enum { CP_PALETTE = 8 };
cp_color      cp_palette(int index); /* goes round */
cp_color      cp_color_mix(cp_color a, cp_color b, double share);
cp_color_text cp_color_hex(cp_color color);

#endif
