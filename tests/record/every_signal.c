/* A handler for each signal, blocked and unblocked, waited for and raised. The output must not depend on being
 * recorded. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t count[65], info_count[65];

static void plain(int s)
{
    count[s]++;
}

static void with_info(int s, siginfo_t *info, void *context)
{
    (void)context;
    info_count[s] += info->si_signo == s;
}

static volatile double sink;

static void burn(int rounds)
{
    for (int i = 0; i < rounds; i++)
        sink = sink * 1.0000001 + i;
}

static volatile sig_atomic_t burnt;

static void burn_in_handler(int s)
{
    burn(300000);
    burnt += s == SIGUSR2;
}

/* A handler that blocks all signals takes the time. Prints how much of its mask the program reads back. */
static void run_handlers_that_block_all(void)
{
    struct sigaction full = {.sa_handler = burn_in_handler}, before, after;
    sigfillset(&full.sa_mask);
    sigaction(SIGUSR2, &full, &before);
    sigaction(SIGUSR2, NULL, &after);
    int own = 0, had = 0, mine = 0;
    for (int s = 1; s <= 64; s++) {
        own += sigismember(&full.sa_mask, s) == 1 && s != SIGKILL && s != SIGSTOP;
        had += sigismember(&before.sa_mask, s) == 1;
        mine += sigismember(&after.sa_mask, s) == 1 && s != SIGKILL && s != SIGSTOP;
    }
    for (int i = 0; i < 300; i++)
        raise(SIGUSR2);
    printf("in handlers: %d, masks: %d of %d, before %d\n", (int)burnt, mine, own, had);
}

/* Prints how many signals the kernel blocks in a handler on a stack of its own. It may be too small for a second
 * handler. */
static void print_mask_of_a_handler_with_its_own_stack(void)
{
    struct sigaction full = {.sa_handler = plain, .sa_flags = SA_ONSTACK};
    struct {
        uint64_t handler, flags, restorer, mask;
    } kernel = {0};
    sigfillset(&full.sa_mask);
    sigaction(SIGUSR2, &full, NULL);
    syscall(SYS_rt_sigaction, SIGUSR2, NULL, &kernel, 8l);
    printf("on its own stack: %d blocked\n", __builtin_popcountll(kernel.mask));
}

int main(void)
{
    char line[4096] = "";
    for (int s = 1; s <= 64; s++) {
        struct sigaction a = {.sa_handler = plain}, b = {.sa_sigaction = with_info, .sa_flags = SA_SIGINFO}, got;
        int r = sigaction(s, &a, NULL);
        if (r == 0) {
            raise(s);
            sigaction(s, &b, &got);
            raise(s);
            sigaction(s, NULL, &got);
            r = got.sa_sigaction == with_info && (got.sa_flags & SA_SIGINFO) ? 0 : 9;
        }
        snprintf(line + strlen(line), sizeof line - strlen(line), "%d:%d/%d/%d ", s, r ? errno : 0, (int)count[s],
                 (int)info_count[s]);
        burn(1000000);
    }
    puts(line);

    run_handlers_that_block_all();
    print_mask_of_a_handler_with_its_own_stack();
    sigset_t all, before, now;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    burn(30000000);
    raise(SIGUSR1);
    raise(SIGRTMIN + 3);
    burn(3000000);
    printf("blocked: %d %d\n", (int)info_count[SIGUSR1], (int)info_count[SIGRTMIN + 3]);
    sigset_t two;
    sigemptyset(&two);
    sigaddset(&two, SIGUSR1);
    sigaddset(&two, SIGRTMIN + 3);
    int number = 0;
    sigwait(&two, &number);
    printf("waited for: %d\n", number);
    struct timespec soon = {0, 20000000};
    number = sigtimedwait(&two, NULL, &soon);
    printf("then: %d\n", number);
    number = sigtimedwait(&all, NULL, &soon);
    printf("then: %d %d\n", number, errno);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    printf("none blocked: %d\n", sigismember(&now, SIGUSR1));

    signal(SIGALRM, plain);
    struct itimerval ticking = {{0, 3000}, {0, 3000}}, off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &ticking, NULL);
    while (count[SIGALRM] < 50)
        burn(10000);
    setitimer(ITIMER_REAL, &off, NULL);
    printf("timer: %s\n", count[SIGALRM] >= 50 ? "ran" : "did not run");
    signal(SIGRTMAX, SIG_IGN);
    raise(SIGRTMAX);
    signal(SIGRTMAX, SIG_DFL);
    fflush(stdout);
    raise(SIGRTMAX);
    puts("not reached");
    return 0;
}
