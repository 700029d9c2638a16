/* What the programs of the course draw with: boxes, arrows and texts in an SVG file, light or dark like the reader's screen. */
#ifndef COURSE_DRAW_H
#define COURSE_DRAW_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Classes: ink, soft (gray), forward (blue) and back (orange). A box has a thin frame in the color of its class. */
static inline void draw_colors(FILE *file, const char *paper, const char *const *colors) {
    static const char *const classes[] = {"ink", "soft", "forward", "back"};
    fprintf(file, "rect { fill: %s; }\n", paper);
    for (int i = 0; i < 4; i++)
        fprintf(file, "text.%s, path.%s { fill: %s; } line.%s, rect.%s { stroke: %s; }\n", classes[i], classes[i], colors[i],
                classes[i], classes[i], colors[i]);
}

static inline FILE *draw_begin(const char *path, int width, int height) {
    static const char *const light[] = {"#222", "#666", "#0060a0", "#b34700"}, *const dark[] = {"#ddd", "#999", "#6cb6f0",
                                                                                                "#f0975a"};
    FILE *file = fopen(path, "w");
    if (!file) perror(path), exit(1);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"13\">\n<style>\nline { stroke-width: 1.3; }\n",
            width, height, width, height);
    draw_colors(file, "#fff", light);
    fprintf(file, "@media (prefers-color-scheme: dark) {\n");
    draw_colors(file, "#111", dark);
    fprintf(file, "}\n</style>\n<rect width=\"100%%\" height=\"100%%\"/>\n");
    return file;
}

static inline void draw_end(FILE *file) {
    fprintf(file, "</svg>\n");
    if (fclose(file) != 0) perror("the picture"), exit(1);
}

/* A text whose middle is at x, y. */
static inline void draw_text(FILE *file, double x, double y, const char *class, const char *format, ...) {
    va_list values;
    fprintf(file, "<text class=\"%s\" x=\"%g\" y=\"%g\" text-anchor=\"middle\">", class, x, y + 4.5);
    va_start(values, format);
    vfprintf(file, format, values);
    va_end(values);
    fprintf(file, "</text>\n");
}

static inline void draw_box(FILE *file, double x, double y, double width, double height, const char *class) {
    fprintf(file, "<rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"3\"/>\n", class, x, y, width, height);
}

static inline void draw_line(FILE *file, double x1, double y1, double x2, double y2, const char *class) {
    fprintf(file, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

static inline double draw_root(double x) { /* without libm */
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 60; i++) r = (r + x / r) / 2;
    return r;
}

static inline void draw_arrow(FILE *file, double x1, double y1, double x2, double y2, const char *class) {
    double length = draw_root((x2 - x1) * (x2 - x1) + (y2 - y1) * (y2 - y1)), u = (x2 - x1) / length, v = (y2 - y1) / length;
    draw_line(file, x1, y1, x2 - 6 * u, y2 - 6 * v, class);
    fprintf(file, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fz\"/>\n", class, x2, y2, x2 - 8 * u + 3.5 * v,
            y2 - 8 * v - 3.5 * u, x2 - 8 * u - 3.5 * v, y2 - 8 * v + 3.5 * u);
}

/* ---- tables of numbers ---- */

enum { DRAW_CELL = 34, DRAW_CELL_HEIGHT = 26 };

/* A table with its upper left corner at x, y. */
static inline void draw_table(FILE *file, double x, double y, int rows, int columns, const double *values, const char *class) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            draw_box(file, x + j * DRAW_CELL, y + i * DRAW_CELL_HEIGHT, DRAW_CELL, DRAW_CELL_HEIGHT, class);
            draw_text(file, x + (j + 0.5) * DRAW_CELL, y + (i + 0.5) * DRAW_CELL_HEIGHT, class, "%g", values[i * columns + j]);
        }
}

/* ---- graphs: boxes in columns, arrows from left to right ---- */

typedef struct draw_node {
    double      column, row;
    const char *title, *value, *grad; /* grad: below the box, or NULL */
    int         in[2];                /* the nodes that it is computed from; -1: none */
} draw_node;

enum { DRAW_WIDTH = 72, DRAW_HEIGHT = 40, DRAW_STEP_X = 98, DRAW_STEP_Y = 76, DRAW_MARGIN = 12 };

/* Draws the nodes. Gradients are shown below the boxes, in the color of the way back. */
static inline void draw_graph(FILE *file, const draw_node *nodes, int count) {
    for (int i = 0; i < count; i++) {
        double x = DRAW_MARGIN + nodes[i].column * DRAW_STEP_X, y = DRAW_MARGIN + nodes[i].row * DRAW_STEP_Y;
        for (int k = 0; k < 2; k++) {
            if (nodes[i].in[k] < 0) continue;
            const draw_node *from = &nodes[nodes[i].in[k]];
            double end = nodes[i].in[1] < 0 ? 0.5 : nodes[i].in[0] == nodes[i].in[1] ? (k ? 0.75 : 0.25) : (k ? 0.7 : 0.3);
            if (nodes[i].in[1] >= 0 && nodes[i].in[0] != nodes[i].in[1] && nodes[nodes[i].in[0]].row > nodes[nodes[i].in[1]].row)
                end = 1 - end; /* the upper input arrives at the top */
            double start = nodes[i].in[0] == nodes[i].in[1] ? end : 0.5;
            draw_arrow(file, DRAW_MARGIN + from->column * DRAW_STEP_X + DRAW_WIDTH,
                       DRAW_MARGIN + from->row * DRAW_STEP_Y + start * DRAW_HEIGHT, x, y + end * DRAW_HEIGHT, "soft");
        }
    }
    for (int i = 0; i < count; i++) {
        double x = DRAW_MARGIN + nodes[i].column * DRAW_STEP_X, y = DRAW_MARGIN + nodes[i].row * DRAW_STEP_Y;
        draw_box(file, x, y, DRAW_WIDTH, DRAW_HEIGHT, nodes[i].in[0] < 0 ? "soft" : "ink");
        draw_text(file, x + DRAW_WIDTH / 2.0, y + (*nodes[i].value ? 13 : 20), "ink", "%s", nodes[i].title);
        draw_text(file, x + DRAW_WIDTH / 2.0, y + 29, "forward", "%s", nodes[i].value);
        if (nodes[i].grad) draw_text(file, x + DRAW_WIDTH / 2.0, y + DRAW_HEIGHT + 12, "back", "%s", nodes[i].grad);
    }
}

#endif
