/* The pool: worker threads that live between loops, spinning for a moment and then sleeping.
 *
 * One atomic word, the gate, coordinates all threads. The caller publishes a loop by opening the gate, runs chunks
 * itself, and closes the gate when none are left; then it waits only for the workers that entered. A worker that wakes
 * up too late finds the gate closed and delays no thread. */
#ifdef __linux__
#define _GNU_SOURCE /* sched_getaffinity */
#endif

#include "core/threads.h"

#include "core/error.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 256, CACHE_LINE = 64, SPIN_NANOSECONDS = 50000, SPIN_BURST = 32 };

/* The gate: the number of workers inside, three flags, and the loop's number above them. */
#define GATE_INSIDE ((uint64_t)0xffff)
#define GATE_OPEN ((uint64_t)1 << 16)
#define GATE_CALLER_SLEEPS ((uint64_t)1 << 17)
#define GATE_STOP ((uint64_t)1 << 18)
#define GATE_NUMBER_SHIFT 20

typedef struct loop {
    size_t     count, grain, chunks;
    cp_loop_fn body;
    void      *context;
} loop;

static struct {
    pthread_mutex_t busy;  /* held by the caller whose loop the pool runs */
    pthread_mutex_t sleep; /* guards the two conditions */
    pthread_cond_t  work;  /* a loop was published, or the pool stops */
    pthread_cond_t  done;  /* the last worker left */
    pthread_t       workers[THREADS_MAX];
    int             workers_running;
    int             threads; /* for which the pool was started; 0 when it is not running */
    bool            spins;
    loop            loop;
    _Alignas(CACHE_LINE) atomic_uint_fast64_t gate;
    atomic_int sleepers;
    _Alignas(CACHE_LINE) atomic_size_t next_chunk;
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER,
          .sleep = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static atomic_int         threads_wanted; /* 0: not set yet */
static _Thread_local bool inside_loop;

/* ---- how many threads ---- */

static int processors_available(void) {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* COUPLET_THREADS or, when it is unset or invalid, the number of processors. */
static int threads_default(void) {
    const char *text = getenv("COUPLET_THREADS");
    int         processors = processors_available();
    char       *end = NULL;
    errno = 0;
    long value = text ? strtol(text, &end, 10) : 0;
    bool whole = value > 0 && !*end && errno == 0;
    if (whole && value <= THREADS_MAX) return (int)value;
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    if (text && *text && !atomic_flag_test_and_set(&warned))
        fprintf(stderr,
                whole ? "couplet: COUPLET_THREADS=%s is too many; using %d\n"
                      : "couplet: COUPLET_THREADS=%s is not a whole number from 1 to %d; using all processors\n",
                text, THREADS_MAX);
    return whole || processors > THREADS_MAX ? THREADS_MAX : processors;
}

void cp_threads_set(int threads) {
    if (threads < 0) {
        cp_misuse((cp_at){0}, "threads_set", "%d threads: expected 1 or more, or 0 for the default", threads);
        return;
    }
    if (threads == 0) threads = threads_default();
    atomic_store(&threads_wanted, threads < THREADS_MAX ? threads : THREADS_MAX);
}

int cp_threads(void) {
    int threads = atomic_load_explicit(&threads_wanted, memory_order_relaxed);
    if (threads) return threads;
    int undecided = 0;
    threads = threads_default();
    return atomic_compare_exchange_strong(&threads_wanted, &undecided, threads) ? threads : undecided;
}

/* ---- spinning ---- */

static void spin_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Polls the gate for a short time; true as soon as ready(gate, number). */
static bool gate_spin(bool (*ready)(uint64_t gate, uint64_t number), uint64_t number) {
    if (!pool.spins) return ready(atomic_load(&pool.gate), number);
    int64_t start = 0, now = 0; /* the first burst does not read the clock: most waits are shorter */
    while (now - start <= SPIN_NANOSECONDS) {
        for (int i = 0; i < SPIN_BURST; i++) {
            if (ready(atomic_load_explicit(&pool.gate, memory_order_acquire), number)) return true;
            spin_pause();
        }
        now = nanoseconds();
        if (!start) start = now;
    }
    return false;
}

/* ---- running chunks ---- */

static void chunk_run(const loop *l, size_t chunk) {
    size_t begin = chunk * l->grain;
    l->body(l->context, begin, l->count - begin > l->grain ? begin + l->grain : l->count);
}

static void loop_run_inline(const loop *l) {
    for (size_t chunk = 0; chunk < l->chunks; chunk++) chunk_run(l, chunk);
}

static void loop_take_part(const loop *l) {
    for (;;) {
        size_t chunk = atomic_fetch_add_explicit(&pool.next_chunk, 1, memory_order_relaxed);
        if (chunk >= l->chunks) return;
        chunk_run(l, chunk);
    }
}

/* ---- workers ---- */

static bool has_work(uint64_t gate, uint64_t number_seen) {
    return gate & GATE_STOP || (gate & GATE_OPEN && gate >> GATE_NUMBER_SHIFT != number_seen);
}

static void worker_wait(uint64_t number_seen) {
    if (gate_spin(has_work, number_seen)) return;
    pthread_mutex_lock(&pool.sleep);
    atomic_fetch_add(&pool.sleepers, 1); /* before the gate is read: whoever opens it then sees a sleeper to wake */
    while (!has_work(atomic_load(&pool.gate), number_seen)) pthread_cond_wait(&pool.work, &pool.sleep);
    atomic_fetch_sub(&pool.sleepers, 1);
    pthread_mutex_unlock(&pool.sleep);
}

static void worker_leave(void) {
    uint64_t gate = atomic_fetch_sub(&pool.gate, 1);
    if ((gate & GATE_INSIDE) == 1 && gate & GATE_CALLER_SLEEPS) {
        pthread_mutex_lock(&pool.sleep);
        pthread_cond_signal(&pool.done);
        pthread_mutex_unlock(&pool.sleep);
    }
}

static void *worker_main(void *unused) {
    (void)unused;
    inside_loop = true;
    uint64_t seen = 0;
    for (;;) {
        worker_wait(seen);
        uint_fast64_t gate = atomic_load(&pool.gate);
        if (gate & GATE_STOP) return NULL;
        if (!has_work(gate, seen) || !atomic_compare_exchange_strong(&pool.gate, &gate, gate + 1)) continue;
        seen = gate >> GATE_NUMBER_SHIFT;
        loop_take_part(&pool.loop);
        worker_leave();
    }
}

static void workers_wake(size_t max) {
    pthread_mutex_lock(&pool.sleep);
    if (max < (size_t)atomic_load(&pool.sleepers)) {
        for (size_t i = 0; i < max; i++) pthread_cond_signal(&pool.work);
    } else {
        pthread_cond_broadcast(&pool.work);
    }
    pthread_mutex_unlock(&pool.sleep);
}

/* ---- starting and stopping; the caller holds pool.busy ---- */

static void pool_stop(void) {
    atomic_fetch_or(&pool.gate, GATE_STOP);
    workers_wake(THREADS_MAX);
    for (int i = 0; i < pool.workers_running; i++) pthread_join(pool.workers[i], NULL);
    atomic_fetch_and(&pool.gate, ~GATE_STOP);
    pool.workers_running = pool.threads = 0;
}

/* A child process has no workers, and locks in an undefined state. */
static void pool_forget(void) {
    pthread_mutex_init(&pool.busy, NULL);
    pthread_mutex_init(&pool.sleep, NULL);
    pthread_cond_init(&pool.work, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.workers_running = pool.threads = 0;
    atomic_store(&pool.gate, 0);
    atomic_store(&pool.sleepers, 0);
}

static void pool_register(void) {
    atexit(cp_threads_stop);
    pthread_atfork(NULL, NULL, pool_forget);
}

static void pool_start(int threads) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, pool_register);
    pool.threads = threads;
    pool.spins = threads <= processors_available();
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals go to the program's own threads */
    while (pool.workers_running < threads - 1 &&
           pthread_create(&pool.workers[pool.workers_running], NULL, worker_main, NULL) == 0) {
        pool.workers_running++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void cp_threads_stop(void) {
    if (inside_loop) return; /* exit() from a loop's body: a thread cannot wait for itself */
    pthread_mutex_lock(&pool.busy);
    pool_stop();
    pthread_mutex_unlock(&pool.busy);
}

/* ---- loops ---- */

static bool all_left(uint64_t gate, uint64_t unused) {
    (void)unused;
    return !(gate & GATE_INSIDE);
}

static void gate_open(size_t helpers_useful) {
    uint64_t number = (atomic_load_explicit(&pool.gate, memory_order_relaxed) >> GATE_NUMBER_SHIFT) + 1;
    atomic_store(&pool.gate, number << GATE_NUMBER_SHIFT | GATE_OPEN);
    if (atomic_load(&pool.sleepers)) workers_wake(helpers_useful);
}

static void gate_close(void) {
    if (all_left(atomic_fetch_and(&pool.gate, ~GATE_OPEN), 0) || gate_spin(all_left, 0)) return;
    pthread_mutex_lock(&pool.sleep);
    atomic_fetch_or(&pool.gate, GATE_CALLER_SLEEPS);
    while (!all_left(atomic_load(&pool.gate), 0)) pthread_cond_wait(&pool.done, &pool.sleep);
    atomic_fetch_and(&pool.gate, ~GATE_CALLER_SLEEPS);
    pthread_mutex_unlock(&pool.sleep);
}

static void loop_run_on_pool(const loop *l) {
    pool.loop = *l;
    atomic_store_explicit(&pool.next_chunk, 0, memory_order_relaxed);
    inside_loop = true;
    gate_open(l->chunks - 1);
    loop_take_part(l);
    gate_close();
    inside_loop = false;
}

void cp_parallel(size_t count, size_t grain, cp_loop_fn body, void *context) {
    if (!count) return;
    if (!grain) grain = 1;
    loop l = {count, grain, (count - 1) / grain + 1, body, context};
    int  threads = l.chunks > 1 && !inside_loop ? cp_threads() : 1;
    if (threads == 1 || pthread_mutex_trylock(&pool.busy) != 0) {
        loop_run_inline(&l);
        return;
    }
    if (pool.threads != threads) {
        pool_stop();
        pool_start(threads);
    }
    bool helped = pool.workers_running;
    if (helped) loop_run_on_pool(&l);
    pthread_mutex_unlock(&pool.busy);
    if (!helped) loop_run_inline(&l); /* unlocked: a body may call exit(), whose handler takes the lock */
}
