#include "engine/trace/report/profile.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

/* Slices deeper than this count only for their thread. Recorded stacks are less deep. */
enum { DEPTH_MAX = 4096 };

struct open_slice {
    uint64_t begin_ns, begin_cpu_ns, inner_ns, inner_cpu_ns;
    uint32_t name;
    enum strobe_slice_class class;
};

struct strobe_profile_stack {
    struct open_slice *slices;
    uint32_t depth, capacity, beyond; /* beyond: open slices that are not on the stack */
    uint64_t now_ns, now_cpu_ns, first_cpu_ns;
};

enum strobe_status strobe_profile_open(struct strobe_profile *p, uint32_t waits)
{
    *p = (struct strobe_profile){.wait_max = waits};
    p->waits = calloc((size_t)waits + 1, sizeof *p->waits);
    return p->waits ? STROBE_OK : STROBE_IO;
}

void strobe_profile_close(struct strobe_profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++)
        free(p->stacks[i].slices);
    free(p->stacks);
    free(p->threads);
    free(p->methods);
    free(p->waits);
    *p = (struct strobe_profile){0};
}

static int reserve_thread(struct strobe_profile *p, uint32_t thread)
{
    uint32_t count = p->thread_count;
    if (thread < count)
        return 1;
    if (!strobe_array_reserve_zeroed(&p->threads, &count, (size_t)thread + 1))
        return 0;
    count = p->thread_count;
    return strobe_array_reserve_zeroed(&p->stacks, &p->thread_count, (size_t)thread + 1);
}

static struct open_slice *push_slice(struct strobe_profile_stack *s)
{
    if (!strobe_array_reserve(&s->slices, &s->capacity, s->depth + 1))
        return NULL;
    return &s->slices[s->depth++];
}

/* Moves the thread's clocks on. They never go back: an earlier time counts as the latest one. */
static void advance_clock(struct strobe_profile_stack *s, uint64_t time_ns, uint64_t cpu_ns)
{
    if (time_ns > s->now_ns)
        s->now_ns = time_ns;
    if (cpu_ns > s->now_cpu_ns)
        s->now_cpu_ns = cpu_ns;
}

void strobe_profile_begin(struct strobe_profile *p, uint32_t thread, uint32_t name, enum strobe_slice_class class,
                          uint64_t time_ns, uint64_t cpu_ns)
{
    if (!reserve_thread(p, thread) || !strobe_array_reserve_zeroed(&p->methods, &p->method_count, (size_t)name + 1)) {
        p->failed = 1;
        return;
    }
    struct strobe_profile_thread *t = &p->threads[thread];
    struct strobe_profile_stack *s = &p->stacks[thread];
    if (!t->slices++) {
        t->first_ns = s->now_ns = time_ns;
        s->first_cpu_ns = s->now_cpu_ns = cpu_ns;
    }
    t->waits += class == STROBE_SLICE_WAIT;
    advance_clock(s, time_ns, cpu_ns);
    struct open_slice *slice = s->depth < DEPTH_MAX ? push_slice(s) : NULL;
    if (!slice) {
        p->failed |= s->depth < DEPTH_MAX;
        s->beyond++;
        return;
    }
    *slice = (struct open_slice){s->now_ns, s->now_cpu_ns, 0, 0, name, class};
    p->methods[name].class = class;
}

static int is_open(const struct strobe_profile_stack *s, uint32_t name)
{
    for (uint32_t i = 0; i < s->depth; i++)
        if (s->slices[i].name == name)
            return 1;
    return 0;
}

/* Keeps the wait if it is among the longest; of equally long ones, the earlier one stays. */
static struct strobe_profile_wait *keep_wait(struct strobe_profile *p, const struct strobe_profile_wait *wait)
{
    uint32_t at = p->wait_count;
    while (at > 0 && p->waits[at - 1].duration_ns < wait->duration_ns)
        at--;
    if (at == p->wait_max)
        return NULL;
    p->wait_count += p->wait_count < p->wait_max;
    memmove(&p->waits[at + 1], &p->waits[at], (p->wait_count - at - 1) * sizeof *p->waits);
    p->waits[at] = *wait;
    return &p->waits[at];
}

struct strobe_profile_wait *strobe_profile_end(struct strobe_profile *p, uint32_t thread, uint64_t time_ns,
                                               uint64_t cpu_ns)
{
    struct strobe_profile_stack *s = thread < p->thread_count ? &p->stacks[thread] : NULL;
    if (!s || (!s->depth && !s->beyond)) {
        p->unmatched++;
        return NULL;
    }
    advance_clock(s, time_ns, cpu_ns);
    if (s->beyond) {
        s->beyond--;
        return NULL;
    }
    struct strobe_profile_thread *t = &p->threads[thread];
    struct open_slice slice = s->slices[--s->depth];
    struct strobe_profile_method *m = &p->methods[slice.name];
    uint64_t wall_ns = s->now_ns - slice.begin_ns, used_ns = s->now_cpu_ns - slice.begin_cpu_ns;
    uint64_t self_ns = wall_ns - slice.inner_ns;
    m->slices++;
    m->self_ns += self_ns;
    m->self_cpu_ns += p->has_shares ? 0 : used_ns - slice.inner_cpu_ns;
    if (!is_open(s, slice.name)) {
        m->total_ns += wall_ns;
        m->total_cpu_ns += p->has_shares ? 0 : used_ns;
    }
    *(slice.class == STROBE_SLICE_WAIT      ? &t->wait_ns
      : slice.class == STROBE_SLICE_OFF_CPU ? &t->off_ns
      : slice.class == STROBE_SLICE_GAP     ? &t->gap_ns
                                            : &t->seen_ns) += self_ns;
    t->last_ns = s->now_ns;
    t->cpu_ns = s->now_cpu_ns - s->first_cpu_ns;
    if (s->depth) {
        s->slices[s->depth - 1].inner_ns += wall_ns;
        s->slices[s->depth - 1].inner_cpu_ns += used_ns;
    }
    if (slice.class != STROBE_SLICE_WAIT)
        return NULL;
    struct strobe_profile_wait wait = {.begin_ns = slice.begin_ns,
                                       .duration_ns = wall_ns,
                                       .thread = thread,
                                       .name = slice.name,
                                       .method = s->depth ? s->slices[s->depth - 1].name : UINT32_MAX};
    return keep_wait(p, &wait);
}

void strobe_profile_cpu(struct strobe_profile *p, const uint32_t *names, size_t count, uint64_t cpu_ns)
{
    p->share_count++;
    for (size_t i = 0; i < count; i++) {
        if (!strobe_array_reserve_zeroed(&p->methods, &p->method_count, (size_t)names[i] + 1)) {
            p->failed = 1;
            return;
        }
        struct strobe_profile_method *m = &p->methods[names[i]];
        m->self_cpu_ns += i ? 0 : cpu_ns;
        m->total_cpu_ns += m->share == p->share_count ? 0 : cpu_ns;
        m->share = p->share_count;
    }
}

enum strobe_status strobe_profile_finish(struct strobe_profile *p)
{
    for (uint32_t i = 0; i < p->thread_count; i++) {
        while (p->stacks[i].depth || p->stacks[i].beyond) {
            p->unmatched++;
            strobe_profile_end(p, i, p->stacks[i].now_ns, p->stacks[i].now_cpu_ns);
        }
    }
    return p->failed ? STROBE_IO : STROBE_OK;
}
