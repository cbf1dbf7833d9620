#include "sim/policy/btrace_android_trace.h"

#include "engine/trace/model/function_tree.h"
#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { SINGLE_SAMPLE_NS = 10 };

/* One sample of the trace: a record, or one end of it. */
struct item {
    const struct sim_btrace_record *record;
    uint64_t time_ns, cpu_ns;
    size_t order;
    int16_t tid;
    bool begins, ends; /* of a duration */
};

struct link {
    uint64_t begin_ns, release_ns;
    size_t order;
    int16_t tid;
};

struct build {
    const struct sim_btrace_android_dump *dump;
    struct sim_tracks *out;
    struct item *items;
    size_t item_count, item_room;
    struct link *links;
    size_t link_count, link_room;
    uint32_t *track_of; /* by 16-bit tid; UINT32_MAX: none */
    uint32_t *name_of;  /* by method; UINT32_MAX: no name yet */
    uint64_t *frames;   /* capacity for the deepest stack and an added leaf */
};

enum strobe_kind sim_btrace_wait_of(enum sim_btrace_type type)
{
    switch (type) {
    case SIM_BTRACE_BINDER: return STROBE_KIND_IPC;
    case SIM_BTRACE_OBJECT_WAIT: return STROBE_KIND_COND;
    case SIM_BTRACE_PARK: return STROBE_KIND_PARK;
    case SIM_BTRACE_MONITOR: return STROBE_KIND_MONITOR;
    case SIM_BTRACE_GC: return STROBE_KIND_GC;
    case SIM_BTRACE_LOAD: return STROBE_KIND_LOAD;
    default: return STROBE_KIND_NONE;
    }
}

static bool is_release(unsigned type)
{
    return type == SIM_BTRACE_UNPARK || type == SIM_BTRACE_NOTIFY || type == SIM_BTRACE_UNLOCK;
}

/* ---- records to items ---- */

static bool add_item(struct build *b, const struct sim_btrace_record *r, uint64_t time_ns, uint64_t cpu_ns, bool begins,
                     bool ends)
{
    if (!strobe_array_reserve(&b->items, &b->item_room, b->item_count + 1))
        return false;
    b->items[b->item_count] = (struct item){r, time_ns, cpu_ns, b->item_count, (int16_t)r->tid, begins, ends};
    b->item_count++;
    return true;
}

static bool add_link(struct build *b, const struct sim_btrace_record *r)
{
    if (!strobe_array_reserve(&b->links, &b->link_room, b->link_count + 1))
        return false;
    b->links[b->link_count] = (struct link){r->nano, r->end_nano, b->link_count, (int16_t)r->tid};
    b->link_count++;
    return true;
}

static bool decode(struct build *b)
{
    for (size_t i = 0; i < b->dump->count; i++) {
        const struct sim_btrace_record *r = &b->dump->records[i];
        bool fits;
        if (is_release(r->type))
            fits = add_link(b, r) && add_item(b, r, r->end_nano, r->end_cpu, false, false);
        else if (r->end_nano > r->nano)
            fits = add_item(b, r, r->nano, r->cpu, true, false) && add_item(b, r, r->end_nano, r->end_cpu, false, true);
        else
            fits = add_item(b, r, r->nano, r->cpu, false, false);
        if (!fits)
            return false;
    }
    return true;
}

static int by_thread_and_time(const void *x, const void *y)
{
    const struct item *a = x, *b = y;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static int compare_item_begins(const void *x, const void *y)
{
    const struct link *a = x, *b = y;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Returns the last release recorded for a wait with that begin, or NULL. */
static const struct link *android_release_of(const struct build *b, uint64_t begin_ns)
{
    size_t low = 0, high = b->link_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->links[middle].begin_ns <= begin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && b->links[low - 1].begin_ns == begin_ns ? &b->links[low - 1] : NULL;
}

/* ---- one thread ---- */

struct call {
    uint32_t name;
    enum sim_call_class class;
};

static struct call call_of(struct build *b, uint64_t frame)
{
    if (frame & SIM_BTRACE_WAIT)
        return (struct call){sim_tracks_name(b->out, strobe_wait_name((unsigned)(frame & ~SIM_BTRACE_WAIT))),
                             SIM_CALL_WAIT};
    uint32_t *name = &b->name_of[frame - 1];
    if (*name == UINT32_MAX)
        *name = sim_tracks_name(b->out, b->dump->scenario->methods[frame - 1].name);
    return (struct call){*name, SIM_CALL_METHOD};
}

struct stack {
    struct call *calls;
    uint32_t depth;
};

/* Translates the record's stack, outermost first. Monitors and the collector get an additional leaf. */
static void android_resolve_record(struct build *b, const struct sim_btrace_record *r, struct stack *out)
{
    out->depth = sim_btrace_frames(b->dump->stacks, r->stack, b->frames);
    if (r->type == SIM_BTRACE_MONITOR || r->type == SIM_BTRACE_GC)
        b->frames[out->depth++] = SIM_BTRACE_WAIT | sim_btrace_wait_of(r->type);
    for (uint32_t i = 0; i < out->depth; i++)
        out->calls[i] = call_of(b, b->frames[i]);
}

static void android_push_call(struct build *b, uint32_t track, uint64_t time_ns, struct call call)
{
    sim_track_call(b->out, track, time_ns, call.name, call.class);
}

static void android_add_wait(struct build *b, uint32_t track, const struct item *end)
{
    const struct sim_btrace_record *r = end->record;
    struct sim_wait wait = {.begin_ns = r->nano,
                            .end_ns = r->end_nano,
                            .kind = sim_btrace_wait_of(r->type),
                            .waker = SIM_NOBODY,
                            .release_ns = r->end_nano};
    wait.blocked = r->end_cpu - r->cpu < (r->end_nano - r->nano) / 2;
    bool linked = r->type == SIM_BTRACE_MONITOR || r->type == SIM_BTRACE_PARK || r->type == SIM_BTRACE_OBJECT_WAIT;
    const struct link *link = linked && end->tid == (int64_t)b->dump->pid ? android_release_of(b, r->nano) : NULL;
    if (link) {
        wait.waker = (int32_t)b->track_of[(uint16_t)link->tid];
        wait.release_ns = link->release_ns;
    }
    sim_track_wait(b->out, track, &wait);
}

/* Emits the events between two stacks. */
static void android_switch_stack(struct build *b, uint32_t track, const struct item *before, const struct stack *was,
                                 const struct item *now, const struct stack *is)
{
    uint32_t common = 0;
    while (common < was->depth && common < is->depth && was->calls[common].name == is->calls[common].name)
        common++;
    uint64_t popped_ns = before->time_ns + SINGLE_SAMPLE_NS;
    if (popped_ns > now->time_ns)
        popped_ns = now->time_ns;
    bool again = before->ends && was->depth == is->depth && is->depth > 0, same = common == is->depth;
    uint32_t pops = was->depth - common + (again && same);
    for (uint32_t i = 0; i < pops; i++)
        sim_track_return(b->out, track, popped_ns, false);
    for (uint32_t i = common - (again && same); i < is->depth; i++)
        android_push_call(b, track, now->time_ns, is->calls[i]);
    if (again && !same) {
        sim_track_return(b->out, track, now->time_ns, false);
        android_push_call(b, track, now->time_ns, is->calls[is->depth - 1]);
    }
}

static void android_set_totals(struct sim_track *track, const struct item *items, size_t count)
{
    const struct sim_btrace_record *first = items[0].record, *last = items[count - 1].record;
    size_t from = 0, to = count;
    while (from < count && is_release(items[from].record->type))
        from++;
    while (to > from && is_release(items[to - 1].record->type))
        to--;
    track->known_cpu = to > from;
    track->known_alloc = track->known_switches = true;
    track->totals = (struct sim_totals){
        .cpu_ns = to > from ? items[to - 1].cpu_ns - items[from].cpu_ns : 0,
        .allocations = last->objects - first->objects,
        .alloc_bytes = last->bytes - first->bytes,
        .major_faults = last->major_faults - first->major_faults,
        .voluntary_switches = last->voluntary_switches - first->voluntary_switches,
        .involuntary_switches = last->involuntary_switches - first->involuntary_switches,
    };
}

static bool android_build_thread(struct build *b, const struct item *items, size_t count, uint32_t deepest)
{
    uint32_t track = b->track_of[(uint16_t)items[0].tid];
    size_t bytes = (deepest + 1) * sizeof(struct call);
    struct stack was = {malloc(bytes), 0}, is = {malloc(bytes), 0};
    bool fits = was.calls && is.calls;
    for (size_t i = 0; fits && i < count; i++) {
        android_resolve_record(b, items[i].record, &is);
        android_switch_stack(b, track, &items[i ? i - 1 : 0], &was, &items[i], &is);
        if (items[i].ends)
            android_add_wait(b, track, &items[i]);
        struct stack spare = was;
        was = is;
        is = spare;
    }
    if (fits)
        sim_track_end(b->out, track, items[count - 1].time_ns + SINGLE_SAMPLE_NS);
    free(was.calls);
    free(is.calls);
    if (!fits || b->out->failed)
        return false;
    android_set_totals(&b->out->tracks[track], items, count);
    return true;
}

/* ---- all ---- */

static uint32_t android_deepest_stack(const struct sim_btrace_android_dump *d)
{
    uint32_t deepest = 0;
    for (size_t i = 0; i < d->count; i++) {
        uint32_t stack = d->records[i].stack, depth = stack ? d->stacks->nodes[stack].depth : 0;
        if (depth > deepest)
            deepest = depth;
    }
    return deepest;
}

static void android_add_track(struct build *b, const struct item *first)
{
    uint16_t tid = (uint16_t)first->tid;
    bool is_main = first->tid == (int64_t)b->dump->pid;
    b->track_of[tid] = sim_track_add(b->out, tid, 1, b->dump->thread_name(b->dump->ctx, tid), is_main, first->time_ns);
}

static bool build_all(struct build *b)
{
    if (!decode(b))
        return false;
    if (b->item_count)
        qsort(b->items, b->item_count, sizeof *b->items, by_thread_and_time);
    if (b->link_count)
        qsort(b->links, b->link_count, sizeof *b->links, compare_item_begins);
    for (size_t i = 0; i < b->item_count; i++)
        if (i == 0 || b->items[i].tid != b->items[i - 1].tid)
            android_add_track(b, &b->items[i]);
    uint32_t deepest = android_deepest_stack(b->dump) + 1;
    b->frames = malloc(deepest * sizeof *b->frames);
    bool fits = b->frames != NULL;
    for (size_t from = 0, to; fits && from < b->item_count; from = to) {
        for (to = from + 1; to < b->item_count && b->items[to].tid == b->items[from].tid;)
            to++;
        fits = android_build_thread(b, &b->items[from], to - from, deepest);
    }
    return fits;
}

enum strobe_status sim_btrace_android_build(const struct sim_btrace_android_dump *dump, struct sim_tracks *out)
{
    enum { TIDS = 1 << 16 };
    size_t methods = dump->scenario->method_count;
    struct build b = {.dump = dump, .out = out};
    b.track_of = malloc(TIDS * sizeof *b.track_of);
    b.name_of = malloc((methods + 1) * sizeof *b.name_of);
    bool fits = b.track_of && b.name_of;
    if (fits) {
        memset(b.track_of, 0xff, TIDS * sizeof *b.track_of);
        memset(b.name_of, 0xff, (methods + 1) * sizeof *b.name_of);
        fits = build_all(&b);
    }
    free(b.track_of);
    free(b.name_of);
    free(b.items);
    free(b.links);
    free(b.frames);
    return fits && !out->failed ? STROBE_OK : STROBE_IO;
}
