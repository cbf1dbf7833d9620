#include "engine/backend/linux/preload/real.h"

#include "engine/base/atomic.h"

#include <dlfcn.h>
#include <string.h>

struct strobe_real strobe_real_table;

#define ENTRY(name)                                                                                                    \
    {                                                                                                                  \
#name, offsetof(struct strobe_real, name)                                                                      \
    }

#define LIBC_ENTRY(name) ENTRY(name),

static const struct {
    const char *name;
    size_t offset;
} entries[] = {
    STROBE_LIBC_HOOKED(LIBC_ENTRY) STROBE_LIBC_TRIES(LIBC_ENTRY) //
    ENTRY(malloc),
    ENTRY(free),
    ENTRY(calloc),
    ENTRY(realloc),
    ENTRY(reallocarray),
    ENTRY(posix_memalign),
    ENTRY(aligned_alloc),
    ENTRY(memalign),
    ENTRY(valloc),
    ENTRY(pvalloc),
    ENTRY(clock_gettime),
    ENTRY(gettimeofday),
    ENTRY(pthread_create),
    ENTRY(pthread_setname_np),
    ENTRY(prctl),
    ENTRY(sigaction),
    {"__sigaction", offsetof(struct strobe_real, libc_sigaction)},
    ENTRY(signal),
    ENTRY(sigprocmask),
    ENTRY(pthread_sigmask),
    ENTRY(sigsuspend),
    ENTRY(pause),
    ENTRY(sigwait),
    ENTRY(sigwaitinfo),
    ENTRY(sigtimedwait),
    ENTRY(signalfd),
    ENTRY(dlopen),
    ENTRY(dlclose),
    ENTRY(execve),
    ENTRY(execvpe),
    ENTRY(fexecve),
    ENTRY(_exit),
    ENTRY(posix_spawn),
    ENTRY(posix_spawnp),
    ENTRY(system),
    ENTRY(popen),
};

static void *looked_in = RTLD_NEXT;

void strobe_real_is_attached(void)
{
    looked_in = RTLD_DEFAULT;
}

void *strobe_real_named(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *f;
        memcpy(&f, (const char *)&strobe_real_table + entries[i].offset, sizeof f);
        if (strcmp(entries[i].name, name) == 0)
            return f;
    }
    return NULL;
}

/* The pointer of a function that this C library lacks stays NULL. Its hook is then never called. */
void strobe_real_find(void)
{
    static strobe_a32 finding;
    uint32_t idle = 0;
    if (!strobe_cas_acq_rel(&finding, &idle, 1))
        return;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *f = dlsym(looked_in, entries[i].name);
        memcpy((char *)&strobe_real_table + entries[i].offset, &f, sizeof f);
    }
    strobe_real_table.found = true;
}
