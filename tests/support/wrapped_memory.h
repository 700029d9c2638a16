/* Memory calls that are counted and can be made to fail, for programs linked with -Wl,--wrap for each of them. Include it
 * in only one file of a program. */
#ifndef CP_TEST_WRAPPED_MEMORY_H
#define CP_TEST_WRAPPED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int   __real_posix_memalign(void **out, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int   __wrap_posix_memalign(void **out, size_t alignment, size_t size);

static long   memory_calls;
static size_t memory_bytes;               /* requested in total */
static long   calls_allowed = -1;         /* before one fails; below 0: any number */
static bool   memory_stays_out;           /* after the first failure all other calls fail too, until calls_allowed is set again */
static size_t largest_allowed = SIZE_MAX; /* bytes; a call for more fails */

static bool refused(size_t n, size_t size) {
    __atomic_fetch_add(&memory_calls, 1, __ATOMIC_RELAXED); /* threads allocate too */
    __atomic_fetch_add(&memory_bytes, n * size, __ATOMIC_RELAXED);
    if (size > largest_allowed || (calls_allowed == 0 && memory_stays_out)) return true;
    return calls_allowed >= 0 && __atomic_fetch_sub(&calls_allowed, 1, __ATOMIC_RELAXED) == 0;
}

void *__wrap_malloc(size_t size) { return refused(1, size) ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t n, size_t size) { return refused(n, size) ? NULL : __real_calloc(n, size); }

void *__wrap_realloc(void *old, size_t size) { return refused(1, size) ? NULL : __real_realloc(old, size); }

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return refused(1, size) ? NULL : __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    return refused(1, size) ? 12 : __real_posix_memalign(out, alignment, size);
}

#endif
