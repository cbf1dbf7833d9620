/* libfakemach-guard.so: comes before libfakemach.so and the C library, by the order of linking or by LD_PRELOAD. It
 * ends the process when a thread that holds another thread suspended makes a call that could wait for the suspended
 * thread:
 *
 *   window: malloc called while thread 16391 stands
 *   (stack)
 *
 * FAKE_MACH_GUARD=off in the environment allows all calls, so that their effect can be observed. Calls inside one
 * library that do not use public names are not seen. */
#include "sim/fake/mach/guard/guard.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 128, FRAMES = 64 };

static void *_Atomic real[ROOM];
static _Atomic bool on;
static _Thread_local bool reporting;

/* Other names of the C library's heap functions, because looking up the usual names allocates memory. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void __libc_free(void *p);

static void *const heap[] = {(void *)__libc_malloc, (void *)__libc_calloc, (void *)__libc_realloc, (void *)__libc_free};

static void *guard_find_symbol(void *where, const char *name)
{
    static void *(*_Atomic look_up)(void *, const char *);
    void *(*look)(void *, const char *) = look_up;
    if (!look)
        look_up = look = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return look ? look(where, name) : NULL;
}

static void guard_print(const char *text)
{
    if (write(2, text, strlen(text)) < 0)
        _exit(126);
}

static void guard_print_number(uint64_t n)
{
    char digits[24], *at = digits + sizeof digits;
    *--at = '\0';
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    guard_print(at);
}

_Noreturn static void caught(const char *name)
{
    void *frames[FRAMES];
    reporting = true;
    guard_print("window: ");
    guard_print(name);
    guard_print(" called while thread ");
    guard_print_number(fake_mach_held());
    guard_print(" stands\n");
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), 2);
    abort();
}

void *guard_pass(uint32_t index)
{
    const char *name = guard_names[index];
    if (atomic_load_explicit(&on, memory_order_relaxed) && !reporting && fake_mach_holds())
        caught(name);
    void *to = index < sizeof heap / sizeof *heap ? heap[index] : atomic_load(&real[index]);
    if (!to)
        atomic_store(&real[index], to = guard_find_symbol(RTLD_NEXT, name));
    if (to)
        return to;
    guard_print(name);
    guard_print(": not on this machine\n");
    abort();
}

/* A sanitizer has its own entry points before these, and calls these before it is initialized. The first backtrace of a
 * process loads a library. */
__attribute__((constructor)) static void find_real_functions(void)
{
    void *frame;
    const char *wish = getenv("FAKE_MACH_GUARD");
    bool sanitized = guard_find_symbol(RTLD_DEFAULT, "__asan_init") || guard_find_symbol(RTLD_DEFAULT, "__tsan_init");
    if (guard_count > ROOM)
        abort();
    for (uint32_t i = 0; i < guard_count; i++)
        atomic_store(&real[i], guard_find_symbol(RTLD_NEXT, guard_names[i]));
    backtrace(&frame, 1);
    atomic_store(&on, fake_mach_holds && fake_mach_held && !sanitized && !(wish && strcmp(wish, "off") == 0));
}
