/* The text of an SVG file. */
#include "experiments/kit/svg.h"

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

void cp_base64(cp_bytes *out, const void *data, size_t size) {
    static const char    digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = data;
    for (; size > 0; p += 3) {
        size_t   some = size < 3 ? size : 3;
        uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)(some > 1 ? p[1] : 0) << 8 | (some > 2 ? p[2] : 0);
        char     text[4] = {digits[bits >> 18], digits[bits >> 12 & 63], some > 1 ? digits[bits >> 6 & 63] : '=',
                        some > 2 ? digits[bits & 63] : '='};
        cp_bytes_append(out, text, 4);
        size -= some;
    }
}

cp_color cp_palette(int index) {
    static const cp_color colors[CP_PALETTE] = {{0, 114, 178}, {213, 94, 0},   {0, 158, 115}, {204, 121, 167},
                                                {230, 159, 0}, {86, 180, 233}, {60, 60, 60},  {140, 86, 75}};
    return colors[(index % CP_PALETTE + CP_PALETTE) % CP_PALETTE];
}

cp_color cp_color_mix(cp_color a, cp_color b, double share) {
    return (cp_color){a.r + (b.r - a.r) * share, a.g + (b.g - a.g) * share, a.b + (b.b - a.b) * share};
}

cp_color_text cp_color_hex(cp_color c) {
    static const char digits[] = "0123456789abcdef";
    cp_color_text     text = {"#"};
    double            part[3] = {c.r, c.g, c.b};
    for (int i = 0; i < 3; i++) {
        int value = (int)fmin(fmax(round(part[i]), 0), 255);
        text.s[1 + 2 * i] = digits[value / 16];
        text.s[1 + 2 * i + 1] = digits[value % 16];
    }
    return text;
}
