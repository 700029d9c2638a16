/* Work in numbered items whose body needs memory of its own: at most cp_task_slots() bodies run at once, and each
 * gets the number of its slot. Threads take the next item when they are free; results must not depend on the slot. */
#pragma once

#include <stddef.h>

typedef void (*cp_task_fn)(const void *context, size_t slot, size_t item);

/* How many slots a run of `items` items uses: between 1 and the number of threads. Ask once, before the run. */
size_t cp_task_slots(size_t items);
void   cp_tasks_run(size_t items, size_t slots, cp_task_fn body, const void *context);
