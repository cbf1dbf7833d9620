/* All signals, used in the way named on the command line. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel's struct. */
struct kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};

static volatile unsigned long sum;
static volatile sig_atomic_t seen[65];

static void count(int number)
{
    seen[number] = seen[number] + 1;
}

static void compute(long ms)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int i = 0; i < 20000; i++)
            sum = sum * 31 + (unsigned long)i;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static int is_used(int number)
{
    return number != SIGKILL && number != SIGSTOP && number != 32 && number != 33;
}

static void send_all(void)
{
    for (int s = 1; s <= 64; s++)
        if (is_used(s))
            raise(s);
}

static void print_seen(void)
{
    for (int s = 1; s <= 64; s++)
        printf("%d", (int)seen[s]);
    printf("\n");
}

/* A tracer does not see raw system calls. It may send a few signals before it learns of the handler. */
static void print_whether_seen(void)
{
    for (int s = 1; s <= 64; s++)
        printf("%s", seen[s] == 0 ? "none " : seen[s] == 1 || (s == 64 && seen[s] < 40) ? "one " : "many ");
    printf("\n");
}

/* The restorer is taken from an action that the C library installed. */
static void handle_all_raw(void)
{
    struct kernel_action action;
    struct sigaction ours = {.sa_handler = count, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &ours, NULL);
    syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action, 8l);
    for (int s = 1; s <= 64; s++)
        if (is_used(s) && syscall(SYS_rt_sigaction, s, &action, NULL, 8l) != 0)
            printf("%d: %s\n", s, strerror(errno));
}

static void handle_all(void)
{
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    for (int s = 1; s <= 64; s++)
        if (is_used(s))
            sigaction(s, &action, NULL);
}

static void ignore_all_raw(void)
{
    struct kernel_action action = {.handler = (void *)SIG_IGN};
    for (int s = 1; s <= 64; s++)
        if (is_used(s))
            syscall(SYS_rt_sigaction, s, &action, NULL, 8l);
}

static void block_all_raw(void)
{
    unsigned long all = ~0ul;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8l);
}

static void take_by_descriptor(void)
{
    sigset_t all;
    struct signalfd_siginfo info;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int fd = signalfd(-1, &all, SFD_NONBLOCK);
    for (int s = 1; s <= 31; s++)
        if (is_used(s))
            raise(s);
    compute(30);
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        count((int)info.ssi_signo);
}

static volatile int done;

static void *take_by_waiting(void *unused)
{
    sigset_t all;
    siginfo_t info;
    sigfillset(&all);
    while (!done) {
        struct timespec most = {0, 1000000};
        int number = sigtimedwait(&all, &info, &most);
        if (number > 0)
            count(number);
    }
    (void)unused;
    return NULL;
}

static int any_pending(const sigset_t *of)
{
    sigset_t pending;
    int any = 0;
    sigpending(&pending);
    for (int s = 1; s <= 31; s++)
        any |= sigismember(&pending, s) && sigismember(of, s);
    return any;
}

/* Omits job control, because a signal that stops and one that continues discard each other. */
static void wait_for_all(void)
{
    pthread_t taker;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_create(&taker, NULL, take_by_waiting, NULL);
    for (int s = 1; s <= 31; s++)
        if (is_used(s) && s != SIGCONT && s != SIGTSTP && s != SIGTTIN && s != SIGTTOU)
            kill(getpid(), s);
    /* On a busy machine the other thread may begin late. */
    for (compute(50); any_pending(&all);)
        compute(1);
    done = 1;
    pthread_join(taker, NULL);
}

/* Each action must be consistent: all its parts follow from one number. */
static struct sigaction numbered(unsigned long n)
{
    struct sigaction a = {.sa_flags = n & 1 ? SA_RESTART | SA_NODEFER : SA_SIGINFO};
    a.sa_handler = n & 1 ? SIG_IGN : SIG_DFL;
    sigemptyset(&a.sa_mask);
    for (int s = 34; s < 60; s++)
        if (n & 1)
            sigaddset(&a.sa_mask, s);
    return a;
}

static int is_whole(const struct sigaction *a)
{
    int odd = a->sa_handler == SIG_IGN, whole = ((a->sa_flags & SA_SIGINFO) == 0) == odd;
    for (int s = 34; s < 60; s++)
        whole = whole && sigismember(&a->sa_mask, s) == odd;
    return whole;
}

static volatile int torn;

static void *exchange(void *p)
{
    for (unsigned long n = (unsigned long)p; !done; n++) {
        struct sigaction next = numbered(n), before;
        sigaction(SIGRTMAX, &next, &before);
        if (!is_whole(&before))
            torn = 1;
    }
    return NULL;
}

static void exchange_actions(void)
{
    pthread_t thread[4];
    struct sigaction first = numbered(0);
    sigaction(SIGRTMAX, &first, NULL);
    for (unsigned long i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, exchange, (void *)i);
    compute(200);
    done = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    printf("torn: %d\n", torn);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (!strcmp(way, "handled"))
        handle_all(), compute(50), send_all(), compute(50);
    else if (!strcmp(way, "handled_raw"))
        handle_all_raw(), compute(50), send_all(), compute(50);
    else if (!strcmp(way, "ignored_raw"))
        ignore_all_raw(), compute(50), send_all(), compute(50);
    else if (!strcmp(way, "blocked_raw"))
        block_all_raw(), compute(50), send_all(), compute(50);
    else if (!strcmp(way, "taken_by_descriptor"))
        take_by_descriptor();
    else if (!strcmp(way, "waited_for"))
        wait_for_all();
    else if (!strcmp(way, "exchanged"))
        exchange_actions();
    else
        return 2;
    if (!strcmp(way, "handled_raw"))
        print_whether_seen();
    else
        print_seen();
    return 30;
}
