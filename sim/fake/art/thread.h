/* A thread and the list of all, as thread.c, list.c, stack.c and runtime.c share them.
 *
 * A thread is RUNNABLE, while it may touch objects, or counts as suspended. It is suspended by a count: who raises it
 * sets the SUSPEND flag beside the state, in one word with it, and waits until the state is another than RUNNABLE; who
 * has the flag set does not become RUNNABLE. A RUNNABLE thread looks at the flags at each of its suspension points. So
 * does the runtime.
 *
 * One lock guards the list, the ids, the counts and the checkpoints. States change without it, by compare-and-swap. */
#ifndef STROBE_SIM_FAKE_ART_THREAD_H
#define STROBE_SIM_FAKE_ART_THREAD_H

#include "sim/fake/art/fake.h"

#include <stdatomic.h>

enum { FAKE_THREAD_IDS = 65535, FAKE_THREAD_NAME_BYTES = 128 };
enum fake_thread_flag { FAKE_FLAG_SUSPEND = 1, FAKE_FLAG_CHECKPOINT = 2 };

/* As a std::list has them. */
struct fake_list_node {
    struct fake_list_node *previous, *next;
    struct fake_thread *thread;
};

/* What Runtime's thread_list_ points to: it begins as the runtime's does. */
struct fake_thread_list {
    uint64_t allocated_ids[(FAKE_THREAD_IDS + 63) / 64]; /* bit i: id i + 1 is taken */
    struct fake_list_node end; /* next: the first thread; in place of a thread the number of them */
    struct fake_mutex lock;
    struct fake_cond stopped, resumed, changed;
    bool all_suspended;            /* or about to be: one at a time */
    struct fake_thread *suspender; /* who did; NULL: one that is not attached */
};
extern struct fake_thread_list fake_list;

/* The calling thread's own. Builds for other systems than Android have it as a variable, which then is exported. */
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

/* Ours, behind the level's Thread. */
struct fake_own {
    struct fake_list_node node;
    struct fake_parts parts;
    struct fake_frame *top;
    struct fake_checkpoint *checkpoints; /* in order of request */
    _Atomic bool interrupted;
    struct fake_mutex park_lock;
    struct fake_cond parked;
    bool permit, is_daemon;
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

/* The runtime's card table is reached by a biased address: its lowest byte is what marks a card. Each thread has a
 * copy. 0: no runtime yet. */
enum { FAKE_CARD_DIRTY = 0x70 };
extern uintptr_t fake_card_table_biased_begin;

/* True when it has reached a state that counts as suspended. Any. */
bool fake_is_stopped(const struct fake_thread *t);

/* Raises a flag of a thread that is RUNNABLE; false: it is not. Any. */
bool fake_flag_if_runnable(struct fake_thread *t, enum fake_thread_flag flag);

/* With fake_list.lock held. The count: one more or less, and the flag with it. */
void fake_suspend_count_add(struct fake_thread *t, int32_t n);
int32_t fake_suspend_count(const struct fake_thread *t);

/* Who is to be suspended does not suspend, but waits here first: two would wait for each other. NULL: not attached. */
void fake_wait_to_suspend(const struct fake_thread *self);
struct fake_thread *fake_list_by_id(uint32_t id); /* NULL = none */

#define FAKE_FOR_EACH(t)                                                                                               \
    for (struct fake_list_node *node_ = fake_list.end.next; node_ != &fake_list.end; node_ = node_->next)              \
        for (struct fake_thread *t = node_->thread; t; t = NULL)

/* Puts a thread on the list and gives it its id; by itself. Takes it off, once nobody has it suspended. */
void fake_list_register(struct fake_thread *self);
void fake_list_unregister(struct fake_thread *self);

/* Called as each thread becomes the runtime's: Thread::Init, through which tracers learn the list. */
bool fake_thread_init(struct fake_thread *t, struct fake_thread_list *list, struct strobe_jvm *vm,
                      struct strobe_jni *env)
    FAKE_EXPORT("_ZN3art6Thread4InitEPNS_10ThreadListEPNS_9JavaVMExtEPNS_9JNIEnvExtE");

#endif
