/* A thread and the thread list, for thread.c, list.c, stack.c and runtime.c.
 *
 * A thread is either RUNNABLE, in which it may access objects, or counts as suspended. Suspension uses a count. The
 * suspending thread raises the count and sets the SUSPEND flag, which is in the same word as the state, and waits until
 * the state is not RUNNABLE. A thread with the flag set does not become RUNNABLE. A RUNNABLE thread checks the flags at
 * each of its suspension points. The runtime does the same.
 *
 * One lock protects the list, the ids, the counts and the checkpoints. States change without it, by
 * compare-and-swap. */
#ifndef STROBE_SIM_FAKE_ART_THREAD_H
#define STROBE_SIM_FAKE_ART_THREAD_H

#include "sim/fake/art/fake.h"

#include <stdatomic.h>

enum { FAKE_THREAD_IDS = 65535, FAKE_THREAD_NAME_BYTES = 128 };
enum fake_thread_flag { FAKE_FLAG_SUSPEND = 1, FAKE_FLAG_CHECKPOINT = 2 };

/* A node as std::list has it. */
struct fake_list_node {
    struct fake_list_node *previous, *next;
    struct fake_thread *thread;
};

/* The object of Runtime's thread_list_. It begins like the runtime's. */
struct fake_thread_list {
    uint64_t allocated_ids[(FAKE_THREAD_IDS + 63) / 64]; /* bit i: id i + 1 is taken */
    struct fake_list_node end; /* next: the first thread; the word of the thread holds the number of threads */
    struct fake_mutex lock;
    struct fake_cond stopped, resumed, changed;
    bool all_suspended;            /* or about to be: one thread at a time */
    struct fake_thread *suspender; /* the thread that suspended all; NULL: a thread that is not attached */
};
extern struct fake_thread_list fake_list;

/* Variable of the calling thread. Builds for systems other than Android have it as an exported variable. */
extern __thread struct fake_thread *fake_thread_self __asm__("_ZN3art6Thread9self_tls_E")
    __attribute__((visibility("default"), tls_model("global-dynamic")));

struct fake_checkpoint {
    struct fake_checkpoint *next;
    struct fake_closure *closure;
};

/* art::Closure: two destructors, then Run(Thread *). */
struct fake_closure {
    void (*const *vtable)(void);
};
void fake_closure_run(struct fake_closure *c, struct fake_thread *t);

/* The fake's data, after the level's Thread. */
struct fake_own {
    struct fake_list_node node;
    struct fake_parts parts;
    struct fake_frame *top;
    struct fake_checkpoint *checkpoints; /* in order of request */
    _Atomic bool interrupted;
    struct fake_mutex park_lock;
    struct fake_cond parked;
    bool permit, is_daemon;
    uint64_t waits; /* see fake_own_waits */
    char name[FAKE_THREAD_NAME_BYTES];
};

static inline struct fake_own *fake_own(const struct fake_thread *t)
{
    return (struct fake_own *)((uintptr_t)t + fake_layout->thread_bytes);
}

static inline _Atomic uint32_t *fake_state_and_flags(const struct fake_thread *t)
{
    return (_Atomic uint32_t *)((uintptr_t)t + fake_layout->thread_state_flags);
}

/* The runtime's card table has a biased address, whose lowest byte is the value that marks a card. Each thread has a
 * copy. 0: no runtime yet. */
enum { FAKE_CARD_DIRTY = 0x70 };
extern uintptr_t fake_card_table_biased_begin;

/* Returns true when the thread is in a state that counts as suspended. Any thread. */
bool fake_is_stopped(const struct fake_thread *t);

/* Sets a flag of a thread that is RUNNABLE; returns false when it is not. Any thread. */
bool fake_flag_if_runnable(struct fake_thread *t, enum fake_thread_flag flag);

/* Changes the suspend count, and the flag with it. With fake_list.lock held. */
void fake_suspend_count_add(struct fake_thread *t, int32_t n);
int32_t fake_suspend_count(const struct fake_thread *t);

/* Waits while `self` is to be suspended, before it suspends another thread. Otherwise two threads would wait for each
 * other. NULL: not attached. */
void fake_wait_to_suspend(const struct fake_thread *self);
struct fake_thread *fake_list_by_id(uint32_t id); /* NULL = none */

#define FAKE_FOR_EACH(t)                                                                                               \
    for (struct fake_list_node *node_ = fake_list.end.next; node_ != &fake_list.end; node_ = node_->next)              \
        for (struct fake_thread *t = node_->thread; t; t = NULL)

/* Puts a thread on the list and gives it its id; the thread calls it itself. The other function removes it, once no
 * thread has it suspended. */
void fake_list_register(struct fake_thread *self);
void fake_list_unregister(struct fake_thread *self);

/* Called when a thread becomes the runtime's: Thread::Init, through which tracers find the list. */
bool fake_thread_init(struct fake_thread *t, struct fake_thread_list *list, struct strobe_jvm *vm,
                      struct strobe_jni *env)
    FAKE_EXPORT("_ZN3art6Thread4InitEPNS_10ThreadListEPNS_9JavaVMExtEPNS_9JNIEnvExtE");

#endif
