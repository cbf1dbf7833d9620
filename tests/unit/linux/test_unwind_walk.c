/* Stacks by call frame information, on real code: of the calling thread, at each kind of frame, and where signals
 * interrupt. They are compared with libunwind's (S-43). */
#define UNW_LOCAL_ONLY

#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/unwind_images.h"
#include "engine/backend/linux/unwind_table.h"
#include "engine/base/hint.h"
#include "tests/support/sanitizers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unistd.h>
#include <cmocka.h>

enum { FRAMES = 128 };

struct stack {
    uint64_t frames[FRAMES]; /* innermost first */
    uint32_t count;
    enum strobe_walk_end end;
};

static struct strobe_linux linux_host;
static struct strobe_unwind_index *rules;
static struct strobe_window own_stack;

static int start_rules(void **state)
{
    (void)state;
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    strobe_linux_init(&linux_host, clock_gettime);
    rules = strobe_unwind_images_update(&linux_host.host);
    strobe_unwind_table_use(rules);
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    own_stack = (struct strobe_window){.low = (uint64_t)(uintptr_t)low, .high = (uint64_t)(uintptr_t)low + bytes};
    return rules == NULL;
}

static void reverse_frames(struct stack *s)
{
    uint64_t at[FRAMES];
    memcpy(at, s->frames, sizeof at);
    for (uint32_t i = 0; i < s->count; i++)
        s->frames[i] = at[FRAMES - 1 - i];
}

#ifdef __x86_64__

static void take_registers(const ucontext_t *u, struct strobe_regs *r)
{
    static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        r->general[i] = (uint64_t)u->uc_mcontext.gregs[order[i]];
    r->fp = r->general[6];
    r->sp = r->general[7];
    r->pc = r->general[16];
}

#else

static void take_registers(const ucontext_t *u, struct strobe_regs *r)
{
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < 31; i++)
        r->general[i] = u->uc_mcontext.regs[i];
    r->general[31] = r->sp = u->uc_mcontext.sp;
    r->general[32] = r->pc = u->uc_mcontext.pc;
    r->fp = r->general[29];
    r->lr = r->general[30];
}

#endif

static void walk_interrupted(const ucontext_t *u, struct stack *out)
{
    struct strobe_regs regs;
    take_registers(u, &regs);
    struct strobe_window window = own_stack;
    window.low = (regs.sp & ~(uint64_t)7) - STROBE_RED_ZONE_BYTES;
    out->end =
        strobe_unwinder_table.copied(&linux_host.host, &regs, &window, out->frames + FRAMES, FRAMES, &out->count);
    reverse_frames(out);
}

/* Walks by libunwind, from the instruction that the signal interrupted. */
static void walk_by_libunwind(const ucontext_t *u, struct stack *out)
{
    unw_cursor_t cursor;
    unw_context_t context;
    memcpy(&context, u, sizeof context < sizeof *u ? sizeof context : sizeof *u);
    out->count = 0;
    out->end = STROBE_WALK_DOUBTFUL;
    if (unw_init_local2(&cursor, &context, UNW_INIT_SIGNAL_FRAME) < 0)
        return;
    for (bool inner = true; out->count < FRAMES; inner = false) {
        unw_word_t ip;
        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) < 0 || ip == 0)
            break;
        out->frames[out->count++] = ip + inner;
        if (unw_step(&cursor) <= 0)
            break;
    }
    out->end = STROBE_WALK_ROOT;
}

static void show_frame(uint64_t address)
{
    Dl_info info = {0};
    dladdr((void *)(uintptr_t)(address - 1), &info);
    print_message("    %s+%#llx %s\n", info.dli_fname ? info.dli_fname : "?",
                  (unsigned long long)(address - (uint64_t)(uintptr_t)info.dli_fbase),
                  info.dli_sname ? info.dli_sname : "");
}

static void show_stack(const char *who, const struct stack *s)
{
    print_message("  %s, end %d:\n", who, s->end);
    for (uint32_t i = 0; i < s->count; i++)
        show_frame(s->frames[i]);
}

static bool same_stack(const struct stack *a, const struct stack *b)
{
    return a->count == b->count && !memcmp(a->frames, b->frames, a->count * sizeof a->frames[0]);
}

/* ---- instruction by instruction ---- */

#ifdef __x86_64__
static uint64_t steps, broken, differing;

static bool stepping;

static void on_step(int number, siginfo_t *info, void *context)
{
    static struct stack ours, theirs;
    const ucontext_t *u = context;
    (void)number, (void)info;
    if (!stepping)
        return;
    walk_interrupted(u, &ours);
    walk_by_libunwind(u, &theirs);
    steps++;
    if (ours.end != STROBE_WALK_ROOT) {
        if (!broken++)
            show_stack("broken", &ours);
    } else if (!same_stack(&ours, &theirs)) {
        if (!differing++) {
            show_stack("ours", &ours);
            show_stack("libunwind", &theirs);
        }
    }
}

static inline __attribute__((always_inline)) void set_trap_flag(bool on)
{
    if (on)
        __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    else
        __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static int compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) double work_to_step(int rounds)
{
    static int numbers[32];
    char text[64];
    for (int i = 0; i < 32; i++)
        numbers[i] = i * 7919 % 101;
    qsort(numbers, 32, sizeof numbers[0], compare_numbers);
    snprintf(text, sizeof text, "%d %s %.3f", numbers[3], "text", 1.0 / (rounds + 1));
    char *copy = strdup(text);
    double value = strtod(copy, NULL);
    free(copy);
    return value;
}

static void stacks_at_every_instruction_are_those_of_libunwind(void **state)
{
    (void)state;
    struct sigaction act = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;
    steps = broken = differing = 0;
    sigaction(SIGTRAP, &act, &before);
    stepping = true;
    set_trap_flag(true);
    volatile double value = work_to_step(3);
    set_trap_flag(false);
    stepping = false;
    sigaction(SIGTRAP, &before, NULL);
    (void)value;
    print_message("%llu instructions, %llu broken, %llu differ\n", (unsigned long long)steps,
                  (unsigned long long)broken, (unsigned long long)differing);
    assert_true(steps > 3000);
    assert_int_equal(broken, 0);
    assert_int_equal(differing, 0);
}

#endif

/* ---- in a signal handler ---- */

static struct stack found, expected;

static void on_signal(int number)
{
    (void)number;
    ucontext_t here;
    getcontext(&here);
    struct strobe_regs regs;
    take_registers(&here, &regs);
    struct strobe_window window = own_stack;
    window.low = (uint64_t)(uintptr_t)__builtin_frame_address(0) - 4096;
    found.end =
        strobe_unwinder_table.copied(&linux_host.host, &regs, &window, found.frames + FRAMES, FRAMES, &found.count);
    reverse_frames(&found);
    walk_by_libunwind(&here, &expected);
}

static __attribute__((noinline)) int raise_signal(int a)
{
    raise(SIGUSR1);
    return a + 1;
}

static void stacks_of_handlers_go_on_where_the_signal_interrupted(void **state)
{
    (void)state;
    signal(SIGUSR1, on_signal);
    volatile int kept = raise_signal(1);
    (void)kept;
    uint32_t in_caller = 0;
    for (uint32_t i = 0; i < found.count; i++)
        in_caller += found.frames[i] - (uint64_t)(uintptr_t)raise_signal < 64;
    if (in_caller != 1)
        show_stack("ours", &found);
    assert_int_equal(in_caller, 1);
    assert_int_equal(found.end, STROBE_WALK_ROOT);
    /* libunwind reports the interrupted instruction itself, the engine reports it as a return address. */
    assert_int_equal(found.count, expected.count);
    uint32_t other = 0;
    for (uint32_t i = 0; i < found.count; i++)
        other += found.frames[i] != expected.frames[i];
    if (other != 1) {
        show_stack("ours", &found);
        show_stack("libunwind", &expected);
    }
    assert_int_equal(other, 1);
}

/* ---- windows ---- */

/* Used in place of memcpy, because the address sanitizer stops memcpy at its red zones between variables. */
static STROBE_READS_STACKS void copy_stack(void *to, uint64_t from, size_t bytes)
{
    volatile uint64_t *out = to;
    for (size_t i = 0; i < bytes / 8; i++)
        out[i] = ((const volatile uint64_t *)(uintptr_t)from)[i];
}

static struct stack in_place, in_copy;
static uint64_t copied_stack[1 << 15];

static __attribute__((noinline)) void take_both(void)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_window window = {.low = frame, .high = own_stack.high};
    in_place.end = strobe_unwinder_table.hooked(frame, &window, in_place.frames + FRAMES, FRAMES, &in_place.count);
    size_t bytes = (size_t)(window.high - frame);
    assert_true(bytes <= sizeof copied_stack);
    copy_stack(copied_stack, frame, bytes);
    window.bias = (uint64_t)(uintptr_t)copied_stack - frame;
    in_copy.end = strobe_unwinder_table.hooked(frame, &window, in_copy.frames + FRAMES, FRAMES, &in_copy.count);
    reverse_frames(&in_place);
    reverse_frames(&in_copy);
}

static void a_copy_gives_the_same_stack_as_the_memory_in_place(void **state)
{
    (void)state;
    take_both();
    assert_int_equal(in_place.end, STROBE_WALK_ROOT);
    assert_int_equal(in_copy.end, STROBE_WALK_ROOT);
    assert_true(in_place.count > 3 && same_stack(&in_place, &in_copy));
}

static __attribute__((noinline)) void walk_in_windows(void)
{
    struct stack whole, part;
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_window window = {.low = frame, .high = own_stack.high};
    whole.end = strobe_unwinder_table.hooked(frame, &window, whole.frames + FRAMES, FRAMES, &whole.count);
    reverse_frames(&whole);
    uint64_t most = own_stack.high - frame < 4096 ? own_stack.high - frame : 4096; /* the stack may be short */
    for (uint64_t bytes = 0; bytes < most; bytes += 8) {
        /* An unreadable page begins at the window's end, so a read beyond it fails. */
        uint8_t *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint8_t *copy = pages + 2 * 4096 - bytes;
        copy_stack(copy, frame, (size_t)bytes);
        mprotect(pages + 2 * 4096, 4096, PROT_NONE);
        window.high = frame + bytes;
        window.bias = (uint64_t)(uintptr_t)copy - frame;
        part.end = strobe_unwinder_table.hooked(frame, &window, part.frames + FRAMES, FRAMES, &part.count);
        reverse_frames(&part);
        munmap(pages, 3 * 4096);
        assert_true(part.count <= whole.count);
        assert_memory_equal(part.frames, whole.frames, part.count * sizeof part.frames[0]);
        assert_true(part.end == (part.count == whole.count ? STROBE_WALK_ROOT : STROBE_WALK_CUT) ||
                    part.count == whole.count);
    }
}

static void a_stack_that_leaves_its_window_is_cut_there(void **state)
{
    (void)state;
    walk_in_windows();
}

/* ---- other stacks ---- */

static void *expected_frames[FRAMES]; /* begins with the walking function */
static int expected_count;

static void *walk_on_thread(void *out)
{
    struct stack *s = out;
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct strobe_window window = {.low = frame, .high = (uint64_t)(uintptr_t)low + bytes};
    s->end = strobe_unwinder_table.hooked(frame, &window, s->frames + FRAMES, FRAMES, &s->count);
    reverse_frames(s);
    expected_count = unw_backtrace(expected_frames, FRAMES);
    return NULL;
}

static void a_threads_stack_ends_where_the_thread_began(void **state)
{
    (void)state;
    struct stack s;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, walk_on_thread, &s), 0);
    pthread_join(thread, NULL);
    assert_int_equal(s.end, STROBE_WALK_ROOT);
    assert_int_equal(s.count, expected_count - 1);
    for (uint32_t i = 0; i < s.count; i++)
        assert_int_equal(s.frames[i], (uint64_t)(uintptr_t)expected_frames[i + 1]);
}

/* ---- own stack ---- */

/* The walk, the registers and the handler took 2,568 bytes with gcc -O2, and 2,400 with clang. */
enum { ALT_BYTES = 1 << 16, MOST_BYTES = 2900 };

static uint8_t alt[ALT_BYTES];
static const uint8_t *handler_frame;

/* Fills the alternate stack up to the handler's own frame, which has less than 1024 bytes. The loop needs no call: the
 * function that the address sanitizer puts in place of memset has a frame of more than 1024 bytes, which the filling
 * would overwrite. */
static STROBE_READS_STACKS void walk_on_alternate_stack(int number, siginfo_t *info, void *context)
{
    static struct stack s;
    (void)number, (void)info;
    handler_frame = __builtin_frame_address(0);
    for (volatile uint8_t *at = alt; at < handler_frame - 1024; at++)
        *at = 0xa5;
    strobe_add_relaxed(&rules->generation, 1); /* no cached rules: the path that takes most stack */
    walk_interrupted(context, &s);
}

static void a_walk_takes_little_stack(void **state)
{
    (void)state;
    stack_t stack = {.ss_sp = alt, .ss_size = sizeof alt};
    struct sigaction act = {.sa_sigaction = walk_on_alternate_stack, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    sigaction(SIGUSR2, &act, NULL);
    raise(SIGUSR2);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    const uint8_t *deepest = alt;
    while (*deepest == 0xa5)
        deepest++;
    print_message("%ld bytes\n", (long)(handler_frame - deepest));
#if !ADDRESS_SANITIZER && !THREAD_SANITIZER && defined(__OPTIMIZE__)
    assert_true(handler_frame - deepest < MOST_BYTES);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef __x86_64__
        cmocka_unit_test(stacks_at_every_instruction_are_those_of_libunwind),
#endif
        cmocka_unit_test(stacks_of_handlers_go_on_where_the_signal_interrupted),
        cmocka_unit_test(a_copy_gives_the_same_stack_as_the_memory_in_place),
        cmocka_unit_test(a_stack_that_leaves_its_window_is_cut_there),
        cmocka_unit_test(a_threads_stack_ends_where_the_thread_began),
        cmocka_unit_test(a_walk_takes_little_stack),
    };
    return cmocka_run_group_tests_name("walks by call frame information", tests, start_rules, NULL);
}
