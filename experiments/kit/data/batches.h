/* Batches: the rows of a split in a new order every epoch, a batch at a time, from any position.
 *
 *     int        *drawn = cp_split_draw(train, 10, seed, &status);
 *     cp_batches *labeled = cp_batches_new((cp_batches_config){.split = train, .rows = drawn, .row_count = 10 * set->classes,
 *                                                              .last = CP_LAST_WRAP, .seed = seed, .stream = "labeled"});
 *     cp_batches *unlabeled = cp_batches_new((cp_batches_config){.split = train, .seed = seed, .stream = "unlabeled"});
 *     cp_checkpoint_part parts[] = {cp_part_batches("labeled", labeled), cp_part_batches("unlabeled", unlabeled), ...};
 *
 *     while (labeled->step < steps) {
 *         cp_batch   l = cp_batches_next(tape, labeled);         // l.x (32, 28, 28, 3), l.labels (32)
 *         cp_batch   u = cp_batches_next(tape, unlabeled);
 *         cp_tensor *loss = cp_cross_entropy(tape, cp_model_logits(tape, model, l.x, CP_TRAINING), l.labels);
 *         ...
 *         cp_tape_reset(tape);                                   // l.x and u.x are gone
 *     }
 *
 *     cp_batches *all = cp_batches_new((cp_batches_config){.split = test, .size = 64, .in_order = true});
 *     for (int64_t left = cp_batches_per_epoch(all); left > 0; left--) {
 *         cp_tensor *z = cp_model_logits(tape, model, cp_batches_next(tape, all).x, CP_EVALUATION);
 *         for (size_t i = 0; i < z->size; i++) *logits++ = z->data[i];     // for cp_metrics_new: metrics.h
 *         cp_tape_reset(tape);
 *     }
 *
 * Batch number k is a function of the configuration and of k alone: the order of epoch e comes from the random stream
 * "STREAM/e" of the seed. The whole position is therefore one number, `step`; a program may set it to any value of 0 or more to move
 * there, and a checkpoint saves it. */
#pragma once

#include "experiments/kit/data/dataset.h"
#include "models/checkpoint.h"

/* What happens to the rows left over at the end of an epoch, which do not fill a batch. */
typedef enum cp_last {
    CP_LAST_SHORT, /* they form a smaller batch */
    CP_LAST_DROP,  /* they are left out of this epoch; fewer rows than a batch are misuse */
    CP_LAST_WRAP,  /* the next epoch's rows fill it up. With fewer rows than a batch, each appears several times */
} cp_last;

typedef struct cp_batches_config {
    const cp_split *split; /* must outlive the batches */
    const int      *rows;  /* the rows to take, which are copied; NULL: all */
    int             row_count;
    int             size; /* of a batch; 0: 32 */
    cp_last         last;
    bool            in_order; /* rows in the order in which they were given, as for evaluation */
    uint64_t        seed;
    const char     *stream; /* of the random numbers; NULL: "batches". Batches used side by side need different names */
} cp_batches_config;

/* `step` may be written; the rest is for reading. */
typedef struct cp_batches {
    int64_t         step; /* the number of the next batch, from 0 */
    const cp_split *split;
    int             count, size; /* rows in all, and in a full batch */
    cp_last         last;
    bool            in_order;
    uint64_t        seed;
    char            stream[64];

    int    *rows, *order; /* (count): the order of epoch `ordered`, -1 before the first, as indices into `rows` */
    int64_t ordered;
    int    *batch, *labels; /* (size) */
} cp_batches;

cp_batches *cp_batches_new(cp_at at, cp_batches_config config); /* NULL (misuse): no rows, a row out of range, a bad size */
void        cp_batches_free(cp_batches *batches);               /* NULL is allowed */

typedef struct cp_batch {
    int        count;  /* 0 after misuse */
    int64_t    step;   /* its number */
    int64_t    epoch;  /* of its first row */
    const int *rows;   /* (count): row numbers of the split; until the next batch */
    cp_labels  labels; /* of these rows, -1 where there is none; until the next batch */
    cp_tensor *x;      /* (count, dims...), scaled: on the tape, or NULL when the tape is NULL */
} cp_batch;

/* The next batch, with its inputs as a constant on the tape. With a NULL tape only rows and labels: cp_split_read then reads the inputs. */
cp_batch cp_batches_next(cp_at at, cp_batches *batches);
#define cp_batches_next(t, ...) cp_batches_next(CP_AT(t), __VA_ARGS__)
#define cp_batches_new(...) cp_batches_new(CP_AT((struct cp_tape *)NULL), __VA_ARGS__)

int64_t cp_batches_per_epoch(const cp_batches *batches); /* with CP_LAST_WRAP: the full batches of an epoch, at least 1 */

/* "step"; and fixed, so that a run is continued with the batches that it was started with: "seed", "count", "size", "last". */
cp_checkpoint_part cp_part_batches(const char *name, cp_batches *batches);
