#include "sim/kernel/fiber.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef VALGRIND_STACK_REGISTER
#define VALGRIND_STACK_REGISTER(low, high) 0
#define VALGRIND_STACK_DEREGISTER(id)      (void)(id)
#endif

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define CHECKS_ADDRESSES
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define CHECKS_RACES
#include <sanitizer/tsan_interface.h>
#endif

#ifdef CHECKS_ADDRESSES
enum { STACK_FACTOR = 4 }; /* sanitizers make frames several times as large */
#else
enum { STACK_FACTOR = 1 };
#endif
enum { GUARD_BYTES = 64 << 10, KEPT_MAX = 256 }; /* a guard page of the largest page size */

/* ---- stacks: at the high end of each the note of where it is */

struct sim_stack {
    struct sim_stack *next;
    uint8_t *low; /* above the guard */
    unsigned checker_id;
};

static struct sim_stack *kept;
static unsigned kept_count;
static size_t stack_bytes = (size_t)STACK_FACTOR * SIM_FIBER_STACK_BYTES;

void sim_fiber_stack_bytes(size_t bytes)
{
    assert(!kept);
    stack_bytes = STACK_FACTOR * bytes;
}

static struct sim_stack *stack_map(void)
{
    uint8_t *memory =
        mmap(NULL, GUARD_BYTES + stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    uint8_t *low = memory + GUARD_BYTES, *high = low + stack_bytes;
    if (mprotect(low, stack_bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(memory, GUARD_BYTES + stack_bytes);
        return NULL;
    }
    struct sim_stack *s = (struct sim_stack *)(void *)high - 1;
    s->low = low;
    s->checker_id = VALGRIND_STACK_REGISTER(low, high);
    return s;
}

static struct sim_stack *stack_take(void)
{
    struct sim_stack *s = kept;
    if (!s)
        return stack_map();
    kept = s->next;
    kept_count--;
#ifdef CHECKS_ADDRESSES
    ASAN_UNPOISON_MEMORY_REGION(s->low, stack_bytes);
#endif
    return s;
}

static void stack_give(struct sim_stack *s)
{
    if (kept_count < KEPT_MAX) {
        s->next = kept;
        kept = s;
        kept_count++;
        return;
    }
    VALGRIND_STACK_DEREGISTER(s->checker_id);
#ifdef CHECKS_ADDRESSES
    ASAN_UNPOISON_MEMORY_REGION(s->low, stack_bytes);
#endif
    munmap(s->low - GUARD_BYTES, GUARD_BYTES + stack_bytes);
}

/* ---- thread-local bytes, in pieces that one move copies */

static struct piece {
    void *address;
    bool word;
} pieces[SIM_FIBER_LOCAL_BYTES];
static struct local {
    const void *address;
    size_t bytes;
} locals[SIM_FIBER_LOCAL_BYTES];
static unsigned piece_count, local_count;

void sim_fiber_local(void *address, size_t bytes)
{
    size_t taken = 0;
    for (unsigned i = 0; i < local_count; i++) {
        if (locals[i].address == address)
            return;
        taken += locals[i].bytes;
    }
    assert(bytes > 0 && taken + bytes <= SIM_FIBER_LOCAL_BYTES);
    locals[local_count++] = (struct local){address, bytes};
    for (size_t at = 0; at < bytes;) {
        bool word = bytes - at >= sizeof(uint64_t);
        pieces[piece_count++] = (struct piece){(uint8_t *)address + at, word};
        at += word ? sizeof(uint64_t) : 1;
    }
}

void sim_fiber_swap_locals(struct sim_fiber *from, const struct sim_fiber *to)
{
    size_t at = 0;
    for (unsigned i = 0; i < piece_count; i++) {
        void *address = pieces[i].address;
        if (pieces[i].word) {
            memcpy(from->locals + at, address, sizeof(uint64_t));
            memcpy(address, to->locals + at, sizeof(uint64_t));
            at += sizeof(uint64_t);
        } else {
            from->locals[at] = *(uint8_t *)address;
            *(uint8_t *)address = to->locals[at];
            at++;
        }
    }
}

/* ---- the switch */

static struct sim_fiber *left, *entered; /* set by the last switch */

/* Runs first on the stack that was switched to. */
static void fiber_finish_switch(struct sim_fiber *here)
{
#ifdef CHECKS_ADDRESSES
    const void *low;
    size_t bytes;
    __sanitizer_finish_switch_fiber(here->shadow, &low, &bytes);
    left->low = low;
    left->bytes = bytes;
#endif
    (void)here;
}

static void fiber_entry(void *fiber)
{
    struct sim_fiber *f = fiber;
    fiber_finish_switch(f);
    f->entry(f->arg);
    abort();
}

#ifdef SIM_FIBER_UCONTEXT
static void begin_entered(void)
{
    fiber_entry(entered);
}

static void lay_first_frame(struct sim_fiber *f, uint8_t *high)
{
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack->low;
    f->context.uc_stack.ss_size = (size_t)(high - f->stack->low);
    f->context.uc_link = NULL;
    makecontext(&f->context, begin_entered, 0);
}

static void swap(struct sim_fiber *from, struct sim_fiber *to)
{
    swapcontext(&from->context, &to->context);
}
#else
void sim_fiber_swap(void **from_sp, void *to_sp);
void sim_fiber_begin(void);

/* Prepares the stack that sim_fiber_swap finds at the first switch to a fiber. */
static void lay_first_frame(struct sim_fiber *f, uint8_t *high)
{
#ifdef __x86_64__
    enum { MXCSR = 0x1f80, FCW = 0x37f }; /* the ABI's values at the start of a process */
    struct {
        uint32_t mxcsr, fcw;
        void *r15, *r14;
        void (*r13)(void *);
        void *r12, *rbx, *rbp;
        void (*rip)(void);
    } frame = {.mxcsr = MXCSR, .fcw = FCW, .r13 = fiber_entry, .r12 = f, .rip = sim_fiber_begin};
#else
    struct {
        void *x19;
        void (*x20)(void *);
        void *x21_28[8], *x29;
        void (*x30)(void);
        uint64_t d8_15[8], fpcr, unused;
    } frame = {.x19 = f, .x20 = fiber_entry, .x30 = sim_fiber_begin};
#endif
    high -= 16; /* a frame record of zeros ends the walk of frame pointers */
    memset(high, 0, 16);
    f->sp = high - sizeof frame;
    memcpy(f->sp, &frame, sizeof frame);
}

static void swap(struct sim_fiber *from, struct sim_fiber *to)
{
    sim_fiber_swap(&from->sp, to->sp);
}
#endif

void sim_fiber_adopt(struct sim_fiber *f)
{
    memset(f, 0, sizeof *f);
#ifdef CHECKS_RACES
    f->watcher = __tsan_get_current_fiber();
#endif
}

bool sim_fiber_open(struct sim_fiber *f, void (*entry)(void *arg), void *arg)
{
    memset(f, 0, sizeof *f);
    f->stack = stack_take();
    if (!f->stack)
        return false;
    f->entry = entry;
    f->arg = arg;
    f->low = f->stack->low;
    f->bytes = stack_bytes;
#ifdef CHECKS_RACES
    f->watcher = __tsan_create_fiber(0);
#endif
    lay_first_frame(f, (uint8_t *)((uintptr_t)f->stack & ~(uintptr_t)15));
    return true;
}

void sim_fiber_close(struct sim_fiber *f)
{
#ifdef CHECKS_RACES
    __tsan_destroy_fiber(f->watcher);
#endif
    stack_give(f->stack);
    f->stack = NULL;
}

void sim_fiber_switch(struct sim_fiber *from, struct sim_fiber *to)
{
    left = from;
    entered = to;
    sim_fiber_swap_locals(from, to);
#ifdef CHECKS_ADDRESSES
    __sanitizer_start_switch_fiber(from->ending ? NULL : &from->shadow, to->low, to->bytes);
#endif
#ifdef CHECKS_RACES
    __tsan_switch_to_fiber(to->watcher, 0);
#endif
    swap(from, to);
    fiber_finish_switch(from);
}

/* ---- where a fiber was left: words of what the switch has saved (fiber_*.S) */

bool sim_fiber_place(const struct sim_fiber *f, struct sim_fiber_place *out)
{
#if defined(SIM_FIBER_UCONTEXT)
    (void)f, (void)out;
    return false;
#else
#if defined(__aarch64__)
    enum { FP = 10, PC = 11, WORDS = 22 };
#else
    enum { FP = 6, PC = 7, WORDS = 8 };
#endif
    const uint64_t *saved = f->sp;
    *out = (struct sim_fiber_place){saved[PC], (uint64_t)(uintptr_t)(saved + WORDS), saved[FP]};
    return true;
#endif
}
