#include "sim/score/wait_calls.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 5 };

/* Numbers: Linux, arch/x86/entry/syscalls/syscall_64.tbl. The first name is that of the number. A managed runtime
 * sleeps on a condition variable. */
static const struct {
    int number;
    const char *names[NAMES_MAX];
} calls[STROBE_KIND_COUNT] = {
    [STROBE_KIND_MUTEX] = {202, {"[futex]"}},
    [STROBE_KIND_RWLOCK] = {202, {"[futex]"}},
    [STROBE_KIND_COND] = {202, {"[futex]"}},
    [STROBE_KIND_SEM] = {202, {"[futex]"}},
    [STROBE_KIND_MONITOR] = {202, {"[futex]"}},
    [STROBE_KIND_PARK] = {202, {"[futex]"}},
    [STROBE_KIND_THREAD] = {202, {"[futex]"}},
    [STROBE_KIND_GC] = {202, {"[futex]"}},
    [STROBE_KIND_READ] = {17, {"[pread64]", "[read]"}},
    [STROBE_KIND_WRITE] = {18, {"[pwrite64]", "[write]"}},
    [STROBE_KIND_OPEN] = {257, {"[openat]"}},
    [STROBE_KIND_SYNC] = {74, {"[fsync]"}},
    [STROBE_KIND_POLL] = {281, {"[epoll_pwait]", "[epoll_wait]", "[poll]", "[ppoll]"}},
    [STROBE_KIND_NET] = {45, {"[recvfrom]", "[sendto]", "[connect]"}},
    [STROBE_KIND_SLEEP] = {230, {"[clock_nanosleep]", "[nanosleep]", "[futex]"}},
    [STROBE_KIND_CHILD] = {61, {"[wait4]"}},
    [STROBE_KIND_IPC] = {16, {"[ioctl]"}},
};

uint64_t sim_wait_call(enum strobe_kind kind)
{
    return kind < STROBE_KIND_COUNT && calls[kind].names[0] ? strobe_wait_call(EM_X86_64, (uint32_t)calls[kind].number)
                                                            : 0;
}

static bool call_fits(enum strobe_kind kind, const char *name)
{
    for (size_t i = 0; i < NAMES_MAX && calls[kind].names[i]; i++)
        if (!strcmp(calls[kind].names[i], name))
            return true;
    return false;
}

static int compare_named_waits(const void *left, const void *right)
{
    const struct sim_wait *a = left, *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Returns the time within the span that waits fit to which `name` belongs. */
static uint64_t fitting_ns(const struct sim_wait *waits, size_t count, struct sim_span span, const char *name)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count && waits[i].begin_ns < span.end_ns; i++) {
        uint64_t begin_ns = waits[i].begin_ns > span.begin_ns ? waits[i].begin_ns : span.begin_ns;
        uint64_t end_ns = waits[i].end_ns < span.end_ns ? waits[i].end_ns : span.end_ns;
        if (begin_ns >= end_ns || !call_fits(waits[i].kind, name))
            continue;
        sum += end_ns - begin_ns;
        span.begin_ns = end_ns; /* waits nest: their time counts once */
    }
    return sum;
}

static struct sim_wait *sorted_waits(const struct sim_track *t)
{
    struct sim_wait *waits = malloc((t->wait_count + 1) * sizeof *waits);
    if (waits && t->wait_count) {
        memcpy(waits, t->waits, t->wait_count * sizeof *waits);
        qsort(waits, t->wait_count, sizeof *waits, compare_named_waits);
    }
    return waits;
}

bool sim_wait_calls_score(const struct sim_pairing *p, const struct sim_pair *pair, const struct sim_spans *off,
                          struct sim_score *out)
{
    const struct sim_track *t = pair->truth, *c = pair->reconstruction;
    if (!t || !c || !c->idle_count)
        return true;
    struct sim_wait *waits = sorted_waits(t);
    if (!waits)
        return false;
    size_t first = 0, i = 0, j = 0;
    while (i < off->count && j < c->idle_count) {
        const struct sim_span *x = &off->at[i], *y = &c->idle[j];
        struct sim_span both = {x->begin_ns > y->begin_ns ? x->begin_ns : y->begin_ns,
                                x->end_ns < y->end_ns ? x->end_ns : y->end_ns, 0};
        x->end_ns < y->end_ns ? i++ : j++;
        if (both.begin_ns >= both.end_ns)
            continue;
        while (first < t->wait_count && waits[first].end_ns <= both.begin_ns)
            first++;
        out->unhooked_ns += both.end_ns - both.begin_ns;
        out->named_ns +=
            fitting_ns(waits + first, t->wait_count - first, both, p->reconstruction->names.texts[y->value]);
    }
    free(waits);
    return true;
}
