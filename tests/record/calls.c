/* A program built with -finstrument-functions that counts its own calls: recursion, threads, jumps out of functions and
 * out of signal handlers, handlers on a separate stack, cancellation, destructors of threads, a library that is loaded
 * and unloaded, a child. Prints lines "NAME COUNT" at the end.
 *
 *   calls LIBRARY ROUNDS [few]     LIBRARY: instrumented, exports in_library and inner_in_library_calls. ROUNDS: number
 *                                  of jumps out of handlers, some ms each; for-ever: makes calls until it is killed.
 *                                  few: an eighteenth of the recursive calls */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SILENT        __attribute__((no_instrument_function))
#define COUNTED(name) static unsigned long name##_calls
#define COUNT(name)   __atomic_fetch_add(&name##_calls, 1, __ATOMIC_RELAXED)

COUNTED(fib);
COUNTED(leaf);
COUNTED(deep);
COUNTED(jumper);
COUNTED(on_timer);
COUNTED(on_timer_leaf);
COUNTED(on_jump);
COUNTED(spin);
COUNTED(worker);
COUNTED(endless);
COUNTED(at_thread_end);
COUNTED(in_child);

static jmp_buf back;
static __thread sigjmp_buf out_of_handler;
static __thread volatile sig_atomic_t may_jump;
static int less; /* by how much each fib is smaller */

static int leaf(int n)
{
    COUNT(leaf);
    return n + 1;
}

static int fib(int n)
{
    COUNT(fib);
    return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2);
}

static int deep(int n)
{
    COUNT(deep);
    return n ? deep(n - 1) + 1 : 0;
}

static void jumper(int n)
{
    COUNT(jumper);
    if (!n)
        longjmp(back, 1);
    jumper(n - 1);
}

static void on_timer_leaf(void)
{
    COUNT(on_timer_leaf);
}

static void on_timer(int number)
{
    (void)number;
    COUNT(on_timer);
    on_timer_leaf();
}

static void on_jump(int number)
{
    (void)number;
    COUNT(on_jump);
    if (may_jump)
        siglongjmp(out_of_handler, 1);
}

/* Has no count, because a jump may come between a function's entry and its count. */
static void spun(void) {}

static void spin(int n)
{
    COUNT(spin);
    for (int i = 0; i < n; i++)
        spun();
}

static pthread_key_t key;

static void at_thread_end(void *round)
{
    COUNT(at_thread_end);
    if ((long)round < 3)
        pthread_setspecific(key, (void *)((long)round + 1));
}

static void *worker(void *unused)
{
    COUNT(worker);
    pthread_setspecific(key, (void *)1);
    fib(14 - less);
    return unused;
}

static void *endless(void *unused)
{
    COUNT(endless);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        leaf(1);
    return unused;
}

static void in_child(void)
{
    COUNT(in_child);
    fib(10);
}

SILENT static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaddset(&action.sa_mask, SIGPROF); /* so that a jump leaves spin() only */
    sigaction(number, &action, NULL);
}

SILENT static void tick(int which, long us)
{
    struct itimerval every = {{0, us}, {0, us}};
    setitimer(which, &every, NULL);
}

/* Jumps out of the handler again and again, at any instruction of spin, also in the middle of a hook. */
SILENT static void jump_out(int rounds)
{
    for (volatile int i = 0; i < rounds; i++) {
        if (sigsetjmp(out_of_handler, 1) == 0) {
            may_jump = 1;
            spin(100000000);
        }
        may_jump = 0;
    }
}

SILENT static void in_threads(void)
{
    pthread_t threads[8], cancelled;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    pthread_create(&cancelled, NULL, endless, NULL);
    usleep(2000);
    pthread_cancel(cancelled);
    pthread_join(cancelled, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

/* Loads a library for a moment. Returns how often its inner function was called. */
SILENT static unsigned long in_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        return 0;
    void (*call)(int);
    unsigned long *inner;
    *(void **)&call = dlsym(library, "in_library");
    *(void **)&inner = dlsym(library, "inner_in_library_calls");
    call(50);
    unsigned long calls = *inner;
    dlclose(library);
    return calls;
}

SILENT static void for_ever(void)
{
    printf("running\n");
    fflush(stdout);
    for (;;)
        fib(12);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    pthread_key_create(&key, at_thread_end);
    int rounds = atoi(argv[2]);
    less = argc > 3 && !strcmp(argv[3], "few") ? 6 : 0;
    if (!strcmp(argv[2], "for-ever")) {
        pthread_t threads[3];
        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, endless, NULL);
        for_ever();
    }
    static char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    handle(SIGALRM, on_timer, SA_RESTART);
    handle(SIGVTALRM, on_timer, SA_RESTART | SA_ONSTACK);
    handle(SIGPROF, on_jump, SA_RESTART);
    fib(18 - less);
    deep(300);
    if (setjmp(back) == 0)
        jumper(20);
    unsigned long inner = in_library(argv[1]);
    if (fork() == 0) {
        in_child();
        _exit(0);
    }
    wait(NULL);
    in_threads();
    tick(ITIMER_REAL, 100);
    tick(ITIMER_VIRTUAL, 1000);
    fib(20 - less);
    tick(ITIMER_PROF, 1000);
    jump_out(rounds);
    handle(SIGPROF, on_jump, SA_RESTART | SA_ONSTACK);
    jump_out(rounds);
    tick(ITIMER_PROF, 0);
    tick(ITIMER_REAL, 0);
    tick(ITIMER_VIRTUAL, 0);
    fib(10);
    printf("fib %lu\nleaf %lu\ndeep %lu\njumper %lu\non_timer %lu\non_timer_leaf %lu\non_jump %lu\nspin %lu\n"
           "worker %lu\nendless %lu\nat_thread_end %lu\nin_child %lu\ninner_in_library %lu\nmain 1\n",
           fib_calls, leaf_calls, deep_calls, jumper_calls, on_timer_calls, on_timer_leaf_calls, on_jump_calls,
           spin_calls, worker_calls, endless_calls, at_thread_end_calls, in_child_calls, inner);
    return 0;
}
