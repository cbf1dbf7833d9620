/* Whole stacks on 32-bit ARM: native frames outside of a managed frame, the managed frame, native frames inside. The
 * runtime is a stand-in (invoke.S), loaded by dlopen; the managed frame is code without an image. The app notes its
 * true stack (joined.h). The stack is taken at an instruction that a signal interrupts, and from a hook.
 *
 *   joined LIBRARY     LIBRARY: the stand-in's, whose name begins with libart
 *
 * Prints a line for each check, and `N passed, N failed` last. */
#include "tests/armv7/joined.h"

#include "engine/backend/art/frames.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { METHOD = 0x4d, LEAST_DEPTH = 3, FRAMES = 64 };

static int (*invoke)(void *code, void (*inner)(void), void *place);
static uintptr_t *invoke_returns_to;
static void *managed;
static uintptr_t managed_at; /* the managed frame's stack pointer */
static unsigned inner_from;  /* depth of the app's stack where the managed frame begins */
static struct strobe_art_frames frames;
static strobe_a64 gaps;
static struct strobe_art_walk walk;
static uint64_t stack_high, root;
static int passed, failed;

/* ---- what the runtime finds */

enum strobe_walk_end strobe_art_walk_places(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                            uint64_t *frames_end, uint64_t *places_end, uint32_t max, uint32_t *count)
{
    (void)w, (void)a, (void)thread, (void)max;
    frames_end[-1] = METHOD;
    places_end[-1] = managed_at | STROBE_ART_PLACE_ENDS;
    *count = 1;
    return STROBE_WALK_ROOT;
}

enum strobe_walk_end strobe_art_walk(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread,
                                     uint64_t *frames_end, uint32_t *dex_pcs_end, uint32_t max, uint32_t *count)
{
    (void)w, (void)a, (void)thread, (void)frames_end, (void)dex_pcs_end, (void)max;
    *count = 0;
    return STROBE_WALK_DOUBTFUL;
}

static enum strobe_status read_own(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    (void)ctx;
    memcpy(out, (const void *)(uintptr_t)address, bytes);
    *copied = bytes;
    return STROBE_OK;
}

static const struct strobe_host host = {.read = read_own};

/* ---- comparing */

/* Compares the frames, innermost first, with the app's stack. `skip`: innermost frames that the app does not note. */
static void compare(const char *what, const uint64_t *end, uint32_t count, uint32_t skip, enum strobe_walk_end how)
{
    uint64_t expected[FRAMES];
    uint32_t n = 0;
    for (unsigned i = app_depth; i > inner_from; i--)
        expected[n++] = app_back[i - 1] & ~(uintptr_t)1;
    expected[n++] = METHOD;
    expected[n++] = *invoke_returns_to & ~(uintptr_t)1;
    for (unsigned i = inner_from; i > 0; i--)
        expected[n++] = app_back[i - 1] & ~(uintptr_t)1;
    bool same = how == STROBE_WALK_ROOT && count == skip + n && strobe_load_relaxed(&gaps) == 0;
    for (uint32_t i = 0; same && i < n; i++)
        same = end[-1 - (ptrdiff_t)(skip + i)] == expected[i];
    printf("%s %s\n", same ? "ok  " : "FAIL", what);
    for (uint32_t i = 0; !same && i < count; i++)
        printf("  found %#llx\n", (unsigned long long)end[-1 - (ptrdiff_t)i]);
    for (uint32_t i = 0; !same && i < n; i++)
        printf("  is    %#llx\n", (unsigned long long)expected[i]);
    passed += same;
    failed += !same;
}

/* Takes the stack as a hook does: with its caller, the signal's return, and the instruction that was interrupted. */
__attribute__((noinline)) static void take_in_handler(void)
{
    uint64_t found[FRAMES], frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    uint32_t count = 0;
    struct strobe_window stack = {frame, stack_high, 0, root};
    enum strobe_walk_end how =
        strobe_art_walk_whole(&frames, &walk, NULL, NULL, frame, &stack, found + FRAMES, FRAMES, &count);
    compare("a stack of a signal handler", found + FRAMES, count, 3, how);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    struct sigcontext *c = (struct sigcontext *)&u->uc_mcontext;
    const unsigned long core[16] = {c->arm_r0, c->arm_r1, c->arm_r2, c->arm_r3, c->arm_r4,  c->arm_r5,
                                    c->arm_r6, c->arm_r7, c->arm_r8, c->arm_r9, c->arm_r10, c->arm_fp,
                                    c->arm_ip, c->arm_sp, c->arm_lr, c->arm_pc};
    struct strobe_regs regs = {.pc = c->arm_pc, .sp = c->arm_sp, .fp = c->arm_fp, .lr = c->arm_lr};
    (void)number, (void)info;
    for (int i = 0; i < 16; i++)
        regs.general[i] = core[i];
    regs.general[16] = c->arm_cpsr;
    uint64_t found[FRAMES];
    uint32_t count = 0;
    struct strobe_window stack = {regs.sp, stack_high, 0, root};
    enum strobe_walk_end managed_end = strobe_art_walk_managed(&walk, NULL, NULL);
    enum strobe_walk_end native = strobe_art_walk_native(&frames, &host, &walk, &regs, &stack);
    enum strobe_walk_end how = strobe_art_merge_frames(&walk, managed_end, native, found + FRAMES, FRAMES, &count);
    compare("a stack at an instruction", found + FRAMES, count, 1, how);
    take_in_handler();
    c->arm_pc += 2;
}

__attribute__((noinline)) static int hook(void)
{
    uint64_t found[FRAMES], frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    uint32_t count = 0;
    struct strobe_window stack = {frame, stack_high, 0, root};
    app_back[app_depth++] = (uintptr_t)__builtin_return_address(0);
    enum strobe_walk_end how =
        strobe_art_walk_whole(&frames, &walk, NULL, NULL, frame, &stack, found + FRAMES, FRAMES, &count);
    compare("a stack of a hook", found + FRAMES, count, 0, how);
    app_depth--;
    return 5;
}

/* ---- the runtime's part */

static int (*leaf)(void);

static void inner(void)
{
    app_inner(leaf);
}

static int enter(void)
{
    app_back[app_depth++] = (uintptr_t)__builtin_return_address(0);
    inner_from = app_depth;
    int result = invoke(managed, inner, &managed_at);
    app_depth--;
    return result;
}

static void *make_managed_code(void)
{
    static const uint32_t code[] = {
        0xe92d4010, 0xe24dd008, /* push {r4, lr}; sub sp, sp, #8 */
        0xe581d000, 0xe12fff30, /* str sp, [r1]; blx r0 */
        0xe28dd008, 0xe8bd8010, /* add sp, sp, #8; pop {r4, pc} */
    };
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    __builtin___clear_cache(page, (char *)page + sizeof code);
    return page;
}

/* The outermost frames are the C library's, which are left out. */
static void *run_app(void *unused)
{
    char here;
    root = (uint64_t)(uintptr_t)&here & ~UINT64_C(7);
    stack_high = root + 1024;
    for (unsigned depth = LEAST_DEPTH; depth < LEAST_DEPTH + 3; depth++) {
        leaf = app_trap;
        app_outer(depth, enter);
        leaf = hook;
        app_outer(depth, enter);
    }
    return unused;
}

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    pthread_t thread;
    if (!library) {
        fprintf(stderr, "joined: needs its library: %s\n", argc == 2 ? dlerror() : "no argument");
        return 2;
    }
    invoke = (int (*)(void *, void (*)(void), void *))dlsym(library, "armv7_invoke");
    invoke_returns_to = dlsym(library, "armv7_returns_to");
    managed = make_managed_code();
    frames.gaps = &gaps;
    frames.on = strobe_art_frames_update(&frames, &host, (uint64_t)(uintptr_t)invoke);
    sigaction(SIGILL, &action, NULL);
    if (pthread_create(&thread, NULL, run_app, NULL) || pthread_join(thread, NULL))
        return 2;
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
