/* Schedules: the learning rate as a pure function of the step. Only the step needs to be saved. */
#pragma once

#include "core/error.h"

#include <stdint.h>

enum { CP_SCHEDULE_DROPS = 8 };

typedef enum cp_schedule_kind {
    CP_SCHEDULE_CONSTANT, /* rate */
    CP_SCHEDULE_STEP,     /* rate factor^k, k = number of drops at or before this step */
    CP_SCHEDULE_COSINE,   /* final_rate + (rate - final_rate) (1 + cos(pi u)) / 2, u: see total */
} cp_schedule_kind;

/* Steps count from 0: the first update uses cp_schedule_rate(&s, 0). While step < warmup the rate is
 * rate (step + 1) / warmup for every kind; it reaches `rate` at step warmup - 1. */
typedef struct cp_schedule {
    cp_schedule_kind kind;
    double           rate;
    int64_t          warmup; /* steps; 0: none */

    /* CP_SCHEDULE_STEP: drops at every, 2 every, ... and at those of drops[] that are above 0; steps count from 0,
     * the warm-up included. */
    int64_t every; /* 0: none */
    int64_t drops[CP_SCHEDULE_DROPS];
    double  factor; /* 0: 0.1 */

    /* CP_SCHEDULE_COSINE */
    int64_t hold;       /* the rate is constant until this step; 0, or below warmup: it falls after the warmup */
    int64_t total;      /* above warmup and hold; u = (step - s) / (total - s), s the larger of them */
    double  final_rate; /* from step `total` on */
} cp_schedule;

/* Whether a schedule is valid, with a message if not: rates are finite and not negative, nor is the warmup; the total of a cosine
 * is above its warmup. */
bool cp_schedule_check(const cp_schedule *schedule, cp_status *status);

/* A negative step counts as 0. 0, after misuse, for NULL and an invalid schedule. */
double cp_schedule_rate(cp_at at, const cp_schedule *schedule, int64_t step);
#define cp_schedule_rate(...) cp_schedule_rate(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)
