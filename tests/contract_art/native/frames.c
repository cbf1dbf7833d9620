/* Whole stacks: managed frames and frames of libapp.so in their true order. A plan is a chain of calls, such as "nmn":
 * managed code calls a native method, which calls a native function (n), which calls managed code (m), which calls the
 * native method again, which calls a native function. At the end of the chain the stack is taken. The plan says which
 * frames of the scenario's kind the stack must have. Frames of this program and of libraries are left out. */
#include "engine/backend/art/frames.h"
#include "engine/backend/linux/suspend.h"
#include "engine/base/error.h"
#include "engine/cmd/preload.h"
#include "sim/player/frames.h"
#include "tests/contract_art/support/capture.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

enum { PLAN_MAX = 16, DEEP = 2, FRAMES = 8 };

struct expected {
    uint32_t count;
    uint64_t frames[PLAN_MAX * (DEEP + 3)]; /* outermost first; of a native function: its number + 1 */
};

static struct contract *the_case;
static const char *app_frames;
static uint64_t sample_method, deep_method;

static const char *plan;
static uint32_t at;                /* in the plan */
static bool over;                  /* the end of the chain has been reached: all return */
static uint32_t depth, step_depth; /* functions of libapp.so that run; the same when stepping began */
static volatile bool stepping;
static void begin_steps(void);
static struct expected expected;
static void (*at_the_end)(void);

/* ---- the chain ---- */

static void expect_frame(uint64_t frame)
{
    expected.frames[expected.count++] = frame;
}

/* Calls Main.deep, which calls itself and then Main.sample, whose function is the first of libapp.so. */
static void call_managed(void *player, size_t bytes)
{
    (void)player, (void)bytes;
    struct strobe_jni *env = strobe_jvm_env(the_case->art.vm);
    for (int i = 0; i <= DEEP; i++)
        expect_frame(deep_method);
    expect_frame(sample_method);
    expect_frame(1);
    depth++;
    java_static(env, "Main", "deep", "(I)V", &(union strobe_jvalue){.i = DEEP});
}

struct sim_real_next sim_app_step(void *player)
{
    (void)player;
    if (!over && !plan[at]) {
        over = true;
        at_the_end();
    }
    if (over && depth == step_depth)
        stepping = false;
    if (over) {
        depth--;
        return (struct sim_real_next){NULL, 0};
    }
    if (plan[at] == 's') {
        at++;
        step_depth = depth;
        begin_steps();
    }
    if (plan[at++] == 'm')
        return (struct sim_real_next){call_managed, 0};
    uint32_t number = 1 + at % (FRAMES - 1);
    expect_frame(number + 1);
    depth++;
    return (struct sim_real_next){sim_app_frame_of(app_frames, number), at % 3 * 48};
}

static void run_plan(const char *text)
{
    plan = text;
    at = 0;
    over = false;
    depth = 0;
    step_depth = UINT32_MAX;
    expected.count = 0;
    call_managed(NULL, 0);
}

static void open_chain(struct contract *c, void (*end)(void))
{
    char path[STROBE_PRELOAD_BYTES];
    the_case = c;
    at_the_end = end;
    void *library = strobe_library_find("libapp.so", path, sizeof path) ? dlopen(path, RTLD_NOW) : NULL;
    app_frames = library ? dlsym(library, "sim_app_frames") : NULL;
    if (!app_frames)
        contract_skip(c, "there is no libapp.so");
    workload_bind(c->art.env, "Main", "sample", "(I)V", sim_app_entry_of(app_frames, 0));
    sample_method = workload_static(c->art.env, "Main", "sample", "(I)V");
    deep_method = workload_static(c->art.env, "Main", "deep", "(I)V");
}

/* ---- what a walk found ---- */

static uint64_t taken[STROBE_STACK_DEPTH_MAX];

/* Returns the frame as `expected` has it, 0 when it is none of the chain's. */
static uint64_t chain_frame(uint64_t frame)
{
    uint64_t into = frame - 1 - (uint64_t)(uintptr_t)app_frames;
    if (into < FRAMES * SIM_REAL_FRAME_BYTES)
        return into / SIM_REAL_FRAME_BYTES + 1;
    return frame == sample_method || frame == deep_method ? frame : 0;
}

/* Compares a stack, outermost first, with the first `count` expected frames. */
static void check_frames(const uint64_t *frames, uint32_t frame_count, uint32_t count, const char *when)
{
    uint32_t n = 0, wrong = UINT32_MAX;
    for (uint32_t i = 0; i < frame_count; i++) {
        uint64_t frame = chain_frame(frames[i]);
        if (!frame)
            continue;
        if ((n >= count || expected.frames[n] != frame) && wrong == UINT32_MAX)
            wrong = n;
        n++;
    }
    CHECK(the_case, wrong == UINT32_MAX && n == count, "%s, plan \"%s\": %u of %u frames, the first wrong one is %u",
          when, plan, n, count, wrong);
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

static struct strobe_art_frames whole;
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
        strobe_art_walk_whole(&whole, &walk, &the_case->libart, strobe_art_current(&the_case->libart), frame, &stack,
                              taken + STROBE_STACK_DEPTH_MAX, STROBE_STACK_DEPTH_MAX, &count);
    CHECK(the_case, end == STROBE_WALK_ROOT, "plan \"%s\": %d", plan, end);
    check_frames(taken + STROBE_STACK_DEPTH_MAX - count, count, expected.count, "own stack");
}

/* All chains of at most PLAN_LENGTH calls. */
static void native_and_managed_frames_are_in_the_order_of_their_calls(struct contract *c)
{
    enum { PLAN_LENGTH = 6 };
    open_chain(c, take_own_stack);
    prepare_walks(c);
    for (int length = 0; length <= PLAN_LENGTH; length++)
        for (int bits = 0; bits < 1 << length; bits++) {
            char text[PLAN_MAX] = "";
            for (int i = 0; i < length; i++)
                text[i] = bits >> i & 1 ? 'm' : 'n';
            run_plan(text);
        }
}

static uint64_t gaps_before;

static void take_without_native(void)
{
    struct strobe_art_frames off = {0};
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_window stack = own_stack(frame);
    uint32_t count, n = 0;
    strobe_art_walk_whole(&off, &walk, &the_case->libart, strobe_art_current(&the_case->libart), frame, &stack,
                          taken + STROBE_STACK_DEPTH_MAX, STROBE_STACK_DEPTH_MAX, &count);
    for (uint32_t i = 0; i < count; i++)
        n += taken[STROBE_STACK_DEPTH_MAX - 1 - i] == sample_method ||
             taken[STROBE_STACK_DEPTH_MAX - 1 - i] == deep_method;
    CHECK(the_case, n == count && n == 2 * (DEEP + 2), "%u of %u frames", n, count);
}

static void without_native_frames_a_stack_has_the_managed_ones(struct contract *c)
{
    open_chain(c, take_without_native);
    run_plan("nmnn");
}

/* Breaks the chain of frame records below the managed frames: the walk must find the frames outside of them again, or
 * leave them out and count it. */
static void take_with_a_broken_chain(void)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_window stack = own_stack(frame);
    strobe_art_walk_managed(&walk, &the_case->libart, strobe_art_current(&the_case->libart));
    uint32_t count, outer = 0, n = 0;
    gaps_before = strobe_load_relaxed(&whole.gaps);
    enum strobe_walk_end native = strobe_art_walk_native(&whole, &here.host, &walk, NULL, &stack);
    strobe_art_merge_frames(&walk, STROBE_WALK_ROOT, native, taken + STROBE_STACK_DEPTH_MAX, STROBE_STACK_DEPTH_MAX,
                            &count);
    /* The native frames inside the innermost managed frame are unknown. */
    for (uint32_t i = 0; i < expected.count; i++)
        outer = expected.frames[i] == sample_method ? i + 1 : outer;
    const uint64_t *frames = taken + STROBE_STACK_DEPTH_MAX - count;
    for (uint32_t i = 0; i < count; i++)
        n += chain_frame(frames[i]) != 0;
    if (n == outer)
        check_frames(frames, count, outer, "without registers");
    else
        CHECK(the_case, strobe_load_relaxed(&whole.gaps) > gaps_before, "plan \"%s\": %u of %u frames, not counted",
              plan, n, outer);
}

static void frames_outside_of_managed_ones_are_found_without_registers(struct contract *c)
{
    static const char *const plans[] = {"", "n", "nn", "m", "nm", "mnn", "nnmn", "mmm", "nmnmn"};
    open_chain(c, take_with_a_broken_chain);
    prepare_walks(c);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        run_plan(plans[i]);
}

/* ---- at each instruction ---- */

#ifdef __x86_64__

enum { TRAP_FLAG = 0x100, STEPS_MAX = 4000 };

static uint32_t steps, steps_in_frames;
static struct strobe_window stepped_stack;

/* Takes the stack at the present instruction. `expected` has the the whole
 * chain; the functions at its end are all different, so the present one is found in it. */
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
    if (!stepping || ++steps > STEPS_MAX) {
        u->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return;
    }
    uint64_t into = regs.pc - (uint64_t)(uintptr_t)app_frames;
    if (into >= FRAMES * SIM_REAL_FRAME_BYTES)
        return; /* in this program or a library; checked when it returns */
    uint64_t present = into / SIM_REAL_FRAME_BYTES + 1;
    struct strobe_window stack = {regs.sp - STROBE_RED_ZONE_BYTES, stepped_stack.high, 0, 0};
    uint32_t count, known = expected.count, n = 0;
    walk.found.native_count = walk.found.native_kept = 0;
    enum strobe_walk_end native = strobe_art_walk_native(&whole, &here.host, &walk, &regs, &stack);
    enum strobe_walk_end end = strobe_art_merge_frames(&walk, STROBE_WALK_ROOT, native, taken + STROBE_STACK_DEPTH_MAX,
                                                       STROBE_STACK_DEPTH_MAX, &count);
    steps_in_frames++;
    while (known && expected.frames[known - 1] != present)
        known--;
    const uint64_t *frames = taken + STROBE_STACK_DEPTH_MAX - count;
    for (uint32_t i = 0; i < count; i++)
        n += chain_frame(frames[i]) != 0;
    CHECK(the_case, end == STROBE_WALK_ROOT && n == known, "at byte %u of a function: %u of %u frames, end %d",
          (uint32_t)(into % SIM_REAL_FRAME_BYTES), n, known, end);
    if (n == known)
        check_frames(frames, count, known, "at an instruction");
}

/* The managed frames stay the same until the function returns in which stepping begins. */
static void begin_steps(void)
{
    steps = 0;
    stepped_stack = own_stack(0);
    strobe_art_walk_managed(&walk, &the_case->libart, strobe_art_current(&the_case->libart));
    stepping = true;
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

static void take_nothing(void) {}

static void a_stack_is_right_at_each_instruction_of_native_code(struct contract *c)
{
    static const char *const plans[] = {"sn", "snn", "snnnn", "nsnn", "msnn", "nmsnn", "nmnsn", "mnmnsnn"};
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    open_chain(c, take_nothing);
    prepare_walks(c);
    sigaction(SIGTRAP, &action, NULL);
    steps_in_frames = 0;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        run_plan(plans[i]);
    CHECK(c, steps_in_frames > 100, "%u instructions", steps_in_frames);
}

#else

static void begin_steps(void) {}

static void a_stack_is_right_at_each_instruction_of_native_code(struct contract *c)
{
    contract_skip(c, "no single steps on this processor");
}

#endif

/* ---- by a capture ---- */

static struct capture k;

/* Samples whose stacks have been compared: `whole` ones have all frames of the chain. `parts` lack some at the end,
 * because the thread was on its way there or back, or native ones, because the thread took no signal. */
static struct {
    uint32_t whole, parts, wrong, native;
    enum strobe_kind kind;
} compared;

static void compare_record(void *ctx, const struct strobe_record *r)
{
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count, n = 0, at_expected = 0;
    bool same = true;
    (void)ctx;
    if (r->kind != compared.kind ||
        strobe_stack_frames(&k.session.stacks, r->stack, frames, STROBE_STACK_DEPTH_MAX, &count) != STROBE_OK)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t frame = chain_frame(frames[i]);
        if (!frame)
            continue;
        compared.native += frame <= FRAMES;
        /* Native frames may be missing, which the engine counts. Managed ones may not. */
        while (at_expected < expected.count && expected.frames[at_expected] != frame &&
               expected.frames[at_expected] <= FRAMES)
            at_expected++;
        same &= at_expected < expected.count && expected.frames[at_expected] == frame;
        at_expected++;
        n++;
    }
    if (n)
        *(!same ? &compared.wrong : n == expected.count ? &compared.whole : &compared.parts) += r->count;
}

static void compare_stacks(enum strobe_kind kind)
{
    memset(&compared, 0, sizeof compared);
    compared.kind = kind;
    capture_visit(&k, compare_record, NULL);
}

static void wait_at_the_end(void)
{
    java_static(strobe_jvm_env(the_case->art.vm), "Main", "waitMs", "(J)V", &(union strobe_jvalue){.j = 1});
}

static bool capture_plan(struct contract *c, void (*end)(void), uint64_t async_interval_ns, bool managed_only)
{
    struct strobe_config config;
    capture_config(&config);
    config.async_interval_ns = async_interval_ns;
    open_chain(c, end);
    capture_managed_only = managed_only;
    if (!capture_begin(c, &config, &k))
        return false;
    run_plan("nmnnmn");
    capture_end(&k);
    return true;
}

static void a_hook_in_nested_native_and_managed_code_takes_the_whole_stack(struct contract *c)
{
    if (!capture_plan(c, wait_at_the_end, 0, false))
        return;
    CHECK(c, capture_has(&k, STROBE_ART_NATIVE), "%s", k.status.off[STROBE_ART_NATIVE]);
    compare_stacks(STROBE_KIND_COND);
    CHECK(c, compared.whole > 0 && !compared.parts && !compared.wrong, "%u whole stacks, %u parts, %u wrong",
          compared.whole, compared.parts, compared.wrong);
    bool listed = false;
    for (uint32_t i = 0; i < strobe_session_image_count(&k.session); i++) {
        const struct strobe_image_entry *e = &k.session.images[i];
        listed |= (uint64_t)(uintptr_t)app_frames - e->start < e->end - e->start && strstr(e->path, "/libapp.so") &&
                  e->build_id_bytes > 0;
    }
    CHECK(c, listed, "the session has the image of the native frames, with its build id");
    struct strobe_named_address n;
    for (uint64_t next = 0; strobe_names_next(&k.session.names, &next, &n);)
        CHECK(c, chain_frame(n.address) != 1 && !(n.flags & STROBE_NAME_STALE), "\"%.*s\" is no method", (int)n.bytes,
              n.text);
    capture_drop(&k);
}

static void a_capture_of_managed_frames_has_no_native_ones(struct contract *c)
{
    if (!capture_plan(c, wait_at_the_end, 0, true))
        return;
    CHECK(c, !capture_has(&k, STROBE_ART_NATIVE) && k.status.off[STROBE_ART_NATIVE][0], "it says why");
    compare_stacks(STROBE_KIND_COND);
    CHECK(c, compared.native == 0 && compared.parts + compared.wrong > 0, "%u native frames", compared.native);
    capture_drop(&k);
}

static void compute_at_the_end(void)
{
    struct timespec t;
    uint64_t from = 0, now;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
        from = from ? from : now;
    } while (now - from < UINT64_C(40000000));
}

static void a_thread_that_computes_in_nested_native_code_is_shown_there(struct contract *c)
{
    if (!capture_plan(c, compute_at_the_end, 1000000, false))
        return;
    compare_stacks(STROBE_KIND_ASYNC);
    CHECK(c, compared.whole >= 10 && !compared.wrong, "%u whole stacks, %u parts, %u wrong", compared.whole,
          compared.parts, compared.wrong);
    capture_drop(&k);
}

const struct contract_case contract_cases_frames[] = {
    {"native_and_managed_frames_are_in_the_order_of_their_calls",
     native_and_managed_frames_are_in_the_order_of_their_calls, 0},
    {"without_native_frames_a_stack_has_the_managed_ones", without_native_frames_a_stack_has_the_managed_ones, 0},
    {"frames_outside_of_managed_ones_are_found_without_registers",
     frames_outside_of_managed_ones_are_found_without_registers, 0},
    {"a_stack_is_right_at_each_instruction_of_native_code", a_stack_is_right_at_each_instruction_of_native_code, 0},
    {"a_hook_in_nested_native_and_managed_code_takes_the_whole_stack",
     a_hook_in_nested_native_and_managed_code_takes_the_whole_stack, 0},
    {"a_capture_of_managed_frames_has_no_native_ones", a_capture_of_managed_frames_has_no_native_ones, 0},
    {"a_thread_that_computes_in_nested_native_code_is_shown_there",
     a_thread_that_computes_in_nested_native_code_is_shown_there, 0},
    {NULL, NULL, 0},
};
