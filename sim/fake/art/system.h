/* What the fake runtime asks of the system it runs on: pthreads (pthreads.c), unless another one is put in their place
 * before JNI_CreateJavaVM, by fake_use_system, which no genuine runtime has. */
#ifndef STROBE_SIM_FAKE_ART_SYSTEM_H
#define STROBE_SIM_FAKE_ART_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the system's. Made by its init, and there until the process ends. */
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
    void (*set_name)(const char *name); /* the calling thread's, and so are the next */
    uintptr_t (*stack_low)(void);
    void (*collecting)(void); /* a collection's pause, all others suspended; NULL = takes what it
                                 takes */
};

extern const struct fake_system fake_pthreads;

/* Returns the one variable that each thread has of its own: who exchanges threads exchanges what is there. `system`
 * must stay. Before JNI_CreateJavaVM no lock was taken; those that constructors made are as pthreads leave them. */
void **fake_use_system(const struct fake_system *system) __attribute__((visibility("default")));

#endif
