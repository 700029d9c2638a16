/* Random numbers from Philox-4x32-10 blocks. Fills work on groups of GROUP blocks in plain loops
 * of fixed length over local arrays, which compilers turn into vector code. */
#include "core/random.h"

#include "core/error.h"
#include "core/threads.h"

#include <string.h>
#include <tgmath.h>

enum {
    BLOCK_WORDS = 4,
    BLOCK_VALUES = CP_DOUBLE ? 2 : 4, /* that a fill makes from one block */
    GROUP = 64,                       /* blocks computed together */
    GROUP_VALUES = GROUP * BLOCK_VALUES,
    FILL_GRAIN = 4096, /* blocks in a thread's chunk, a multiple of GROUP */
};

#ifdef __clang__ /* gcc does not contract under -std=c11 */
#pragma STDC FP_CONTRACT OFF
#endif

#define TWO_PI 6.283185307179586476925286766559

/* ---- Philox ---- */

typedef struct words {
    uint32_t w0, w1, w2, w3;
} words;

static inline words philox_round(words c, uint32_t key0, uint32_t key1) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c.w0;
    uint64_t p1 = (uint64_t)0xCD9E8D57u * c.w2;
    return (words){(uint32_t)(p1 >> 32) ^ c.w1 ^ key0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c.w3 ^ key1, (uint32_t)p0};
}

static inline words philox(words c, uint32_t key0, uint32_t key1) {
    for (uint32_t i = 0; i < 10; i++) c = philox_round(c, key0 + i * 0x9E3779B9u, key1 + i * 0xBB67AE85u);
    return c;
}

void cp_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    words c = philox((words){counter[0], counter[1], counter[2], counter[3]}, key[0], key[1]);
    out[0] = c.w0, out[1] = c.w1, out[2] = c.w2, out[3] = c.w3;
}

static inline words rng_block(const cp_rng *rng, uint64_t block) {
    words counter = {(uint32_t)block, (uint32_t)(block >> 32), rng->stream[0], rng->stream[1]};
    return philox(counter, rng->key[0], rng->key[1]);
}

/* ---- streams ---- */

/* SplitMix64's finalizer: a bijection that spreads every input bit. */
static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* 64-bit FNV-1a. */
static uint64_t hash_name(const char *name) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001B3u;
    return hash;
}

cp_rng cp_rng_named(uint64_t seed, const char *name) {
    if (!name) {
        cp_misuse((cp_at){0}, "rng_named", "the name is NULL");
        name = "";
    }
    uint64_t stream = mix(hash_name(name));
    uint64_t key = mix(seed ^ mix(stream));
    return (cp_rng){{(uint32_t)key, (uint32_t)(key >> 32)}, {(uint32_t)stream, (uint32_t)(stream >> 32)}, 0};
}

/* ---- single numbers ---- */

static void take_words(cp_rng *rng, uint32_t *out, int n) {
    uint32_t block[BLOCK_WORDS];
    for (int i = 0; i < n; i++, rng->position++) {
        unsigned word = rng->position % BLOCK_WORDS;
        if (i == 0 || word == 0) {
            words c = rng_block(rng, rng->position / BLOCK_WORDS);
            memcpy(block, &c, sizeof block);
        }
        out[i] = block[word];
    }
}

static inline uint64_t join(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

/* [0, 1) in steps of 2^-53. */
static inline double unit_double(uint32_t low, uint32_t high) { return (double)(join(low, high) >> 11) * 0x1p-53; }

/* Box-Muller: two independent normals from one block; the logarithm's argument is in (0, 1]. */
static inline void normal_pair(words c, double *first, double *second) {
    double radius = sqrt(-2 * log(unit_double(c.w0, c.w1) + 0x1p-53));
    double angle = TWO_PI * unit_double(c.w2, c.w3);
    *first = radius * cos(angle);
    *second = radius * sin(angle);
}

uint32_t cp_rng_u32(cp_rng *rng) {
    uint32_t word;
    take_words(rng, &word, 1);
    return word;
}

uint64_t cp_rng_below(cp_rng *rng, uint64_t n) {
    if (n == 0) return 0;
    uint64_t value;
    do {
        uint32_t w[2];
        take_words(rng, w, 2);
        value = join(w[0], w[1]);
    } while (value < n && value < (0 - n) % n); /* 2^64 modulo n: that many values would be too frequent */
    return value % n;
}

double cp_rng_uniform(cp_rng *rng) {
    uint32_t w[2];
    take_words(rng, w, 2);
    return unit_double(w[0], w[1]);
}

double cp_rng_normal(cp_rng *rng) {
    uint32_t w[BLOCK_WORDS];
    double   first, second;
    take_words(rng, w, BLOCK_WORDS);
    normal_pair((words){w[0], w[1], w[2], w[3]}, &first, &second);
    return first;
}

void cp_rng_permutation(cp_rng *rng, int *out, int n) {
    for (int i = 0; i < n; i++) {
        int j = (int)cp_rng_below(rng, (uint64_t)i + 1);
        if (j < i) out[i] = out[j];
        out[j] = i;
    }
}

/* ---- fills ---- */

typedef uint32_t group_words[BLOCK_WORDS][GROUP];

typedef struct fill {
    const cp_rng *rng;
    uint64_t      first; /* block */
    cp_real      *out;
    size_t        n;
    cp_real       offset, scale, limit; /* values are offset + scale * draw, uniform ones at most limit */
    void (*make)(const struct fill *fill, const group_words w, cp_real *out);
} fill;

/* Value j of block g of a group: [0, 1). */
static inline cp_real unit(const group_words w, int g, int j) {
#if CP_DOUBLE
    return unit_double(w[2 * j][g], w[2 * j + 1][g]);
#else
    return (float)(int32_t)(w[j][g] >> 8) * 0x1p-24f;
#endif
}

static void make_uniform(const fill *f, const group_words w, cp_real *out) {
    const cp_real offset = f->offset, scale = f->scale, limit = f->limit;
    for (int g = 0; g < GROUP; g++) {
        for (int j = 0; j < BLOCK_VALUES; j++) {
            cp_real value = offset + scale * unit(w, g, j);
            out[BLOCK_VALUES * g + j] = value < limit ? value : limit;
        }
    }
}

#if CP_DOUBLE

static void make_normal(const fill *f, const group_words w, cp_real *out) {
    for (int g = 0; g < GROUP; g++) {
        double first, second;
        normal_pair((words){w[0][g], w[1][g], w[2][g], w[3][g]}, &first, &second);
        out[2 * g] = f->offset + f->scale * first;
        out[2 * g + 1] = f->offset + f->scale * second;
    }
}

#else

static inline uint32_t float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float bits_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ln u for normal u > 0, relative error below 2e-7 (the polynomial is Cephes' logf). Library calls would prevent
 * vectorization of the loops below, and their last bits differ between C libraries. */
static inline float log_positive(float u) {
    const uint32_t half_root = 0x3f3504f3; /* sqrt(1/2): u = m 2^e with m in [sqrt(1/2), sqrt(2)) */
    int32_t shifted = (int32_t)(float_bits(u) - half_root);
    float e = (float)(shifted >> 23);
    float f = bits_float((uint32_t)(shifted & 0x7fffff) + half_root) - 1.0f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    float f2 = f * f;
    return (f + (p * f2 * f - 0.5f * f2)) + e * 0.69314718056f;
}

/* sqrt(t) for t >= 0 by three Newton steps on 1/sqrt(t), relative error below 3e-7; 0 gives 0. */
static inline float root(float t) {
    float y = bits_float(0x5f375a86 - (float_bits(t) >> 1));
    float h = 0.5f * t;
    y = y * (1.5f - h * y * y);
    y = y * (1.5f - h * y * y);
    y = y * (1.5f - h * y * y);
    return t * y;
}

/* Box-Muller. The radius comes from 31 bits, centered in their steps so that the logarithm never sees 0; the largest is 6.66. */
static inline float radius_of(uint32_t word) {
    float u = (float)(int32_t)(word >> 1) * 0x1p-31f + 0x1p-32f;
    return root(-2.0f * log_positive(u));
}

/* A point on the unit circle, absolute error below 2e-7: the word's upper two bits choose the quadrant, the others an
 * angle within [-pi/4, pi/4) in it. */
static inline void circle_point(uint32_t word, float *x, float *y) {
    const uint32_t sign = 0x80000000u, odd = 0x40000000u;
    float t = (float)(int32_t)(word << 2) * (float)(TWO_PI / 4 * 0x1p-32);
    float z = t * t;
    float sine = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * t + t;
    float cosine = ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
    uint32_t first = word & odd ? float_bits(sine) : float_bits(cosine);
    uint32_t second = word & odd ? float_bits(cosine) : float_bits(sine);
    *x = bits_float(first ^ ((word + odd) & sign));
    *y = bits_float(second ^ (word & sign));
}

static void make_normal(const fill *f, const group_words w, cp_real *out) {
    const float offset = f->offset, scale = f->scale;
    for (int pair = 0; pair < 2; pair++) {
        const uint32_t *radii = w[2 * pair], *angles = w[2 * pair + 1];
        for (int g = 0; g < GROUP; g++) {
            float x, y, radius = scale * radius_of(radii[g]);
            circle_point(angles[g], &x, &y);
            out[4 * g + 2 * pair] = offset + radius * x;
            out[4 * g + 2 * pair + 1] = offset + radius * y;
        }
    }
}

#endif

/* Takes the stream by value: w cannot alias it, so the compiler vectorizes the loop. */
static void group_fill(cp_rng rng, uint64_t first, group_words w) {
    for (uint32_t g = 0; g < GROUP; g++) {
        words c = rng_block(&rng, first + g);
        w[0][g] = c.w0, w[1][g] = c.w1, w[2][g] = c.w2, w[3][g] = c.w3;
    }
}

static void fill_body(void *context, size_t begin, size_t end) {
    const fill *f = context;
    for (size_t block = begin; block < end; block += GROUP) {
        group_words w;
        group_fill(*f->rng, f->first + block, w);
        cp_real *out = f->out + block * BLOCK_VALUES;
        size_t   left = f->n - block * BLOCK_VALUES;
        if (left >= GROUP_VALUES) {
            f->make(f, (const uint32_t(*)[GROUP])w, out);
        } else {
            cp_real values[GROUP_VALUES];
            f->make(f, (const uint32_t(*)[GROUP])w, values);
            memcpy(out, values, left * sizeof *out);
        }
    }
}

static size_t fill_blocks(size_t n) { return n / BLOCK_VALUES + (n % BLOCK_VALUES != 0); }

static uint64_t first_block(const cp_rng *rng) { return rng->position / BLOCK_WORDS + (rng->position % BLOCK_WORDS != 0); }

void cp_rng_skip_fill(cp_rng *rng, size_t n) {
    if (n) rng->position = (first_block(rng) + fill_blocks(n)) * BLOCK_WORDS;
}

cp_rng cp_rng_inside_fill(cp_rng rng, size_t first) {
    rng.position = (first_block(&rng) + first / BLOCK_VALUES) * BLOCK_WORDS;
    return rng;
}

static void fill_run(cp_rng *rng, fill *f) {
    f->rng = rng;
    f->first = first_block(rng);
    cp_parallel(fill_blocks(f->n), FILL_GRAIN, fill_body, f);
    cp_rng_skip_fill(rng, f->n);
}

void cp_rng_fill_uniform(cp_rng *rng, cp_reals_out out, size_t n, cp_real low, cp_real high) {
    if (!(high - low >= 0 && high - low <= CP_REAL_MAX)) {
        cp_misuse((cp_at){0}, "rng_fill_uniform", "cannot draw from [%g, %g): expected finite bounds in order", (double)low,
                  (double)high);
        return;
    }
    cp_real limit = low < high ? nextafter(high, (cp_real)-INFINITY) : low;
    fill    f = {.out = out.at, .n = n, .offset = low, .scale = high - low, .limit = limit, .make = make_uniform};
    fill_run(rng, &f);
}

void cp_rng_fill_normal(cp_rng *rng, cp_reals_out out, size_t n, cp_real mean, cp_real sd) {
    fill f = {.out = out.at, .n = n, .offset = mean, .scale = sd, .make = make_normal};
    fill_run(rng, &f);
}
