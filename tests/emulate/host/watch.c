#include "tests/emulate/host/watch.h"
#include "engine/base/error.h"

#include "engine/trace/session/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRUTHS_MAX = 1 << 16, PRINTED = 3 };

/* ---- exact stacks */

struct truth {
    uint32_t depth;
    uint64_t *frames;
}; /* outermost first */

static struct {
    const struct thread *thread;
    uint32_t tid;                /* its id in the session */
    uint32_t before;             /* number of its samples before it took the name */
    uint64_t shadow[SHADOW_MAX]; /* return addresses, outermost first */
    uint32_t depth;
    bool sampled; /* since its last instruction */
    struct truth *truths;
    uint32_t count, printed;
} exact;

/* Starts the shadow stack of the thread that takes the name "exact". It does so in a leaf function that each of its
 * callers has called in turn, so all its frames have records. A thread that takes another name is no longer exact. */
static void begin_shadow(struct kernel *k, struct thread *t)
{
    uint64_t frames[SHADOW_MAX], fp = kernel_register(k, t, UC_ARM64_REG_X29), record[2];
    uint32_t n = 0;
    if (exact.thread == t)
        exact.thread = NULL;
    if (exact.tid || strcmp(t->name, "exact"))
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
    exact.tid = (uint32_t)t->id;
    exact.before = t->looked_at;
    exact.sampled = true;
}

static void follow(struct kernel *k, struct thread *t, uint64_t pc)
{
    uint32_t code;
    if (t != exact.thread)
        return;
    exact.sampled = false;
    machine_read(&k->machine, pc, &code, sizeof code);
    bool call = code >> 26 == 0x25 || (code & 0xfffffc1fu) == 0xd63f0000u; /* bl; blr */
    bool back = (code & 0xfffffc1fu) == 0xd65f0000u;                       /* ret */
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
    t->frames[exact.depth] = kernel_register(k, of, UC_ARM64_REG_PC) + 1; /* like a return address */
}

/* Other threads run without a limit. The exact thread runs one instruction after it was sampled, when no other
 * thread can run. */
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

/* Compares a record, in which equal samples may be merged. Returns the number of wrong samples. */
static uint32_t compare_record(const struct strobe_reader *reader, const struct strobe_record *r, uint32_t *next)
{
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t wrong = 0, depth;
    if (strobe_stack_frames(&reader->session.stacks, r->stack, frames, STROBE_STACK_DEPTH_MAX, &depth) != STROBE_OK)
        depth = 0;
    for (uint32_t c = 0; c < r->count; c++, ++*next) {
        if (*next < exact.before || *next - exact.before >= exact.count)
            continue;
        const struct truth *t = &exact.truths[*next - exact.before];
        if (equal(t, frames, depth))
            continue;
        wrong++;
        if (exact.printed++ < PRINTED) {
            print_frames("sampled", frames, depth);
            print_frames("truth  ", t->frames, t->depth);
        }
    }
    return wrong;
}

/* Returns true when the record repeats the one before it, because the thread waited for a processor. Such a record is
 * no sample: the thread was not stopped for it. Two instructions that follow each other have different stacks. */
static bool repeats(const struct strobe_record *r, const struct strobe_record *before)
{
    return before && r->flags & STROBE_FLAG_READY && r->stack == before->stack;
}

/* Compares the sampler's records of a thread. Returns the number of wrong samples. */
static uint32_t compare_thread(const struct strobe_reader *reader, const struct strobe_reader_thread *t, uint32_t *next)
{
    const struct strobe_record *before = NULL;
    uint32_t wrong = 0;
    for (size_t i = 0; i < t->item_count; i++) {
        const struct strobe_record *r = &t->items[i].record;
        if (r->kind != STROBE_KIND_ASYNC)
            continue;
        if (!repeats(r, before))
            wrong += compare_record(reader, r, next);
        before = r;
    }
    return wrong;
}

bool watch_compare(const char *session_path)
{
    struct strobe_reader *reader;
    struct strobe_error error;
    uint32_t next = 0, wrong = 0;
    if (strobe_reader_open(session_path, &reader, &error) != STROBE_OK) {
        printf("FAIL exact: %s\n", error.text);
        return false;
    }
    for (uint32_t n = 0; n < reader->thread_count; n++)
        if (reader->threads[n].tid == exact.tid)
            wrong += compare_thread(reader, &reader->threads[n], &next);
    strobe_reader_close(reader);
    uint32_t kept = next > exact.before ? next - exact.before : 0;
    kept = kept < exact.count ? kept : exact.count;
    printf("%u instructions sampled, %u samples kept, %u wrong\n", exact.count, kept, wrong);
    return exact.count && kept == exact.count && !wrong;
}

/* ---- a sampler that is lost */

static struct {
    uint64_t instructions, at_ns, stood_ns;
    uint64_t held, first; /* instructions with a thread stopped: so far, and up to the first resume */
    const struct thread *sampler, *stopped;
} lost;

static void kill_in_window(struct kernel *k, struct thread *t, uint64_t pc)
{
    (void)pc;
    if (!t->holds || lost.sampler)
        return;
    lost.held++;
    if (lost.instructions--)
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
    if (call == CALL_THREAD_RESUME && !lost.first)
        lost.first = lost.held;
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

uint64_t watch_first_stop(void)
{
    return lost.first;
}
