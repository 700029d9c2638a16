/* phantom: images of stained cells, drawn by a formula. Colors are red, green and blue between 0 and 1, lengths are in pixels. */
#include "core/threads.h"
#include "experiments/kit/data/images.h"

#include <math.h>
#include <stdio.h>

enum { SIZE = CP_PHANTOM_SIZE, CHANNELS = CP_PHANTOM_CHANNELS, LOBES = 5, CELLS = 3, SPECKS = 4, WAVES = 3 };
enum { ROUND, TWO_LOBES, CHAIN, BAND };

const int         cp_phantom_counts[] = {4000, 500, 1000};
const char *const cp_phantom_class_names[] = {"round", "two lobes", "chain", "band"};

static const double pi = 3.14159265358979323846;

typedef struct color {
    double c[CHANNELS];
} color;

typedef struct disc {
    double x, y, radius;
} disc;

typedef struct wave {
    double x, y, phase;
} wave;

/* Everything random in an image except its noise. */
typedef struct scene {
    disc   lobes[LOBES]; /* of the nucleus: discs, each joined with the next one */
    int    lobe_count;
    double waist; /* how thin a joint is: 0 as wide as the lobes, 1 nothing */
    disc   body;  /* of the cell: an ellipse, longer by `stretch` along (axis_x, axis_y) */
    double stretch, axis_x, axis_y;
    wave   grain[WAVES];
    double grain_nucleus, grain_body;
    disc   neighbors[CELLS];
    int    neighbor_count;
    disc   specks[SPECKS];
    int    speck_count;
    double blur; /* width of an edge */
    color  paper, blood, plasma, nucleus;
    double light, slope_x, slope_y, noise;
} scene;

/* C leaves open in which order the values of an initializer, or the arguments of a call, are computed: so that the images are the same
 * with every compiler, each number is drawn in a statement or declaration of its own. */
static double between(cp_rng *rng, double low, double high) { return low + (high - low) * cp_rng_uniform(rng); }

/* ---- the nucleus, which shows the class ---- */

/* Lobes along an arc around (0, 0), its middle at angle 0. */
typedef struct arc {
    double min, max;    /* its radius */
    double open, wide;  /* its angle, at least and at most */
    double thin, thick; /* the lobes' radii */
} arc;

static void bend(scene *s, cp_rng *rng, arc arc) {
    double radius = between(rng, arc.min, arc.max), angle = between(rng, arc.open, arc.wide);
    for (int i = 0; i < s->lobe_count; i++) {
        double a = angle * ((double)i / (s->lobe_count - 1) - 0.5);
        s->lobes[i] = (disc){radius * cos(a), radius * sin(a), between(rng, arc.thin, arc.thick)};
    }
}

static void draw_pair(scene *s, cp_rng *rng, double min, double max, double apart_min, double apart_max) {
    double a = between(rng, min, max), b = a * between(rng, 0.85, 1.15), apart = (a + b) * between(rng, apart_min, apart_max);
    s->lobe_count = 2;
    s->lobes[0] = (disc){0, -apart / 2, a};
    s->lobes[1] = (disc){between(rng, -1, 1), apart / 2, b};
}

static void draw_nucleus(scene *s, cp_rng *rng, int class) {
    switch (class) {
    case ROUND:
        draw_pair(s, rng, 4.2, 6.0, 0, 0.3);
        s->waist = between(rng, 0, 0.2);
        break;
    case TWO_LOBES:
        draw_pair(s, rng, 2.8, 4.0, 0.75, 1.15);
        s->waist = between(rng, 0.3, 0.8);
        break;
    case CHAIN:
        s->lobe_count = 3 + (int)cp_rng_below(rng, 2);
        s->waist = between(rng, 0.35, 0.8);
        bend(s, rng, (arc){3.8, 5.0, 2.9, 4.6, 1.9, 2.8});
        break;
    default:
        s->lobe_count = LOBES;
        s->waist = between(rng, 0, 0.3);
        bend(s, rng, (arc){3.4, 4.8, 2.6, 4.8, 1.7, 2.4});
    }
}

/* Turned, scaled and moved to the cell's place, its middle (not the arc's) near that of the cell. */
static void place_nucleus(scene *s, cp_rng *rng, double size) {
    double turn = between(rng, 0, 2 * pi), x = 0, y = 0;
    for (int i = 0; i < s->lobe_count; i++) x += s->lobes[i].x / s->lobe_count, y += s->lobes[i].y / s->lobe_count;
    double to_x = s->body.x + between(rng, -1.2, 1.2), to_y = s->body.y + between(rng, -1.2, 1.2);
    for (int i = 0; i < s->lobe_count; i++) {
        double dx = size * (s->lobes[i].x - x), dy = size * (s->lobes[i].y - y);
        s->lobes[i] =
            (disc){to_x + cos(turn) * dx - sin(turn) * dy, to_y + sin(turn) * dx + cos(turn) * dy, size * s->lobes[i].radius};
    }
}

/* ---- its surroundings ---- */

static color vary(color base, cp_rng *rng, double shared, double own) {
    double all = shared * cp_rng_normal(rng);
    for (int k = 0; k < CHANNELS; k++) base.c[k] += all + own * cp_rng_normal(rng);
    return base;
}

/* Each class has a usual color of plasma, and varies around it. */
static color plasma_of(cp_rng *rng, int class) {
    static const color usual[] = {{{0.68, 0.74, 0.90}}, {{0.93, 0.68, 0.62}}, {{0.90, 0.78, 0.80}}, {{0.74, 0.73, 0.82}}};
    static const color middle = {{0.81, 0.73, 0.79}};
    double             share = between(rng, 0.2, 1);
    color              mixed;
    for (int k = 0; k < CHANNELS; k++) mixed.c[k] = middle.c[k] + share * (usual[class].c[k] - middle.c[k]);
    return vary(mixed, rng, 0.03, 0.02);
}

static void stain(color *c, double strength) {
    for (int k = 0; k < CHANNELS; k++) c->c[k] = 1 - strength * (1 - c->c[k]);
}

static void draw_surroundings(scene *s, cp_rng *rng) {
    s->neighbor_count = (int)cp_rng_below(rng, CELLS + 1);
    for (int i = 0; i < s->neighbor_count; i++) {
        double angle = between(rng, 0, 2 * pi), away = between(rng, 13, 19);
        s->neighbors[i] = (disc){s->body.x + away * cos(angle), s->body.y + away * sin(angle), between(rng, 4.5, 7)};
    }
    s->speck_count = (int)cp_rng_below(rng, SPECKS + 1);
    for (int i = 0; i < s->speck_count; i++) {
        double x = between(rng, 0, SIZE), y = between(rng, 0, SIZE);
        s->specks[i] = (disc){x, y, between(rng, 0.4, 1.3)};
    }
}

static scene draw_scene(cp_rng *rng, int class) {
    static const color paper = {{0.95, 0.90, 0.91}}, blood = {{0.87, 0.66, 0.64}}, nucleus = {{0.40, 0.22, 0.54}};
    double             size = between(rng, 0.82, 1.18), along = between(rng, 0, 2 * pi), middle = (SIZE - 1) / 2.0;
    scene              s = {.axis_x = cos(along), .axis_y = sin(along)};
    s.stretch = between(rng, 1, 1.25);
    s.blur = between(rng, 0.9, 2.2);
    s.light = between(rng, -0.08, 0.06);
    s.slope_x = between(rng, -0.005, 0.005);
    s.slope_y = between(rng, -0.005, 0.005);
    s.noise = between(rng, 0.03, 0.10);
    s.grain_nucleus = between(rng, 0.01, 0.035);
    s.grain_body = between(rng, 0, 0.02);
    s.body.x = middle + 1.5 * cp_rng_normal(rng);
    s.body.y = middle + 1.5 * cp_rng_normal(rng);
    s.body.radius = size * between(rng, 7.5, 9.5);
    draw_nucleus(&s, rng, class);
    place_nucleus(&s, rng, size);
    draw_surroundings(&s, rng);
    for (int i = 0; i < WAVES; i++) {
        double x = between(rng, -2, 2), y = between(rng, -2, 2);
        s.grain[i] = (wave){x, y, between(rng, 0, 2 * pi)};
    }
    double strength = between(rng, 0.7, 1.2);
    s.paper = vary(paper, rng, 0.02, 0.015);
    s.blood = vary(blood, rng, 0.02, 0.02);
    s.plasma = plasma_of(rng, class);
    s.nucleus = vary(nucleus, rng, 0.04, 0.03);
    stain(&s.blood, strength), stain(&s.plasma, strength), stain(&s.nucleus, strength);
    return s;
}

/* ---- pixels ---- */

/* How much of a pixel lies inside, by its distance from the edge, which is negative inside. */
static double cover(double distance, double blur) {
    double t = 0.5 - distance / blur;
    return t <= 0 ? 0 : t >= 1 ? 1 : t * t * (3 - 2 * t);
}

static double disc_edge(const disc *d, double x, double y) {
    return sqrt((x - d->x) * (x - d->x) + (y - d->y) * (y - d->y)) - d->radius;
}

/* Two lobes and the joint between them. */
static double joint_edge(const disc *a, const disc *b, double waist, double x, double y) {
    double dx = b->x - a->x, dy = b->y - a->y, length = dx * dx + dy * dy;
    double t = length > 0 ? ((x - a->x) * dx + (y - a->y) * dy) / length : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    disc at = {a->x + t * dx, a->y + t * dy, (a->radius + t * (b->radius - a->radius)) * (1 - waist * 4 * t * (1 - t))};
    return disc_edge(&at, x, y);
}

static double nucleus_edge(const scene *s, double x, double y) {
    double min = disc_edge(&s->lobes[0], x, y);
    for (int i = 1; i < s->lobe_count; i++) {
        double edge = joint_edge(&s->lobes[i - 1], &s->lobes[i], s->waist, x, y);
        if (edge < min) min = edge;
        edge = disc_edge(&s->lobes[i], x, y);
        if (edge < min) min = edge;
    }
    return min;
}

static double body_edge(const scene *s, double x, double y) {
    double dx = x - s->body.x, dy = y - s->body.y;
    double along = (s->axis_x * dx + s->axis_y * dy) / s->stretch, across = s->axis_x * dy - s->axis_y * dx;
    return sqrt(along * along + across * across) - s->body.radius;
}

static void paint(color *on, const color *with, double share, double lighter) {
    for (int k = 0; k < CHANNELS; k++) on->c[k] += share * (with->c[k] + lighter - on->c[k]);
}

static double grain_at(const scene *s, double x, double y) {
    double sum = 0;
    for (int i = 0; i < WAVES; i++) sum += cos(s->grain[i].x * x + s->grain[i].y * y + s->grain[i].phase);
    return sum;
}

static color pixel_at(const scene *s, double x, double y) {
    color  at = s->paper;
    double body = cover(body_edge(s, x, y), s->blur), nucleus = cover(nucleus_edge(s, x, y), s->blur);
    double grain = body > 0 || nucleus > 0 ? grain_at(s, x, y) : 0;
    for (int i = 0; i < s->neighbor_count; i++) { /* red cells are paler in the middle */
        double edge = disc_edge(&s->neighbors[i], x, y);
        paint(&at, &s->blood, cover(edge, s->blur), 0.10 * cover(edge + 0.6 * s->neighbors[i].radius, 4));
    }
    paint(&at, &s->plasma, body, s->grain_body * grain);
    paint(&at, &s->nucleus, nucleus, s->grain_nucleus * grain);
    for (int i = 0; i < s->speck_count; i++) paint(&at, &s->nucleus, 0.8 * cover(disc_edge(&s->specks[i], x, y), s->blur), 0);
    return at;
}

static void draw_image(const scene *s, cp_rng *rng, uint8_t *pixels) {
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++) {
            color    at = pixel_at(s, x, y);
            double   light = s->light + s->slope_x * (x - SIZE / 2) + s->slope_y * (y - SIZE / 2);
            uint32_t word = cp_rng_u32(rng); /* ten bits of noise a channel */
            for (int k = 0; k < CHANNELS; k++, word >>= 10) {
                double value = at.c[k] + light + s->noise * ((double)(word & 1023) / 1023 - 0.5);
                *pixels++ = (uint8_t)(255 * (value < 0 ? 0 : value > 1 ? 1 : value) + 0.5);
            }
        }
}

typedef struct drawing {
    const char *split;
    uint8_t    *pixels;
    int        *labels;
} drawing;

static void draw_some(void *context, size_t begin, size_t end) {
    const drawing *d = context;
    for (size_t i = begin; i < end; i++) {
        char name[CP_SPLIT_NAME + 32];
        snprintf(name, sizeof name, "phantom %.*s %zu", CP_SPLIT_NAME, d->split, i);
        cp_rng rng = cp_rng_named(1, name);
        d->labels[i] = (int)cp_rng_below(&rng, CP_PHANTOM_CLASSES);
        scene s = draw_scene(&rng, d->labels[i]);
        draw_image(&s, &rng, d->pixels + i * SIZE * SIZE * CHANNELS);
    }
}

void cp_phantom_draw(const char *split, int count, uint8_t *pixels, int *labels) {
    drawing d = {split, pixels, labels};
    cp_parallel((size_t)count, 16, draw_some, &d);
}
