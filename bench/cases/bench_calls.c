/* An instrumented entry and exit that write to the call log, against the minimum for such hooks: a call, the time
 * from a word that a clock thread updates (one relaxed load), and the two stores of an entry. */
#include "bench/bench.h"

#include "engine/backend/linux/host_linux.h"
#include "engine/method/entry.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 1000, UNITS = 128 }; /* 8 MiB: more than a core's own caches, as in use */

static struct strobe_session session;
static struct strobe_linux host;
static strobe_a32 on = STROBE_OFF;
static strobe_a64 clock_word, no_clock;

static enum strobe_status attach(uint32_t *thread)
{
    return strobe_session_add_thread(&session, (uint32_t)gettid(), 0, 1, thread);
}

static bool is_left(uintptr_t frame, uintptr_t now)
{
    return frame <= now;
}

static bool start(void)
{
    struct strobe_config c;
    strobe_config_default(&c);
    c.ring_slots = c.stack_nodes = 1024;
    c.call_units = UNITS;
    strobe_linux_init(&host, clock_gettime);
    int fd = memfd_create("calls", 0);
    if (fd < 0 || strobe_session_create_in(fd, &c, NULL, &session) != STROBE_OK)
        return false;
    strobe_entry_engine = (struct strobe_entry_engine){.session = &session,
                                                       .host = &host.host,
                                                       .attach = attach,
                                                       .is_left = is_left,
                                                       .busy = calloc(c.threads_max, sizeof(strobe_a32))};
    strobe_entry_switch = &on;
    strobe_store_relaxed(&on, STROBE_ON);
    strobe_store_relaxed(&clock_word, bench_now_ns());
    return strobe_entry_engine.busy != NULL;
}

/* These call the engine as the hooks of the preloaded library do. */
static __attribute__((noinline)) void enter(void *function)
{
    strobe_entry_record((uint64_t)(uintptr_t)function, (uintptr_t)__builtin_frame_address(0));
}

static __attribute__((noinline)) void leave(void *function)
{
    strobe_entry_record((uint64_t)(uintptr_t)function | STROBE_CALL_EXIT, (uintptr_t)__builtin_frame_address(0));
}

static void log_calls(struct gbench_state *s, const void *clock)
{
    strobe_entry_clock = clock;
    while (gbench_loop(s))
        for (int i = 0; i < BATCH; i++) {
            enter((void *)(uintptr_t)log_calls);
            leave((void *)(uintptr_t)log_calls);
        }
    strobe_entry_end();
    strobe_entry_forget();
}

/* ---- the least */

struct bare {
    struct strobe_call_entry *entries, *next, *end;
};
static _Thread_local struct bare bare;

static __attribute__((noinline)) void bare_put(uint64_t word)
{
    struct strobe_call_entry *e = bare.next;
    strobe_store_relaxed(&e->ticks, strobe_load_relaxed(&clock_word));
    strobe_store_relaxed(&e->word, word);
    bare.next = e + 1;
}

static __attribute__((noinline)) void bare_put_exact(uint64_t word)
{
    struct timespec t;
    struct strobe_call_entry *e = bare.next;
    host.clock(CLOCK_MONOTONIC, &t);
    strobe_store_relaxed(&e->ticks, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
    strobe_store_relaxed(&e->word, word);
    bare.next = e + 1;
}

static void put_bare(struct gbench_state *s, const void *exact)
{
    const size_t bytes = (size_t)UNITS * STROBE_CALL_UNIT_BYTES, pair_bytes = 2 * BATCH * sizeof *bare.entries;
    bare.entries = bare.next = bench_pages(bytes);
    bare.end = (struct strobe_call_entry *)(void *)((char *)bare.entries + bytes - pair_bytes);
    while (gbench_loop(s)) {
        if (bare.next > bare.end)
            bare.next = bare.entries;
        if (exact)
            for (int i = 0; i < BATCH; i++) {
                bare_put_exact((uint64_t)(uintptr_t)put_bare);
                bare_put_exact((uint64_t)(uintptr_t)put_bare | STROBE_CALL_EXIT);
            }
        else
            for (int i = 0; i < BATCH; i++) {
                bare_put((uint64_t)(uintptr_t)put_bare);
                bare_put((uint64_t)(uintptr_t)put_bare | STROBE_CALL_EXIT);
            }
    }
    munmap(bare.entries, bytes);
}

static bool started;

void bench_calls_add(void)
{
    started = start();
    if (!started)
        return;
    gbench_add(&(struct gbench_spec){.name = "calls/bare", .run = put_bare, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "calls/coarse", .run = log_calls, .arg = &clock_word, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "calls/bare_exact", .run = put_bare, .arg = &host, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "calls/exact", .run = log_calls, .arg = &no_clock, .batch = BATCH});
}

void bench_calls_rows(void)
{
    if (!started) {
        bench_row_skipped("instrumented entry and exit", "no session could be made");
        return;
    }
    bench_row_ratio("instrumented entry and exit, clock thread", "ns", gbench_median_ns("calls/coarse"),
                    "bare stores, one relaxed load", gbench_median_ns("calls/bare"), 2);
    bench_row_ratio("  the same, the clock read each time", "ns", gbench_median_ns("calls/exact"),
                    "bare stores, clock read", gbench_median_ns("calls/bare_exact"), 2);
}
