/* The text of an SVG file. */
#include "experiments/kit/figure/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cp_svg_put(cp_bytes *out, const char *format, ...) {
    char    text[1024];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (length < 0 || length >= (int)sizeof text)
        out->failed = true; /* no half elements */
    else
        cp_bytes_append(out, text, (size_t)length);
}

void cp_svg_escape(cp_bytes *out, const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    size_t               left = strlen(text);
    while (left > 0) {
        int length = cp_utf8_length(p, left);
        if (length == 0 || (*p < 32 && *p != '\n' && *p != '\t'))
            cp_bytes_text(out, "\xEF\xBF\xBD"), length = length ? length : 1;
        else if (*p == '&')
            cp_bytes_text(out, "&amp;");
        else if (*p == '<')
            cp_bytes_text(out, "&lt;");
        else if (*p == '>')
            cp_bytes_text(out, "&gt;");
        else if (*p == '"')
            cp_bytes_text(out, "&quot;");
        else
            cp_bytes_append(out, p, (size_t)length);
        p += length;
        left -= (size_t)length;
    }
}

void cp_svg_text(cp_bytes *out, double x, double y, double size, cp_anchor anchor, double angle, bool bold, const char *text) {
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    cp_svg_put(out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%g\"%s%s", x, y, size, anchors[anchor],
               bold ? " font-weight=\"600\"" : "");
    if (angle != 0) cp_svg_put(out, " transform=\"rotate(%g %.2f %.2f)\"", angle, x, y);
    cp_svg_put(out, ">");
    cp_svg_escape(out, text);
    cp_svg_put(out, "</text>\n");
}

double cp_text_width(const char *text, double size) {
    double width = 0;
    for (; *text; text++) {
        if (((unsigned char)*text & 0xC0) == 0x80) continue;
        width += strchr("iljtfrI.,:;|!'()[] ", *text) ? 0.36
                 : strchr("mwMW%@", *text)            ? 0.92
                 : *text >= 'A' && *text <= 'Z'       ? 0.70
                                                      : 0.58;
    }
    return width * size;
}

/* ---- colors ---- */

const cp_paint cp_paper = {{255, 255, 255}, {30, 33, 37}};
const cp_paint cp_ink = {{34, 34, 34}, {232, 234, 237}};
const cp_paint cp_rule = {{227, 227, 227}, {54, 59, 66}};
const cp_paint cp_frame_ink = {{85, 85, 85}, {154, 160, 168}};

cp_paint cp_palette(int index) {
    static const cp_paint paints[CP_PALETTE] = {
        {{0, 114, 178}, {86, 160, 230}},    {{213, 94, 0}, {240, 128, 56}},   {{0, 158, 115}, {46, 184, 140}},
        {{204, 121, 167}, {224, 150, 196}}, {{172, 138, 0}, {240, 190, 60}},  {{70, 150, 214}, {100, 208, 238}},
        {{60, 60, 60}, {216, 218, 222}},    {{140, 86, 75}, {172, 120, 104}}, {{120, 81, 169}, {176, 148, 240}},
    };
    return paints[(index % CP_PALETTE + CP_PALETTE) % CP_PALETTE];
}

static cp_color mix(cp_color a, cp_color b, double share) {
    return (cp_color){a.r + (b.r - a.r) * share, a.g + (b.g - a.g) * share, a.b + (b.b - a.b) * share};
}

cp_paint cp_paint_mix(cp_paint a, cp_paint b, double share) {
    return (cp_paint){mix(a.light, b.light, share), mix(a.dark, b.dark, share)};
}

static double luminance(cp_color c) {
    double part[3] = {c.r / 255, c.g / 255, c.b / 255};
    for (int i = 0; i < 3; i++) part[i] = part[i] <= 0.04045 ? part[i] / 12.92 : pow((part[i] + 0.055) / 1.055, 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}

double cp_contrast(cp_color a, cp_color b) {
    double la = luminance(a), lb = luminance(b);
    return (fmax(la, lb) + 0.05) / (fmin(la, lb) + 0.05);
}

static void put_color(cp_bytes *out, const char *before, cp_color c, const char *after) {
    int part[3] = {(int)round(c.r), (int)round(c.g), (int)round(c.b)};
    cp_svg_put(out, "%s#%02x%02x%02x%s", before, part[0] & 255, part[1] & 255, part[2] & 255, after);
}

void cp_svg_paint(cp_bytes *out, const cp_paint *fill, const cp_paint *stroke) {
    if (fill)
        put_color(out, " fill=\"", fill->light, "\"");
    else
        cp_bytes_text(out, " fill=\"none\"");
    if (stroke) put_color(out, " stroke=\"", stroke->light, "\"");
    if (!fill && !stroke) return;
    cp_bytes_text(out, " style=\"");
    if (fill) put_color(out, "--f:", fill->dark, ";");
    if (stroke) put_color(out, "--s:", stroke->dark, ";");
    cp_bytes_text(out, "\"");
}

const char cp_svg_dark_rule[] = "<style>@media screen and (prefers-color-scheme:dark){[style*=\"--f:\"]{fill:var(--f)}"
                                "[style*=\"--s:\"]{stroke:var(--s)}}</style>\n";
