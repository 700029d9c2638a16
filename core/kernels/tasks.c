/* Numbered work items on the pool: each slot is one item of the pool's loop and takes the next number until none is left. */
#include "core/kernels/tasks.h"

#include "core/threads.h"

typedef struct tasks {
    cp_task_fn  body;
    const void *context;
    size_t      items;
    size_t      next;
} tasks;

size_t cp_task_slots(size_t items) {
    const size_t threads = (size_t)cp_threads();
    return items < threads ? (items ? items : 1) : threads;
}

static void slot_run(void *context, size_t begin, size_t end) {
    tasks *t = context;
    for (size_t slot = begin; slot < end; slot++) {
        size_t item;
        while ((item = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED)) < t->items) t->body(t->context, slot, item);
    }
}

void cp_tasks_run(size_t items, size_t slots, cp_task_fn body, const void *context) {
    tasks t = {body, context, items, 0};
    if (slots == 1)
        slot_run(&t, 0, 1);
    else
        cp_parallel(slots, 1, slot_run, &t);
}
