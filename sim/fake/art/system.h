/* The functions through which the fake runtime uses the system: pthreads (pthreads.c), unless fake_use_system replaces
 * them before JNI_CreateJavaVM. No genuine runtime has fake_use_system. */
#ifndef STROBE_SIM_FAKE_ART_SYSTEM_H
#define STROBE_SIM_FAKE_ART_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory for the system's object. Its init function makes it, and it exists until the process ends. */
struct fake_mutex {
    _Alignas(8) unsigned char space[48];
};
struct fake_cond {
    _Alignas(8) unsigned char space[56];
};

struct fake_system {
    void (*mutex_init)(struct fake_mutex *m);
    void (*mutex_lock)(struct fake_mutex *m);
    bool (*mutex_trylock)(struct fake_mutex *m);
    void (*mutex_unlock)(struct fake_mutex *m);
    void (*cond_init)(struct fake_cond *c);
    bool (*cond_wait)(struct fake_cond *c, struct fake_mutex *m, uint64_t deadline_ns); /* as fake_cond_wait */
    void (*cond_signal)(struct fake_cond *c);
    void (*cond_broadcast)(struct fake_cond *c);
    uint64_t (*now_ns)(void);
    bool (*start_thread)(void (*run)(void *), void *arg, size_t stack_bytes);
    uint32_t (*tid)(void);
    void (*yield)(void);
    void (*set_name)(const char *name); /* for the calling thread, like the next ones */
    uintptr_t (*stack_low)(void);
    void (*collecting)(void); /* pause of a collection, all others suspended; NULL = no extra pause */
};

extern const struct fake_system fake_pthreads;

/* Returns the address of the one thread-local variable. A system that switches threads must switch its content.
 * `system` must stay valid. Before JNI_CreateJavaVM no lock was taken; locks made by constructors are in the state that
 * pthreads give them. */
void **fake_use_system(const struct fake_system *system) __attribute__((visibility("default")));

/* Returns how often the calling thread has waited for a monitor, in a monitor, or parked. Calls that found the monitor
 * free or a permit do not count. */
uint64_t fake_own_waits(void) __attribute__((visibility("default")));

#endif
