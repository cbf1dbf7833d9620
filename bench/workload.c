/* The traced program for figures of the whole tool: recursion, small allocations, one contended mutex, and small reads
 * and writes. It makes several million hookable calls per CPU second.
 *
 *     workload [THREADS [ROUNDS]]        default 2 threads, 4000 rounds each
 *
 * Prints one line: wall and CPU seconds, the number of hookable calls, and a checksum that depends on each step but not
 * on the interleaving of the threads. */
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS_MAX = 64,
    TREE_DEPTH = 22,
    FORK_EVERY = 4, /* a chain that forks at every fourth level */
    HASH_STEPS = 120,
    SHARE_ROUNDS = 8,
    IO_ROUNDS = 4,
    BLOCK_BYTES = 256,
    FILE_BLOCKS = 64,
};

struct tree {
    struct tree *kid[2];
    uint32_t key, kid_count;
    char payload[32];
};

struct worker {
    pthread_t thread;
    int id, rounds, fd;
    uint32_t random;
    uint64_t events, sum;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t shared_sum;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint32_t draw(struct worker *w)
{
    return w->random = w->random * 1664525u + 1013904223u;
}

static __attribute__((noinline)) uint64_t crunch(const struct tree *t)
{
    uint64_t h = t->key;
    for (int i = 0; i < HASH_STEPS; i++)
        h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u + (uint64_t)i;
    return h;
}

static __attribute__((noinline)) struct tree *grow(struct worker *w, int depth)
{
    struct tree *t = malloc(sizeof *t + draw(w) % 96);
    if (!t)
        fail("malloc");
    w->events++;
    memset(t, 0, sizeof *t);
    t->key = w->random;
    if (depth > 0) {
        t->kid_count = depth % FORK_EVERY ? 1 : 2;
        for (uint32_t i = 0; i < t->kid_count; i++)
            t->kid[i] = grow(w, depth - 1);
    }
    return t;
}

static __attribute__((noinline)) uint64_t visit(const struct tree *t)
{
    uint64_t h = crunch(t);
    for (uint32_t i = 0; i < t->kid_count; i++)
        h += visit(t->kid[i]);
    return h;
}

static __attribute__((noinline)) void drop(struct worker *w, struct tree *t)
{
    for (uint32_t i = 0; i < t->kid_count; i++)
        drop(w, t->kid[i]);
    free(t);
    w->events++;
}

static __attribute__((noinline)) void share(struct worker *w, uint64_t h)
{
    for (int i = 0; i < SHARE_ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        shared_sum += h ^ (uint64_t)i;
        pthread_mutex_unlock(&lock);
        w->events += 2;
    }
}

static __attribute__((noinline)) void store_and_load(struct worker *w, uint64_t h)
{
    char block[BLOCK_BYTES];
    off_t at = (off_t)(h % FILE_BLOCKS) * BLOCK_BYTES;
    memset(block, (int)(h & 0x7f), sizeof block);
    for (int i = 0; i < IO_ROUNDS; i++) {
        if (pwrite(w->fd, block, sizeof block, at) != (ssize_t)sizeof block)
            fail("pwrite");
        if (pread(w->fd, block, sizeof block, at) != (ssize_t)sizeof block)
            fail("pread");
        w->sum += (uint64_t)block[i];
        w->events += 2;
    }
}

static __attribute__((noinline)) void step(struct worker *w)
{
    struct tree *t = grow(w, TREE_DEPTH);
    uint64_t h = visit(t);
    w->sum += h;
    share(w, h);
    store_and_load(w, h);
    drop(w, t);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < w->rounds; i++) {
        w->random = (uint32_t)i * 2654435761u + (uint32_t)w->id;
        step(w);
    }
    return NULL;
}

static int scratch_file(void)
{
    char path[TEMPORARY_BYTES];
    int fd = mkstemp(temporary_path(path, "strobe-workload-XXXXXX"));
    if (fd < 0)
        fail(path);
    unlink(path);
    return fd;
}

static double wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS_MAX];
    int threads = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 4000;
    if (threads < 1 || threads > THREADS_MAX || rounds < 1) {
        fprintf(stderr, "usage: workload [THREADS 1..%d [ROUNDS]]\n", THREADS_MAX);
        return 2;
    }
    double begin = wall_seconds();
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.id = i, .rounds = rounds, .fd = scratch_file()};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            fail("pthread_create");
    }
    uint64_t events = 0, sum = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        close(workers[i].fd);
        events += workers[i].events;
        sum += workers[i].sum;
    }
    printf("workload wall %.3f cpu %.3f events %" PRIu64 " sum %016" PRIx64 "\n", wall_seconds() - begin, cpu_seconds(),
           events, sum + shared_sum);
    return 0;
}
