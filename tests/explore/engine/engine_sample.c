/* Hooks that a signal handler's hooks interrupt, on the same thread, before each of their operations. Functions that
 * are async-signal-safe must permit this. */
#include "engine/capture/annotate.h"
#include "tests/explore/engine/engine_rig.h"
#include "tests/explore/programs.h"

#include <string.h>

enum { OUTER = 4, INNER = 1, WHAT = 7 }; /* words of the stack: the handler's frames lie below */

struct sample_state {
    struct explore_rig rig;
    bool interrupted;
};

static struct strobe_thread *own(struct sample_state *s)
{
    return &s->rig.thread[0];
}

static void setup(void *state)
{
    struct sample_state *s = state;
    rig_make(&s->rig, 1);
    s->rig.unwinder.self = NULL; /* uses the real walk, over two frames */
    atomic_init(&s->rig.word[OUTER + 1], 0x2000);
    atomic_init(&s->rig.word[INNER], rig_site(&s->rig, OUTER).frame);
    atomic_init(&s->rig.word[INNER + 1], 0x1000);
    own(s)->gate.due_ticks = own(s)->gate.interval_ticks = 0; /* every event is due */
}

static void hook(struct sample_state *s, enum strobe_kind point, enum strobe_kind scope, uint32_t word)
{
    strobe_point(own(s), STROBE_ON, point, 0, rig_site(&s->rig, word));
    uint32_t token = strobe_scope_begin(own(s), scope, WHAT, rig_site(&s->rig, word));
    if (explore_size() > 1)
        strobe_wait_begin(own(s), WHAT);
    if (explore_size() > 1)
        strobe_wait_end(own(s), WHAT, STROBE_WAKE_TIMEOUT, false);
    strobe_scope_end(own(s), token, rig_site(&s->rig, word));
}

static void run_hooks(void *state)
{
    hook(state, STROBE_KIND_ALLOC, STROBE_KIND_MUTEX, OUTER);
}

static void handle(void *state)
{
    ((struct sample_state *)state)->interrupted = true;
    hook(state, STROBE_KIND_CLOCK, STROBE_KIND_SLEEP, INNER);
}

/* Checks that each event is counted once, in one counter of its kind. Returns the number of samples. */
static uint64_t check_account(struct sample_state *s, enum strobe_kind kind, uint64_t events)
{
    const struct strobe_account *a = &s->rig.entry[0].account[kind];
    uint64_t sampled = strobe_load_relaxed(&a->sampled);
    explore_require(strobe_account_requests(a) == events);
    explore_require(strobe_load_relaxed(&a->requests) == sampled + strobe_load_relaxed(&a->gated) +
                                                             strobe_load_relaxed(&a->unwind_failed) +
                                                             strobe_load_relaxed(&a->dropped));
    return sampled;
}

static void check(void *state)
{
    struct sample_state *s = state;
    const struct strobe_ring *ring = &s->rig.engine.session.ring;
    uint64_t taken = check_account(s, STROBE_KIND_ALLOC, 1) + check_account(s, STROBE_KIND_MUTEX, 1), found = 0;
    taken += check_account(s, STROBE_KIND_CLOCK, s->interrupted) + check_account(s, STROBE_KIND_SLEEP, s->interrupted);
    taken += strobe_load_relaxed(&s->rig.entry[0].account[STROBE_KIND_WAKE].sampled);
    for (uint32_t i = 0; i < strobe_ring_slot_count(ring); i++) {
        struct strobe_ring_item item;
        enum strobe_ring_look look = strobe_ring_look(ring, i, &item);
        explore_require(look != STROBE_LOOK_BUSY);
        if (look != STROBE_LOOK_RECORD)
            continue;
        found += item.record.count;
        uint64_t frame[STROBE_STACK_DEPTH_MAX];
        uint32_t count;
        explore_require(strobe_stack_frames(&s->rig.engine.session.stacks, item.record.stack, frame,
                                            STROBE_STACK_DEPTH_MAX, &count) == STROBE_OK);
    }
    explore_require(found + own(s)->writer.overwrote == taken);
    explore_require(!strobe_load_relaxed(&own(s)->inside) && own(s)->scope_count == 0);
    explore_require(!strobe_load_relaxed(&s->rig.blocking.block[strobe_block_index(WHAT)].waiting));
}

static const struct explore_program interrupted_program = {
    .name = "sample/interrupted",
    .what = "a handler's hooks inside of hooks: each event counted once, records whole",
    .thread_count = 1,
    .state_bytes = sizeof(struct sample_state),
    .setup = setup,
    .thread = {run_hooks},
    .check = check,
    .quick = 2,
    .nightly = 2,
    .interrupted = 1,
    .interrupt = handle,
};

/* ---- annotations ---- */

static void run_annotations(void *state)
{
    strobe_section_begin(own(state), "outer");
    strobe_section_end(own(state));
}

static void annotate_in_handler(void *state)
{
    ((struct sample_state *)state)->interrupted = true;
    strobe_counter_report(own(state), "inner", -3);
}

/* The record is one of those that the program writes, whole. */
static void check_annotation(struct sample_state *s, const struct strobe_record *r)
{
    uint64_t words[STROBE_STACK_DEPTH_MAX];
    uint32_t count;
    char name[STROBE_ANNOTATION_NAME_BYTES + 1] = "";
    explore_require(strobe_stack_frames(&s->rig.engine.session.stacks, r->stack, words, STROBE_STACK_DEPTH_MAX,
                                        &count) == STROBE_OK);
    explore_require(r->kind == STROBE_KIND_ANNOTATION && strobe_annotation_unpack(words, count, name));
    switch (r->cpu_span_ns) {
    case STROBE_ANNOTATION_BEGIN:
    case STROBE_ANNOTATION_END: explore_require(!strcmp(name, "outer") && r->arg == 1); break;
    default: explore_require(!strcmp(name, "inner") && (int64_t)r->arg == -3); break;
    }
}

static void check_annotations(void *state)
{
    struct sample_state *s = state;
    const struct strobe_ring *ring = &s->rig.engine.session.ring;
    uint64_t taken = check_account(s, STROBE_KIND_ANNOTATION, 2 + s->interrupted), found = 0;
    for (uint32_t i = 0; i < strobe_ring_slot_count(ring); i++) {
        struct strobe_ring_item item;
        enum strobe_ring_look look = strobe_ring_look(ring, i, &item);
        explore_require(look != STROBE_LOOK_BUSY);
        if (look != STROBE_LOOK_RECORD)
            continue;
        found += item.record.count;
        check_annotation(s, &item.record);
    }
    explore_require(taken >= 2 && found == taken);
    explore_require(!strobe_load_relaxed(&own(s)->inside));
}

static const struct explore_program annotations_program = {
    .name = "sample/annotations",
    .what = "a handler's annotation inside of annotations: each counted once, names and records whole",
    .thread_count = 1,
    .state_bytes = sizeof(struct sample_state),
    .setup = setup,
    .thread = {run_annotations},
    .check = check_annotations,
    .quick = 1,
    .nightly = 1,
    .interrupted = 1,
    .interrupt = annotate_in_handler,
};

const struct explore_program *const explore_sample_programs[] = {&interrupted_program, &annotations_program, NULL};
