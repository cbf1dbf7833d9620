/* Walks of whole stacks: managed frames and frames of libapp.so in their true order. Frames of this program and of
 * libraries are left out. */
#include "engine/backend/art/frames.h"
#include "engine/backend/linux/suspend.h"
#include "engine/base/hint.h"
#include "tests/contract_art/native/chain.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

/* ---- what a walk found ---- */

static uint64_t taken[STROBE_STACK_DEPTH_MAX];

/* Compares a stack, outermost first, with the first `count` expected frames. */
static void check_frames(const uint64_t *frames, uint32_t frame_count, uint32_t count, const char *when)
{
    uint32_t n = 0, wrong = UINT32_MAX;
    for (uint32_t i = 0; i < frame_count; i++) {
        uint64_t frame = chain_frame(frames[i]);
        if (!frame)
            continue;
        if ((n >= count || chain.expected.frames[n] != frame) && wrong == UINT32_MAX)
            wrong = n;
        n++;
    }
    CHECK(chain.c, wrong == UINT32_MAX && n == count, "%s, plan \"%s\": %u of %u frames, the first wrong one is %u",
          when, chain.plan, n, count, wrong);
}

static struct strobe_window own_stack(uint64_t from)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    return (struct strobe_window){from, (uint64_t)(uintptr_t)low + bytes, 0, 0};
}

/* ---- of the thread itself ---- */

static strobe_a64 gaps;
static struct strobe_art_frames whole = {.gaps = &gaps};
static struct strobe_art_walk walk;
static struct strobe_linux here;

static void prepare_walks(struct contract *c)
{
    strobe_linux_init(&here, clock_gettime);
    if (!strobe_art_frames_update(&whole, &here.host, c->libart.address[STROBE_ART_VISITOR_WALK]))
        contract_skip(c, "no native frames on this processor");
    whole.on = true;
}

static void take_own_stack(void)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_window stack = own_stack(frame);
    uint32_t count;
    enum strobe_walk_end end =
        strobe_art_walk_whole(&whole, &walk, &chain.c->libart, strobe_art_current(&chain.c->libart), frame, &stack,
                              taken + STROBE_STACK_DEPTH_MAX, STROBE_STACK_DEPTH_MAX, &count);
    CHECK(chain.c, end == STROBE_WALK_ROOT, "plan \"%s\": %d", chain.plan, end);
    check_frames(taken + STROBE_STACK_DEPTH_MAX - count, count, chain.expected.count, "own stack");
}

/* All chains of at most PLAN_LENGTH calls. */
static void native_and_managed_frames_are_in_the_order_of_their_calls(struct contract *c)
{
    enum { PLAN_LENGTH = 6 };
    chain_open(c, take_own_stack);
    prepare_walks(c);
    for (int length = 0; length <= PLAN_LENGTH; length++)
        for (int bits = 0; bits < 1 << length; bits++) {
            char text[CHAIN_MAX] = "";
            for (int i = 0; i < length; i++)
                text[i] = bits >> i & 1 ? 'm' : 'n';
            chain_run(text);
        }
}

static uint64_t gaps_before;

static void take_without_native(void)
{
    struct strobe_art_frames off = {0};
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_window stack = own_stack(frame);
    uint32_t count, n = 0;
    strobe_art_walk_whole(&off, &walk, &chain.c->libart, strobe_art_current(&chain.c->libart), frame, &stack,
                          taken + STROBE_STACK_DEPTH_MAX, STROBE_STACK_DEPTH_MAX, &count);
    for (uint32_t i = 0; i < count; i++)
        n += taken[STROBE_STACK_DEPTH_MAX - 1 - i] == chain.sample ||
             taken[STROBE_STACK_DEPTH_MAX - 1 - i] == chain.deep;
    CHECK(chain.c, n == count && n == 2 * (CHAIN_DEEP + 2), "%u of %u frames", n, count);
}

static void without_native_frames_a_stack_has_the_managed_ones(struct contract *c)
{
    chain_open(c, take_without_native);
    chain_run("nmnn");
}

/* Compares a stack, outermost first, with the first `outer` expected frames. Frames may be missing when the walk has
 * counted that, but no other frame may be there. */
static void check_known_frames(const uint64_t *frames, uint32_t frame_count, uint32_t outer, const char *when)
{
    uint32_t n = 0, next = 0, others = 0;
    for (uint32_t i = 0; i < frame_count; i++) {
        uint64_t frame = chain_frame(frames[i]);
        if (!frame)
            continue;
        while (next < outer && chain.expected.frames[next] != frame)
            next++;
        others += next++ >= outer;
        n++;
    }
    CHECK(chain.c, others == 0, "%s, plan \"%s\": %u of %u frames do not exist", when, chain.plan, others, n);
    CHECK(chain.c, n == outer || strobe_load_relaxed(&gaps) > gaps_before,
          "%s, plan \"%s\": %u of %u frames, not counted", when, chain.plan, n, outer);
}

/* Takes the native frames without registers, after the managed ones. The native frames inside the innermost managed
 * frame are then unknown. */
static void take_without_registers(const struct strobe_window *stack, const char *when)
{
    uint32_t count, outer = 0;
    gaps_before = strobe_load_relaxed(&gaps);
    enum strobe_walk_end native = strobe_art_walk_native(&whole, &here.host, &walk, NULL, stack);
    strobe_art_merge_frames(&walk, STROBE_WALK_ROOT, native, taken + STROBE_STACK_DEPTH_MAX, STROBE_STACK_DEPTH_MAX,
                            &count);
    for (uint32_t i = 0; i < chain.expected.count; i++)
        outer = chain.expected.frames[i] == chain.sample ? i + 1 : outer;
    check_known_frames(taken + STROBE_STACK_DEPTH_MAX - count, count, outer, when);
}

/* Breaks the chain of frame records below the managed frames: the walk must find the frames outside of them again, or
 * leave them out and count it. */
static void take_with_a_broken_chain(void)
{
    struct strobe_window stack = own_stack((uint64_t)(uintptr_t)__builtin_frame_address(0));
    strobe_art_walk_managed(&walk, &chain.c->libart, strobe_art_current(&chain.c->libart));
    take_without_registers(&stack, "without registers");
}

static const char *const broken_plans[] = {"", "n", "nn", "m", "nm", "mnn", "nnmn", "mmm", "nmnmn"};

static void frames_outside_of_managed_ones_are_found_without_registers(struct contract *c)
{
    chain_open(c, take_with_a_broken_chain);
    prepare_walks(c);
    for (size_t i = 0; i < sizeof broken_plans / sizeof *broken_plans; i++)
        chain_run(broken_plans[i]);
}

/* Returns the address of the outermost managed frame that the innermost call of managed code has entered. */
static uint64_t entered_frame(void)
{
    const struct strobe_art_found *f = &walk.found;
    for (uint32_t i = STROBE_STACK_DEPTH_MAX; i-- > STROBE_STACK_DEPTH_MAX - f->managed_count;)
        if (f->method[i] == chain.deep && f->method_place[i] & STROBE_ART_PLACE_ENDS)
            return f->method_place[i] & ~STROBE_ART_PLACE_ENDS;
    return 0;
}

/* Returns the first frame record from `at` up, below chain.entered, with a return address in the runtime. */
static STROBE_READS_STACKS const struct strobe_frame_record *find_runtime_record(uint64_t at)
{
    for (; at < chain.entered; at += sizeof(uintptr_t)) {
        const struct strobe_frame_record *r = (const struct strobe_frame_record *)(uintptr_t)at;
        uint64_t next = strobe_frame_pointer(r->next), pc = strobe_frame_strip(r->return_address);
        if (next > at && next <= chain.entered && strobe_art_code_at(whole.code, pc - 1) & STROBE_ART_CODE_RUNTIME)
            return r;
    }
    return NULL;
}

/* Writes two old frame records into the outermost frame of managed code, as in words of it that were never written: the
 * record of a function of the runtime, and that of its caller in libapp.so. Both have returned. The second leads to the
 * function that entered managed code, past the records of the functions between. The frame gets its words back. */
static STROBE_READS_STACKS void take_with_old_records(void)
{
    struct strobe_window stack = own_stack((uint64_t)(uintptr_t)__builtin_frame_address(0));
    strobe_art_walk_managed(&walk, &chain.c->libart, strobe_art_current(&chain.c->libart));
    uint64_t place = entered_frame() + sizeof(uint64_t);
    struct strobe_frame_record *old = (struct strobe_frame_record *)(uintptr_t)place, saved[2];
    const struct strobe_frame_record *entry = find_runtime_record(place);
    CHECK(chain.c, entry >= old + 2, "plan \"%s\": no place for two records", chain.plan);
    if (entry < old + 2)
        return;
    saved[0] = old[0], saved[1] = old[1];
    old[0] = (struct strobe_frame_record){(uintptr_t)(old + 1), entry->return_address};
    old[1] = (struct strobe_frame_record){(uintptr_t)chain.entered, (uintptr_t)chain.return_pc};
    take_without_registers(&stack, "with old records");
    old[0] = saved[0], old[1] = saved[1];
}

static void an_old_record_outside_of_managed_frames_is_not_taken_without_registers(struct contract *c)
{
    chain_open(c, take_with_old_records);
    prepare_walks(c);
    for (size_t i = 0; i < sizeof broken_plans / sizeof *broken_plans; i++)
        chain_run(broken_plans[i]);
}

/* ---- at each instruction ---- */

#ifdef __x86_64__

enum { TRAP_FLAG = 0x100, STEPS_MAX = 4000 };

static uint32_t steps, steps_in_frames;
static struct strobe_window stepped_stack;

/* Takes the stack at the present instruction. chain.expected has the whole chain; the functions at its end are all
 * different, so the present one is found in it. */
static void on_step(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)number, (void)info;
    struct strobe_regs regs = {0};
    static const uint8_t order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t *g = u->uc_mcontext.gregs;
    for (int i = 0; i < 16; i++)
        regs.general[i] = (uint64_t)g[order[i]];
    regs.pc = regs.general[16] = (uint64_t)g[REG_RIP];
    regs.sp = (uint64_t)g[REG_RSP];
    regs.fp = (uint64_t)g[REG_RBP];
    if (!chain.stepping || ++steps > STEPS_MAX) {
        u->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return;
    }
    uint64_t into = regs.pc - (uint64_t)(uintptr_t)chain.functions;
    if (into >= CHAIN_FUNCTIONS * SIM_REAL_FRAME_BYTES)
        return; /* in this program or a library; checked when it returns */
    uint64_t present = into / SIM_REAL_FRAME_BYTES + 1;
    struct strobe_window stack = {regs.sp - STROBE_RED_ZONE_BYTES, stepped_stack.high, 0, 0};
    uint32_t count, known = chain.expected.count, n = 0;
    walk.found.native_count = walk.found.native_kept = 0;
    enum strobe_walk_end native = strobe_art_walk_native(&whole, &here.host, &walk, &regs, &stack);
    enum strobe_walk_end end = strobe_art_merge_frames(&walk, STROBE_WALK_ROOT, native, taken + STROBE_STACK_DEPTH_MAX,
                                                       STROBE_STACK_DEPTH_MAX, &count);
    steps_in_frames++;
    while (known && chain.expected.frames[known - 1] != present)
        known--;
    const uint64_t *frames = taken + STROBE_STACK_DEPTH_MAX - count;
    for (uint32_t i = 0; i < count; i++)
        n += chain_frame(frames[i]) != 0;
    CHECK(chain.c, end == STROBE_WALK_ROOT && n == known, "at byte %u of a function: %u of %u frames, end %d",
          (uint32_t)(into % SIM_REAL_FRAME_BYTES), n, known, end);
    if (n == known)
        check_frames(frames, count, known, "at an instruction");
}

/* The managed frames stay the same until the function returns in which stepping begins. */
static void begin_steps(void)
{
    steps = 0;
    stepped_stack = own_stack(0);
    strobe_art_walk_managed(&walk, &chain.c->libart, strobe_art_current(&chain.c->libart));
    chain.stepping = true;
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

static void take_nothing(void) {}

static void a_stack_is_right_at_each_instruction_of_native_code(struct contract *c)
{
    static const char *const plans[] = {"sn", "snn", "snnnn", "nsnn", "msnn", "nmsnn", "nmnsn", "mnmnsnn"};
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    chain_open(c, take_nothing);
    chain.begin_steps = begin_steps;
    prepare_walks(c);
    sigaction(SIGTRAP, &action, NULL);
    steps_in_frames = 0;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        chain_run(plans[i]);
    CHECK(c, steps_in_frames > 100, "%u instructions", steps_in_frames);
}

#else

static void a_stack_is_right_at_each_instruction_of_native_code(struct contract *c)
{
    contract_skip(c, "no single steps on this processor");
}

#endif

const struct contract_case contract_cases_frames[] = {
    {"native_and_managed_frames_are_in_the_order_of_their_calls",
     native_and_managed_frames_are_in_the_order_of_their_calls, 0},
    {"without_native_frames_a_stack_has_the_managed_ones", without_native_frames_a_stack_has_the_managed_ones, 0},
    {"frames_outside_of_managed_ones_are_found_without_registers",
     frames_outside_of_managed_ones_are_found_without_registers, 0},
    {"an_old_record_outside_of_managed_frames_is_not_taken_without_registers",
     an_old_record_outside_of_managed_frames_is_not_taken_without_registers, 0},
    {"a_stack_is_right_at_each_instruction_of_native_code", a_stack_is_right_at_each_instruction_of_native_code, 0},
    {NULL, NULL, 0},
};
