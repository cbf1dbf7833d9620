/* Functions of Darwin's pthreads beyond POSIX. */
#include "sim/fake/mach/kernel.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_introspection_hook_t _Atomic hook;

pthread_introspection_hook_t pthread_introspection_hook_install(pthread_introspection_hook_t next)
{
    return atomic_exchange(&hook, next);
}

int pthread_setname_self_np(const char *name)
{
    if (strlen(name) >= MAXTHREADNAMESIZE)
        return ERANGE;
    fake_on->set_name(name);
    return 0;
}

mach_port_t pthread_mach_thread_np(pthread_t thread)
{
    static struct fake_call call = {.name = "pthread_mach_thread_np"};
    mach_port_t port = MACH_PORT_NULL;
    if (fake_kernel_enter(&call) == KERN_SUCCESS) {
        uint64_t id = fake_on->of_pthread(thread);
        port = id ? fake_thread_name_of(id) : MACH_PORT_NULL;
    }
    fake_on->leave();
    return port;
}

int pthread_threadid_np(pthread_t thread, uint64_t *thread_id)
{
    static struct fake_call call = {.name = "pthread_threadid_np"};
    if (!thread_id)
        return EINVAL;
    kern_return_t failed = fake_kernel_enter(&call);
    uint64_t id = failed ? 0 : thread ? fake_on->of_pthread(thread) : fake_on->self();
    fake_on->leave();
    if (id)
        *thread_id = id;
    return id ? 0 : ESRCH;
}

static void own_stack_bounds(pthread_t thread, void **low, size_t *bytes)
{
    pthread_attr_t a;
    *low = NULL;
    *bytes = 0;
    if (pthread_getattr_np(thread, &a) == 0) {
        pthread_attr_getstack(&a, low, bytes);
        pthread_attr_destroy(&a);
    }
}

void *pthread_get_stackaddr_np(pthread_t thread)
{
    void *low;
    size_t bytes;
    own_stack_bounds(thread, &low, &bytes);
    return (char *)low + bytes;
}

size_t pthread_get_stacksize_np(pthread_t thread)
{
    void *low;
    size_t bytes;
    own_stack_bounds(thread, &low, &bytes);
    return bytes;
}

int pthread_main_np(void)
{
    return getpid() == (pid_t)syscall(SYS_gettid);
}

/* ---- threads with an introspection hook */

struct start {
    void *(*run)(void *);
    void *arg;
};

static void call_introspection_hook(unsigned event)
{
    pthread_introspection_hook_t h = atomic_load(&hook);
    void *low;
    size_t bytes;
    own_stack_bounds(pthread_self(), &low, &bytes);
    if (h)
        h(event, pthread_self(), low, bytes);
}

/* Also called when the thread ends by pthread_exit or is cancelled. */
static void call_hook_at_end(void *nothing)
{
    (void)nothing;
    call_introspection_hook(PTHREAD_INTROSPECTION_THREAD_TERMINATE);
}

static void *run_hooked_thread(void *p)
{
    struct start s = *(struct start *)p;
    void *answer;
    free(p);
    pthread_cleanup_push(call_hook_at_end, NULL);
    call_introspection_hook(PTHREAD_INTROSPECTION_THREAD_START);
    answer = fake_rooted(s.run, s.arg);
    pthread_cleanup_pop(1);
    return answer;
}

int fake_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg)
{
    struct start *s = malloc(sizeof *s);
    if (!s)
        return EAGAIN;
    *s = (struct start){run, arg};
    int failed = pthread_create(thread, attributes, run_hooked_thread, s);
    if (failed)
        free(s);
    return failed;
}
