/* btrace 2.0 in a player. At the end of each call a thread writes a record of 16 bytes into a buffer that all threads
 * share (engine/trace/import/btrace/btrace2.h has the format). btrace stores the time of a call's begin in a local
 * variable of the method. Here a list by frame depth replaces these variables. Records identify threads by their number
 * in the run, because a kernel's id may not fit into the record's 15 bits. */
#include "engine/trace/import/btrace/btrace2.h"
#include "engine/base/error_format.h"
#include "engine/util/array.h"
#include "sim/player/probes/probes.h"
#include "sim/policy/btrace2_reconstruct.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { BUFFER_BYTES = 500000000 }; /* default of btrace */

struct entered {
    uint32_t depth;
    uint64_t time_ns;
};
struct thread {
    uint32_t number;
    struct entered *at;
    size_t count, room;
};

static struct {
    unsigned char *buffer;
    _Atomic uint64_t offset; /* next free byte; may exceed the buffer */
    struct strobe_btrace2_header head;
    char path[4096];
} btrace2;

static uint64_t btrace2_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool open_buffer(const char *const *names, uint32_t count, const char *path, struct strobe_error *error)
{
    void *p = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    (void)names, (void)count;
    snprintf(btrace2.path, sizeof btrace2.path, "%s", path);
    if (p == MAP_FAILED) {
        strobe_error_set(error, "btrace2: no memory for its buffer");
        return false;
    }
    btrace2.buffer = p;
    atomic_init(&btrace2.offset, STROBE_BTRACE2_HEADER_BYTES);
    uint64_t now = btrace2_clock_ns(CLOCK_MONOTONIC);
    btrace2.head = (struct strobe_btrace2_header){.version = STROBE_BTRACE2_VERSION,
                                                  .first_ns = now,
                                                  .begin_ns = now,
                                                  .boottime_ns = btrace2_clock_ns(CLOCK_BOOTTIME)};
    return true;
}

static void *btrace2_probe_thread_begin(const struct sim_probe_thread *about)
{
    struct thread *t = calloc(1, sizeof *t);
    if (t)
        t->number = about->number;
    if (about->is_main)
        btrace2.head.pid = about->number;
    return t;
}

static void btrace2_probe_thread_end(void *thread)
{
    struct thread *t = thread;
    free(t->at);
    free(t);
}

/* Entries of frames that have ended without a probe are dropped first. */
static void btrace2_probe_enter(void *thread, uint32_t id, uint32_t depth)
{
    struct thread *t = thread;
    (void)id;
    while (t->count && t->at[t->count - 1].depth >= depth)
        t->count--;
    if (!strobe_array_reserve(&t->at, &t->room, t->count + 1))
        return;
    t->at[t->count++] = (struct entered){depth, btrace2_clock_ns(CLOCK_MONOTONIC)};
}

static void btrace2_probe_record(struct thread *t, uint32_t id, uint64_t begin_ns)
{
    uint64_t now = btrace2_clock_ns(CLOCK_MONOTONIC), word[2];
    struct strobe_btrace2_record r = {
        .start_ns = begin_ns - btrace2.head.first_ns, .duration_ns = now - begin_ns, .tid = t->number, .method = id};
    if (r.duration_ns <= SIM_BTRACE2_THRESHOLD_NS || !strobe_btrace2_pack(&r, word))
        return;
    uint64_t at = atomic_fetch_add_explicit(&btrace2.offset, sizeof word, memory_order_relaxed);
    if (at + sizeof word < BUFFER_BYTES)
        memcpy(btrace2.buffer + at, word, sizeof word);
}

static const struct entered *entered_at(struct thread *t, uint32_t depth)
{
    while (t->count && t->at[t->count - 1].depth > depth)
        t->count--;
    return t->count && t->at[t->count - 1].depth == depth ? &t->at[t->count - 1] : NULL;
}

static void btrace2_probe_leave(void *thread, uint32_t id, uint32_t depth)
{
    struct thread *t = thread;
    const struct entered *e = entered_at(t, depth);
    if (!e)
        return;
    btrace2_probe_record(t, id, e->time_ns);
    t->count--;
}

/* Keeps the entry, because the method may catch its own exception and return later. */
static void btrace2_probe_throw(void *thread, uint32_t id, uint32_t depth)
{
    const struct entered *e = entered_at(thread, depth);
    if (e)
        btrace2_probe_record(thread, id, e->time_ns);
}

static void btrace2_probe_message_begin(void *thread, uint32_t message, bool is_frame)
{
    (void)thread, (void)message, (void)is_frame;
}

static void btrace2_probe_message_end(void *thread, uint32_t message)
{
    (void)thread, (void)message;
}

/* Other threads may write records meanwhile. The file has the records below the offset that is read here. */
static bool close_buffer(struct strobe_error *error)
{
    uint64_t drawn = atomic_load_explicit(&btrace2.offset, memory_order_relaxed);
    size_t bytes = drawn < BUFFER_BYTES ? (size_t)drawn : BUFFER_BYTES;
    memcpy(btrace2.buffer, &btrace2.head, sizeof btrace2.head);
    FILE *out = fopen(btrace2.path, "wb");
    bool written = out && fwrite(btrace2.buffer, 1, bytes, out) == bytes;
    if (out)
        written = fclose(out) == 0 && written;
    if (!written)
        strobe_error_set(error, "%s: %s", btrace2.path, strerror(errno));
    return written;
}
_Static_assert(sizeof btrace2.head == STROBE_BTRACE2_HEADER_BYTES,
               "the header has the same form in memory and in the file");

const struct sim_probe_policy sim_probe_policy_btrace2 = {
    .policy = "btrace2",
    .open = open_buffer,
    .thread_begin = btrace2_probe_thread_begin,
    .thread_end = btrace2_probe_thread_end,
    .enter = btrace2_probe_enter,
    .leave = btrace2_probe_leave,
    .throws = btrace2_probe_throw,
    .message_begin = btrace2_probe_message_begin,
    .message_end = btrace2_probe_message_end,
    .close = close_buffer,
};
