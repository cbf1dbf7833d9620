#include "tests/emulate/guest/libsystem.h"

enum { THREADS = 256, DEFAULT_STACK = 64 * 1024, PAGE = 0x4000, ERROR_AGAIN = 35, ERROR_INVALID = 22 };
enum { EVENT_CREATE = 1, EVENT_START, EVENT_TERMINATE, EVENT_DESTROY };

struct emulated_thread emulated_main_thread; /* the host sets the thread register to its address */
static struct emulated_thread pool[THREADS];
static os_unfair_lock pool_lock;
static void (*destroys[SPECIFIC_KEYS])(void *);
static uint32_t keys = 1;
static pthread_introspection_hook_t introspection;

pthread_t pthread_self(void)
{
    pthread_t self;
    __asm__ volatile("mrs %0, TPIDRRO_EL0" : "=r"(self));
    return self;
}

int *__error(void)
{
    return &pthread_self()->error;
}

static void call_introspection(unsigned event, pthread_t thread)
{
    pthread_introspection_hook_t hook = __atomic_load_n(&introspection, __ATOMIC_ACQUIRE);
    if (hook)
        hook(event, thread, (void *)thread->stack_low, thread->stack_bytes);
}

/* ---- begin and end */

/* The host passes this to the first thread: its stack, the program, and the images' initializers. */
struct emulated_program {
    uint64_t stack_low, stack_bytes;
    int (*run)(void);
    uint64_t initializer_count;
    void (*initializers[])(void);
};

_Noreturn void emulated_start(const struct emulated_program *program);
_Noreturn void emulated_start(const struct emulated_program *program)
{
    struct emulated_thread *self = &emulated_main_thread;
    mach_task_self_ = (mach_port_t)ask3(CALL_TASK_SELF, 0, 0, 0);
    self->port = (uint32_t)ask3(CALL_THREAD_SELF, 0, 0, 0);
    self->id = ask3(CALL_THREAD_ID, 0, 0, 0);
    self->stack_low = program->stack_low;
    self->stack_bytes = program->stack_bytes;
    for (uint64_t i = 0; i < program->initializer_count; i++)
        program->initializers[i]();
    exit(program->run());
}

_Noreturn void pthread_exit(void *result)
{
    struct emulated_thread *self = pthread_self();
    self->result = result;
    call_introspection(EVENT_TERMINATE, self);
    for (int again = 0; again < 4; again++)
        for (uint32_t key = 1; key < keys; key++) {
            void *value = self->specific[key];
            self->specific[key] = NULL;
            if (value && destroys[key])
                destroys[key](value);
        }
    ask(CALL_THREAD_TERMINATE, self->stack_low, self->stack_bytes, self->port, (uint64_t)&self->ended, 0, 0);
    __builtin_trap();
}

static _Noreturn void thread_start(struct emulated_thread *self)
{
    self->id = ask3(CALL_THREAD_ID, 0, 0, 0);
    while (!__atomic_load_n(&self->port, __ATOMIC_ACQUIRE))
        sched_yield();
    call_introspection(EVENT_START, self);
    pthread_exit(self->entry(self->argument));
}

static struct emulated_thread *take(void)
{
    struct emulated_thread *found = NULL;
    os_unfair_lock_lock(&pool_lock);
    for (int i = 0; i < THREADS && !found; i++)
        if (!pool[i].taken || (pool[i].detached && __atomic_load_n(&pool[i].ended, __ATOMIC_ACQUIRE)))
            found = &pool[i];
    if (found)
        *found = (struct emulated_thread){.taken = 1};
    os_unfair_lock_unlock(&pool_lock);
    return found;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *argument)
{
    struct emulated_thread *t = take();
    if (!t)
        return ERROR_AGAIN;
    t->entry = entry;
    t->argument = argument;
    t->detached = attributes && attributes->detached;
    t->stack_bytes = attributes && attributes->stack_bytes ? attributes->stack_bytes : DEFAULT_STACK;
    t->stack_low = ask(CALL_MMAP, 0, t->stack_bytes, 3, 0x1002, 0, 0);
    call_introspection(EVENT_CREATE, t);
    *thread = t;
    uint64_t port =
        ask(CALL_THREAD_CREATE, (uint64_t)thread_start, (uint64_t)t, t->stack_low + t->stack_bytes, (uint64_t)t, 0, 0);
    __atomic_store_n(&t->port, (uint32_t)port, __ATOMIC_RELEASE);
    return 0;
}

int pthread_join(pthread_t thread, void **result)
{
    while (!__atomic_load_n(&thread->ended, __ATOMIC_ACQUIRE))
        ask(CALL_ULOCK_WAIT, (uint64_t)&thread->ended, 0, 0, thread->port, 0, 0);
    call_introspection(EVENT_DESTROY, thread);
    if (result)
        *result = thread->result;
    os_unfair_lock_lock(&pool_lock);
    thread->taken = 0;
    os_unfair_lock_unlock(&pool_lock);
    return 0;
}

int pthread_detach(pthread_t thread)
{
    thread->detached = 1;
    return 0;
}

/* ---- facts */

int pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

int pthread_main_np(void)
{
    return pthread_self() == &emulated_main_thread;
}

mach_port_t pthread_mach_thread_np(pthread_t thread)
{
    return thread->port;
}

pthread_t pthread_from_mach_thread_np(mach_port_t port)
{
    pthread_t found = emulated_main_thread.port == port ? &emulated_main_thread : NULL;
    os_unfair_lock_lock(&pool_lock);
    for (int i = 0; i < THREADS && !found; i++)
        if (pool[i].taken && !pool[i].ended && pool[i].port == port)
            found = &pool[i];
    os_unfair_lock_unlock(&pool_lock);
    return found;
}

int pthread_threadid_np(pthread_t thread, uint64_t *id)
{
    *id = (thread ? thread : pthread_self())->id;
    return 0;
}

void *pthread_get_stackaddr_np(pthread_t thread)
{
    return (void *)(thread->stack_low + thread->stack_bytes);
}

size_t pthread_get_stacksize_np(pthread_t thread)
{
    return thread->stack_bytes;
}

int pthread_setname_np(const char *name)
{
    ask3(CALL_THREAD_NAME, (uint64_t)name, 0, 0);
    return 0;
}

int pthread_getname_np(pthread_t thread, char *out, size_t bytes)
{
    thread_extended_info_data_t info;
    mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
    if (!bytes || thread_info(thread->port, THREAD_EXTENDED_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS)
        return ERROR_INVALID;
    size_t length = strnlen(info.pth_name, bytes - 1);
    memcpy(out, info.pth_name, length);
    out[length] = '\0';
    return 0;
}

pthread_introspection_hook_t pthread_introspection_hook_install(pthread_introspection_hook_t hook)
{
    return __atomic_exchange_n(&introspection, hook, __ATOMIC_ACQ_REL);
}

int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    uint32_t index = __atomic_fetch_add(&keys, 1, __ATOMIC_RELAXED);
    if (index >= SPECIFIC_KEYS)
        return ERROR_AGAIN;
    destroys[index] = destroy;
    *key = index;
    return 0;
}

int pthread_key_delete(pthread_key_t key)
{
    destroys[key] = NULL;
    return 0;
}

void *pthread_getspecific(pthread_key_t key)
{
    return pthread_self()->specific[key];
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
    pthread_self()->specific[key] = (void *)value;
    return 0;
}

int pthread_attr_init(pthread_attr_t *attributes)
{
    *attributes = (pthread_attr_t){0};
    return 0;
}

int pthread_attr_destroy(pthread_attr_t *attributes)
{
    (void)attributes;
    return 0;
}

int pthread_attr_setdetachstate(pthread_attr_t *attributes, int state)
{
    attributes->detached = state == 2;
    return 0;
}

int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes)
{
    attributes->stack_bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    return 0;
}

/* No signal is ever sent, no process is forked, and images stay loaded to the end. */

int pthread_sigmask(int how, const uint32_t *set, uint32_t *old)
{
    (void)how, (void)set;
    if (old)
        *old = 0;
    return 0;
}

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)prepare, (void)parent, (void)child;
    return 0;
}

int __cxa_atexit(void (*f)(void *), void *argument, void *image)
{
    (void)f, (void)argument, (void)image;
    return 0;
}

int sched_yield(void)
{
    ask3(CALL_YIELD, 0, 0, 0);
    return 0;
}
