/* Runs the explored programs on real threads. It implements the functions of sim/explore/program.h on this machine. The
 * memory model and the schedules are those of the processor. A round is one execution; a run has many rounds.
 *
 * Threads live as long as the process. The first is the main thread. A round begins when the threads of the program
 * have met. Each thread then waits for a short random time. No operation orders the threads in between, so the thread
 * sanitizer sees the orders of the program only. The seed determines the random numbers, not the scheduling: a seed
 * repeats the choices and the waits of a round, not its interleaving. */
#include "engine/base/error_format.h"
#include "sim/explore/program.h"
#include "tests/support/sanitizers.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    ARENA_BYTES = 64 << 10,
    LOCALS = 16,
    FREE_SIZES = 8,
    WAIT_BITS = 10,       /* a thread waits up to 2^k turns, with k random: often short waits */
    MEET_TURNS = 3000,    /* turns that a thread spins for others before it yields */
    INTERRUPT_NS = 40000, /* an interrupt comes within this time */
};

struct worker {
    _Alignas(128) _Atomic uint32_t rounds; /* number of requested rounds; also the futex on which the thread sleeps */
    uint32_t index;
    uint64_t random;
    volatile sig_atomic_t inside, interrupted;
    pthread_t thread;
    timer_t timer;
};

static struct {
    const char *command;
    const struct explore_program *program;
    uint64_t seed, round;
    uint32_t size, hang_seconds; /* a round takes a few microseconds */
    void *state;
    _Alignas(128) _Atomic uint32_t met, running;
    _Alignas(128) _Atomic uint32_t failed;
} now;

static struct worker workers[EXPLORE_THREADS_MAX];
static _Thread_local struct worker *me;

static struct {
    _Atomic uint32_t lock;
    size_t used;
    struct {
        size_t bytes;
        void *first;
    } freed[FREE_SIZES];
    _Alignas(16) unsigned char bytes[ARENA_BYTES];
} arena;

static struct {
    ptrdiff_t at;
    size_t bytes;
} locals[LOCALS];
static uint32_t local_count;
static _Thread_local char anchor; /* other thread-local variables have the same offset from it in each thread */

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void pause_for(uint32_t turns)
{
    for (volatile uint32_t i = 0; i < turns; i++)
        ;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

/* ---- failures, which end a run */

static void print_position(void)
{
    fprintf(stderr, "%s: seed %llu, round %llu, size %u\nrepeat with: %s --seed %llu --size %u --program %s\n",
            now.program->name, (unsigned long long)now.seed, (unsigned long long)now.round, now.size, now.command,
            (unsigned long long)now.seed, now.size, now.program->name);
}

static _Noreturn void fail(const char *why)
{
    if (atomic_exchange(&now.failed, 1))
        for (;;)
            pause();
    fprintf(stderr, "FAIL %s\n", why);
    print_position();
    printf("0 passed, 1 failed\n");
    fflush(stdout);
    _exit(1);
}

_Noreturn void explore_broken(const char *condition, const char *file, int line)
{
    struct strobe_error error;
    strobe_error_set(&error, "%s:%d: does not hold: %s", file, line, condition);
    fail(error.text);
}

#if THREAD_SANITIZER
/* Options of the thread sanitizer: the first race ends the run. */
const char *__tsan_default_options(void);
void __sanitizer_set_death_callback(void (*call)(void));
const char *__tsan_default_options(void)
{
    return "halt_on_error=1";
}
#endif

/* ---- functions of program.h */

uint32_t explore_size(void)
{
    return now.size;
}
uint32_t explore_self(void)
{
    return me->index;
}
uint32_t explore_frozen(void)
{
    return 0;
}
uint32_t explore_choose(uint32_t count)
{
    return (uint32_t)(random_next(&me->random) % count);
}

void explore_spin(void)
{
    if (random_next(&me->random) % 4)
        pause_for(10);
    else
        sched_yield();
}

static void arena_lock(void)
{
    while (atomic_exchange_explicit(&arena.lock, 1, memory_order_acquire))
        sched_yield();
}

static void arena_unlock(void)
{
    atomic_store_explicit(&arena.lock, 0, memory_order_release);
}

/* The size precedes a block. A free block contains the next free one. */
struct block {
    _Alignas(16) size_t bytes;
};

void *explore_alloc(size_t bytes)
{
    struct block *block = NULL;
    bytes = (bytes + 15) / 16 * 16;
    arena_lock();
    for (uint32_t i = 0; i < FREE_SIZES && !block; i++)
        if (arena.freed[i].first && arena.freed[i].bytes == bytes) {
            block = arena.freed[i].first;
            memcpy(&arena.freed[i].first, block + 1, sizeof(void *));
        }
    if (!block) {
        if (arena.used + sizeof *block + bytes > ARENA_BYTES)
            fail("explore_alloc: more than 64 KiB in a round");
        block = (struct block *)(arena.bytes + arena.used);
        arena.used += sizeof *block + bytes;
        block->bytes = bytes;
    }
    arena_unlock();
    return memset(block + 1, 0, bytes);
}

void explore_free(void *memory)
{
    struct block *block = (struct block *)memory - 1;
    arena_lock();
    uint32_t i = 0;
    while (i < FREE_SIZES - 1 && arena.freed[i].bytes && arena.freed[i].bytes != block->bytes)
        i++;
    if (arena.freed[i].bytes && arena.freed[i].bytes != block->bytes)
        fail("explore_free: blocks of more than 8 sizes");
    arena.freed[i].bytes = block->bytes;
    memcpy(block + 1, &arena.freed[i].first, sizeof(void *));
    arena.freed[i].first = block;
    arena_unlock();
}

void explore_share(void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}

void explore_local(void *memory, size_t bytes)
{
    if (local_count == LOCALS)
        fail("explore_local: more than 16 of them");
    locals[local_count].at = (char *)memory - &anchor;
    locals[local_count++].bytes = bytes;
}

bool explore_futex_wait(_Atomic uint32_t *word, uint32_t expected, bool may_time_out)
{
    struct timespec soon = {0, (long)(random_next(&me->random) % 50000)};
    return futex(word, FUTEX_WAIT, expected, may_time_out ? &soon : NULL) == 0 || errno != EAGAIN;
}

void explore_futex_wake(_Atomic uint32_t *word)
{
    futex(word, FUTEX_WAKE, INT32_MAX, NULL);
}

/* ---- a worker */

static void on_signal(int signal)
{
    (void)signal;
    if (!me || !me->inside || me->interrupted || !now.program->interrupt)
        return;
    me->interrupted = 1;
    now.program->interrupt(now.state);
}

static void interrupt_soon(void)
{
    struct itimerspec when = {.it_value.tv_nsec = 1 + (long)(random_next(&me->random) % INTERRUPT_NS)};
    timer_settime(me->timer, 0, &when, NULL);
}

/* Waits until the word is `wanted`. It spins first, so that threads meet closely. */
static void meet(_Atomic uint32_t *word, uint32_t wanted)
{
    uint32_t turns = 0;
    while (atomic_load_explicit(word, memory_order_acquire) != wanted)
        if (++turns > MEET_TURNS)
            sched_yield();
}

static void take_part(void)
{
    const struct explore_program *p = now.program;
    for (uint32_t i = 0; i < local_count; i++)
        memset(&anchor + locals[i].at, 0, locals[i].bytes);
    me->random = now.seed ^ now.round * 0x100000001b3u ^ (uint64_t)me->index << 56;
    uint64_t random = random_next(&me->random);
    uint32_t wait = (uint32_t)(random >> 8) % (1u << random % WAIT_BITS);
    me->interrupted = 0;
    atomic_fetch_add_explicit(&now.met, 1, memory_order_acq_rel);
    meet(&now.met, p->thread_count);
    if (p->interrupted == me->index + 1)
        interrupt_soon();
    pause_for(wait);
    me->inside = 1;
    p->thread[me->index](now.state);
    me->inside = 0;
    atomic_fetch_sub_explicit(&now.running, 1, memory_order_acq_rel);
}

static void begin(struct worker *worker)
{
    struct sigevent to_me = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    to_me._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    me = worker;
    if (timer_create(CLOCK_MONOTONIC, &to_me, &me->timer)) {
        fprintf(stderr, "stress: no timer\n");
        exit(2);
    }
}

static void *work(void *worker)
{
    begin(worker);
    for (uint32_t done = 0, turns = 0;; done++, turns = 0) {
        while (atomic_load_explicit(&me->rounds, memory_order_acquire) == done)
            if (++turns > MEET_TURNS)
                futex(&me->rounds, FUTEX_WAIT, done, NULL);
        take_part();
    }
    return NULL;
}

static void on_alarm(int signal)
{
    (void)signal;
    fail("its threads wait for ever");
}

static void start_workers(void)
{
    struct sigaction interrupt = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, hang = {.sa_handler = on_alarm};
    sigaction(SIGUSR1, &interrupt, NULL);
    sigaction(SIGALRM, &hang, NULL);
    for (uint32_t i = 0; i < EXPLORE_THREADS_MAX; i++) {
        workers[i].index = i;
        if (i && pthread_create(&workers[i].thread, NULL, work, &workers[i])) {
            fprintf(stderr, "stress: no threads\n");
            exit(2);
        }
    }
    begin(&workers[0]);
}

/* ---- a round */

/* Plays one round. size: 0 means one of the program's sizes, small or large. */
static void play(uint64_t *random, uint32_t size)
{
    const struct explore_program *p = now.program;
    memset(now.state, 0, p->state_bytes);
    memset(&arena.freed, 0, sizeof arena.freed);
    arena.used = 0;
    local_count = 0;
    now.size = size ? size : random_next(random) % 2 && p->nightly ? p->nightly : p->quick;
    if (p->setup)
        p->setup(now.state);
    atomic_store_explicit(&now.met, 0, memory_order_relaxed);
    atomic_store_explicit(&now.running, p->thread_count, memory_order_relaxed);
    for (uint32_t i = 1; i < p->thread_count; i++) {
        atomic_fetch_add_explicit(&workers[i].rounds, 1, memory_order_release);
        futex(&workers[i].rounds, FUTEX_WAKE, 1, NULL);
    }
    take_part();
    meet(&now.running, 0);
    if (p->check)
        p->check(now.state);
}

/* ---- the command */

struct tally {
    const struct explore_program *program;
    uint64_t rounds;
    double seconds;
};

enum { PROGRAMS = 512 };
static struct tally tally[PROGRAMS];
static uint32_t tally_count, skipped_count;

static bool known_bad(const struct explore_program *program)
{
    uint32_t faults = 0;
    for (uint32_t i = 0; i < EXPLORE_MEMORIES; i++)
        faults |= program->faults[i];
    return faults != 0;
}

/* Adds the programs to play: all without a known fault, or the named one. */
static void choose(const char *name)
{
    for (const struct explore_group *group = explore_groups; group->program; group++)
        for (const struct explore_program *const *p = group->program; *p; p++) {
            if (name ? strcmp(name, (*p)->name) != 0 : known_bad(*p))
                continue;
            if (THREAD_SANITIZER && (*p)->fenced) {
                printf("skipped %s: it is ordered by fences, which the thread sanitizer does not model\n", (*p)->name);
                skipped_count++;
            } else if (tally_count < PROGRAMS) {
                tally[tally_count++].program = *p;
            }
        }
}

static void stay(struct tally *t, double until, uint64_t size)
{
    double began = seconds_now();
    uint64_t random = now.seed ^ (uintptr_t)(t - tally) << 32 ^ t->rounds;
    now.program = t->program;
    now.state = aligned_alloc(128, (t->program->state_bytes + 127) / 128 * 128);
    if (!now.state)
        fail("no memory");
    alarm(now.hang_seconds);
    do {
        now.round = t->rounds++;
        play(&random, (uint32_t)size);
    } while (seconds_now() < until);
    free(now.state);
    t->seconds += seconds_now() - began;
}

/* Plays rounds of each program in turn, until the time is over and each program was played. */
static void play_all(double seconds, uint64_t size)
{
    double end = seconds_now() + seconds, slice = seconds / tally_count / 3;
    bool shows = isatty(STDOUT_FILENO);
    if (slice > 1)
        slice = 1;
    for (uint64_t turn = 0; !turn || seconds_now() < end; turn++)
        for (uint32_t i = 0; i < tally_count && (!turn || seconds_now() < end); i++) {
            if (shows)
                printf("\r%5.0f s left  %-40s %10llu rounds", end - seconds_now(), tally[i].program->name,
                       (unsigned long long)tally[i].rounds),
                    fflush(stdout);
            stay(&tally[i], seconds_now() + slice, size);
        }
    if (shows)
        printf("\r%78s\r", "");
    alarm(0);
}

static _Noreturn void usage(const char *wrong)
{
    fprintf(stderr,
            "%s: not understood: expected stress [--seconds N] [--seed N] [--size N] [--hang SECONDS] "
            "[--program NAME]\n",
            wrong);
    exit(2);
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end)
        usage(text);
    return value;
}

int main(int argc, char **argv)
{
    uint64_t seconds = 20, size = 0;
    const char *name = NULL;
    now.command = argv[0];
    now.seed = (uint64_t)time(NULL);
    now.hang_seconds = 30;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            usage(argv[i]);
        if (!strcmp(argv[i], "--seconds"))
            seconds = number(argv[i + 1]);
        else if (!strcmp(argv[i], "--seed"))
            now.seed = number(argv[i + 1]);
        else if (!strcmp(argv[i], "--size"))
            size = number(argv[i + 1]);
        else if (!strcmp(argv[i], "--hang"))
            now.hang_seconds = (uint32_t)number(argv[i + 1]);
        else if (!strcmp(argv[i], "--program"))
            name = argv[i + 1];
        else
            usage(argv[i]);
    }
    choose(name);
    if (!tally_count && !skipped_count)
        usage(name ? name : "no programs");
#if THREAD_SANITIZER
    __sanitizer_set_death_callback(print_position);
#endif
    printf("seed %llu\n", (unsigned long long)now.seed);
    if (tally_count) {
        start_workers();
        play_all((double)seconds, size);
    }
    for (uint32_t i = 0; i < tally_count; i++)
        printf("%-40s %10llu rounds %10.0f a second\n", tally[i].program->name, (unsigned long long)tally[i].rounds,
               (double)tally[i].rounds / tally[i].seconds);
    printf("%u passed, 0 failed", tally_count);
    if (skipped_count)
        printf(", %u skipped", skipped_count);
    printf("\n");
    return 0;
}
