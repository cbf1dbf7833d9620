#include "engine/backend/linux/attach/slots.h"

#include "engine/backend/common/slots/slot_table.h"
#include "engine/backend/linux/preload/hook.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#define HOOKED(name) {#name, NULL, (void *)(uintptr_t)name},

/* The functions of STROBE_LIBC_HOOKED come first, in the order of their pointers in struct strobe_real. */
static struct strobe_slot_function functions[] = {
    STROBE_LIBC_HOOKED(HOOKED) //
    HOOKED(malloc) HOOKED(free) HOOKED(calloc) HOOKED(realloc) HOOKED(reallocarray) HOOKED(posix_memalign)
        HOOKED(aligned_alloc) HOOKED(memalign) HOOKED(valloc) HOOKED(pvalloc) //
    HOOKED(clock_gettime) HOOKED(gettimeofday)                                //
    HOOKED(pthread_create) HOOKED(pthread_setname_np) HOOKED(prctl)           //
    HOOKED(sigaction) HOOKED(signal) HOOKED(sigprocmask) HOOKED(pthread_sigmask) HOOKED(sigsuspend) HOOKED(pause)
        HOOKED(sigwait) HOOKED(sigwaitinfo) HOOKED(sigtimedwait) HOOKED(signalfd) //
    HOOKED(dlopen) HOOKED(system)};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };
_Static_assert(FUNCTIONS <= STROBE_SLOT_INDEX / 2, "the index has two entries a function");

static struct strobe_slot_table slots = {.calls_only = true};

/* The dynamic linker's own calls are left alone: a hook there would run with the linker's lock held. */
#if defined(__x86_64__)
static const char linker[] = "ld-linux-x86-64.so.2";
#else
static const char linker[] = "ld-linux-aarch64.so.1";
#endif

void strobe_attach_slots_begin(void)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        functions[i].function = strobe_real_named(functions[i].name);
    strobe_slot_table_begin(&slots, functions, FUNCTIONS, linker);
}

void strobe_attach_slots_renew(void)
{
    strobe_slot_table_renew(&slots);
}

void strobe_attach_slots_end(void)
{
    strobe_slot_table_end(&slots);
}
