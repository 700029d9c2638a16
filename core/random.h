/* Random numbers: Philox-4x32-10, counter-based, in named streams.
 *
 * A stream is a pure function of (seed, name, position): cp_rng_named(7, "init") and cp_rng_named(7, "sgld") never overlap, and a
 * stream's whole state is the struct below, a few integers that can be saved and restored. Word p of a stream is word p % 4 of the
 * block with counter {low half of p / 4, high half of p / 4, stream[0], stream[1]}. A stream belongs to one thread. */
#pragma once

#include "core/real.h"

typedef struct cp_rng {
    uint32_t key[2];    /* from seed and name */
    uint32_t stream[2]; /* the counter's upper half, from the name */
    uint64_t position;  /* the next 32-bit word */
} cp_rng;

/* The raw block function: 10 rounds; counter and key as in Salmon et al. 2011 (Random123's known answers hold). */
void cp_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* stream = mix(FNV-1a of the name), key = mix(seed ^ mix(stream)), both 64 bits, mix being SplitMix64's: under one name
 * no two seeds share a key, and two names share a stream only if their 64-bit hashes collide. */
cp_rng cp_rng_named(uint64_t seed, const char *name);

uint32_t cp_rng_u32(cp_rng *rng);               /* 1 word */
uint64_t cp_rng_below(cp_rng *rng, uint64_t n); /* 0..n-1 without bias; n = 0 gives 0; 2 words, rarely more */
double   cp_rng_uniform(cp_rng *rng);           /* [0, 1) in steps of 2^-53; 2 words */
double   cp_rng_normal(cp_rng *rng);            /* mean 0, sd 1; 4 words */

/* Fill n values: uniform on [low, high) (low = high gives low; otherwise the result is never high, even after rounding), or normal.
 *
 * A fill starts at the next whole block of 4 words and uses whole blocks. A block gives 4 values when cp_real is float
 * (uniforms of 24 bits; normals up to 6.66 sd) and 2 when it is double (53 bits; up to 8.57 sd), so each value has a
 * fixed position in the stream:
 * - large fills run on all threads and give the same bits for any number of threads;
 * - one fill of a + b values equals a fill of a and then one of b when a is a multiple of CP_FILL_UNIT;
 * - normals in float use no libm: the same bits on any machine with IEEE floats and no contraction of a * b + c.
 *   Normals in double use libm's log, cos and sin, whose last bits may differ between C libraries. */
void cp_rng_fill_uniform(cp_rng *rng, cp_reals_out out, size_t n, cp_real low, cp_real high);
void cp_rng_fill_normal(cp_rng *rng, cp_reals_out out, size_t n, cp_real mean, cp_real sd);

/* For a large fill that several threads make in pieces: advances the stream past a fill of n values, and returns the stream
 * at value `first`, a multiple of CP_FILL_UNIT, of the fill that rng would make. */
enum { CP_FILL_UNIT = 4 };
void   cp_rng_skip_fill(cp_rng *rng, size_t n);
cp_rng cp_rng_inside_fill(cp_rng rng, size_t first);

/* A random permutation of 0..n-1. */
void cp_rng_permutation(cp_rng *rng, int *out, int n);
