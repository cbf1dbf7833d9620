#include "tests/emulate/host/watch.h"

#include "engine/trace/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRUTHS_MAX = 1 << 16, PRINTED = 3 };

/* ---- exact stacks */

struct truth { uint32_t depth; uint64_t *frames; };   /* the outermost first */

static struct {
    const struct thread *thread;
    uint64_t shadow[SHADOW_MAX];     /* return addresses, the outermost first */
    uint32_t depth;
    bool sampled;                    /* since its last instruction */
    struct truth *truths;
    uint32_t count;
} exact;

/* Where it names itself, its frames are all there: it is in a leaf that has been called by each in turn. */
static void begin_shadow(struct kernel *k, struct thread *t)
{
    uint64_t frames[SHADOW_MAX], fp = kernel_register(k, t, UC_ARM64_REG_X29), record[2];
    uint32_t n = 0;
    if (exact.thread || strcmp(t->name, "exact"))
        return;
    frames[n++] = kernel_register(k, t, UC_ARM64_REG_X30);
    while (n < SHADOW_MAX && machine_read(&k->machine, fp, record, sizeof record) && record[1]) {
        if (record[1] != frames[0] || n > 1)
            frames[n++] = record[1];
        fp = record[0];
    }
    for (exact.depth = 0; n; n--)
        exact.shadow[exact.depth++] = frames[n - 1];
    exact.thread = t;
    exact.sampled = true;
}

static void follow(struct kernel *k, struct thread *t, uint64_t pc)
{
    uint32_t code;
    if (t != exact.thread)
        return;
    exact.sampled = false;
    machine_read(&k->machine, pc, &code, sizeof code);
    bool call = code >> 26 == 0x25 || (code & 0xfffffc1fu) == 0xd63f0000u;   /* bl; blr */
    bool back = (code & 0xfffffc1fu) == 0xd65f0000u;                         /* ret */
    if (call && exact.depth < SHADOW_MAX)
        exact.shadow[exact.depth++] = pc + 4;
    else if (back && exact.depth)
        exact.depth--;
}

static void note_truth(struct kernel *k, enum emulated_call call, struct thread *by, struct thread *of)
{
    if (call != CALL_THREAD_GET_STATE || of != exact.thread || by == of || exact.count == TRUTHS_MAX)
        return;
    exact.sampled = true;
    struct truth *t = &exact.truths[exact.count++];
    t->depth = exact.depth + 1;
    t->frames = malloc(t->depth * sizeof t->frames[0]);
    if (!t->frames)
        machine_die("no memory");
    memcpy(t->frames, exact.shadow, exact.depth * sizeof t->frames[0]);
    t->frames[exact.depth] = kernel_register(k, of, UC_ARM64_REG_PC);
}

/* All others run as they like; the exact one when none of them can, and it has been sampled. */
static uint64_t step_exact(struct kernel *k, const struct thread *t)
{
    if (t != exact.thread || t->state != THREAD_RUNS)
        return UINT64_MAX;
    if (!exact.sampled)
        return 0;
    for (size_t i = 0; i < k->thread_count; i++)
        if (k->threads[i] != t && k->threads[i]->state == THREAD_RUNS && !k->threads[i]->suspends)
            return 0;
    return 1;
}

void watch_exactly(struct kernel *k)
{
    static const struct observer observer = {
        .instruction = follow, .called = note_truth, .named = begin_shadow, .allows = step_exact};
    k->observer = &observer;
    exact.truths = calloc(TRUTHS_MAX, sizeof exact.truths[0]);
    if (!exact.truths)
        machine_die("no memory");
}

static void print_frames(const char *what, const uint64_t *frames, uint32_t depth)
{
    printf("  %s:", what);
    for (uint32_t i = 0; i < depth; i++)
        printf(" %#llx", (unsigned long long)frames[i]);
    printf("\n");
}

static bool equal(const struct truth *t, const uint64_t *frames, uint32_t depth)
{
    return depth == t->depth && !memcmp(t->frames, frames, depth * sizeof frames[0]);
}

bool watch_compare(const char *session_path)
{
    struct strobe_reader *reader;
    char why[256];
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t next = 0, wrong = 0, depth;
    if (strobe_reader_open(session_path, &reader, why, sizeof why) != STROBE_OK) {
        printf("FAIL exact: %s\n", why);
        return false;
    }
    for (uint32_t n = 0; n < reader->thread_count; n++) {
        const struct strobe_reader_thread *t = &reader->threads[n];
        if (strcmp(t->name, "exact"))
            continue;
        for (size_t i = 0; i < t->item_count; i++) {
            const struct strobe_record *r = &t->items[i].record;
            if (r->kind != STROBE_KIND_ASYNC)
                continue;
            if (strobe_stack_frames(&reader->session.stacks, r->stack, frames, STROBE_STACK_DEPTH_MAX, &depth))
                depth = 0;
            for (uint32_t c = 0; c < r->count; c++, next++) {
                if (next < exact.count && equal(&exact.truths[next], frames, depth))
                    continue;
                if (wrong++ < PRINTED) {
                    print_frames("sampled", frames, depth);
                    if (next < exact.count)
                        print_frames("truth  ", exact.truths[next].frames, exact.truths[next].depth);
                }
            }
        }
    }
    strobe_reader_close(reader);
    printf("%u instructions sampled, %u samples kept, %u wrong\n", exact.count, next, wrong);
    return exact.count && next == exact.count && !wrong;
}

/* ---- a sampler that is lost */

static struct {
    uint64_t instructions, at_ns, stood_ns;
    const struct thread *sampler, *stopped;
} lost;

static void kill_in_window(struct kernel *k, struct thread *t, uint64_t pc)
{
    (void)pc;
    if (!t->holds || lost.sampler || lost.instructions--)
        return;
    lost.sampler = t;
    lost.at_ns = kernel_now(k);
    t->state = THREAD_KILLED;
    uc_emu_stop(k->machine.uc);
}

static void note_stop(struct kernel *k, enum emulated_call call, struct thread *by, struct thread *of)
{
    if (call == CALL_THREAD_SUSPEND && !lost.sampler && by != of)
        lost.stopped = of;
    if (call == CALL_THREAD_RESUME && lost.sampler && of == lost.stopped && lost.stood_ns == NEVER)
        lost.stood_ns = kernel_now(k) - lost.at_ns;
}

void watch_kill(struct kernel *k, uint64_t instructions)
{
    static const struct observer observer = {.instruction = kill_in_window, .called = note_stop};
    k->observer = &observer;
    lost.instructions = instructions;
    lost.stood_ns = NEVER;
}

bool watch_killed(uint64_t *stood_ns)
{
    *stood_ns = lost.stood_ns;
    return lost.sampler;
}
