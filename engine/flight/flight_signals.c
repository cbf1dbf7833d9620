#include "engine/flight/flight_signals.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int crash_numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP};
enum { CRASHES = sizeof crash_numbers / sizeof crash_numbers[0], QUIT = CRASHES, CHAINS };

/* `before` is written before the handler is installed, and is not changed while it is. */
struct signal_chain {
    strobe_a32 installed;
    struct sigaction before;
};

static struct signal_chain chains[CHAINS];
static struct strobe_flight *_Atomic signalled_flight;
static strobe_sigaction_fn *set_action;
static strobe_a32 quit_catcher, quit_unblocked;

static uint32_t signalled_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* Sends the signal again to this thread, with its siginfo. */
static void send_again(int number, siginfo_t *info)
{
    syscall(SYS_rt_tgsigqueueinfo, (long)getpid(), (long)signalled_tid(), (long)number, info);
}

/* ---- crashes */

static void on_crash(int number, siginfo_t *info, void *context)
{
    int saved = errno, at = 0;
    struct strobe_flight *f = atomic_load_explicit(&signalled_flight, memory_order_acquire);
    (void)context;
    while (at < CRASHES - 1 && crash_numbers[at] != number)
        at++;
    if (f)
        strobe_flight_crashed(f, number, signalled_tid());
    set_action(number, &chains[at].before, NULL);
    strobe_store_release(&chains[at].installed, 0);
    if (info->si_code <= 0) /* sent: the instruction that was interrupted does not fail again */
        send_again(number, info);
    errno = saved;
}

/* ---- quit */

static void on_quit(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    struct strobe_flight *f = atomic_load_explicit(&signalled_flight, memory_order_acquire);
    const struct sigaction *before = &chains[QUIT].before;
    if (f)
        strobe_flight_ask(f, STROBE_TRIGGER_ANR);
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(number, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(number);
    else if (strobe_load_relaxed(&quit_catcher))
        syscall(SYS_tgkill, (long)getpid(), (long)strobe_load_relaxed(&quit_catcher), (long)number);
    errno = saved;
}

/* ---- installing */

static void install_chain(struct signal_chain *c, int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    ours.sa_sigaction = handler;
    if (strobe_load_acquire(&c->installed) || set_action(number, NULL, &c->before) != 0)
        return;
    if (c->before.sa_flags & SA_SIGINFO && c->before.sa_sigaction == handler)
        return; /* it stayed from an earlier capture, under another handler, which has ended since */
    if (set_action(number, &ours, NULL) == 0)
        strobe_store_release(&c->installed, 1);
}

void strobe_flight_watch_crashes(struct strobe_flight *f, strobe_sigaction_fn *set)
{
    set_action = set;
    atomic_store_explicit(&signalled_flight, f, memory_order_release);
    for (int i = 0; i < CRASHES; i++)
        install_chain(&chains[i], crash_numbers[i], on_crash);
}

static bool has_own_handler(const struct sigaction *a)
{
    return a->sa_flags & SA_SIGINFO || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
}

bool strobe_flight_watch_quit(struct strobe_flight *f, strobe_sigaction_fn *set, uint32_t catcher_tid)
{
    struct sigaction now;
    sigset_t quit, before;
    set_action = set;
    if (set(SIGQUIT, NULL, &now) != 0 || (!has_own_handler(&now) && !catcher_tid))
        return false;
    atomic_store_explicit(&signalled_flight, f, memory_order_release);
    strobe_store_relaxed(&quit_catcher, catcher_tid);
    install_chain(&chains[QUIT], SIGQUIT, on_quit);
    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    pthread_sigmask(SIG_UNBLOCK, &quit, &before);
    strobe_store_relaxed(&quit_unblocked, sigismember(&before, SIGQUIT) == 1);
    return true;
}

/* ---- leaving */

static void leave_chain(struct signal_chain *c, int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction now;
    if (!strobe_load_acquire(&c->installed) || set_action(number, NULL, &now) != 0)
        return;
    if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != handler)
        return; /* another handler is on top of ours and may call it */
    set_action(number, &c->before, NULL);
    strobe_store_release(&c->installed, 0);
}

void strobe_flight_leave_signals(void)
{
    sigset_t quit;
    if (!set_action)
        return;
    atomic_store_explicit(&signalled_flight, NULL, memory_order_release);
    if (strobe_load_relaxed(&quit_unblocked) && signalled_tid() == (uint32_t)getpid()) {
        sigemptyset(&quit);
        sigaddset(&quit, SIGQUIT);
        pthread_sigmask(SIG_BLOCK, &quit, NULL);
        strobe_store_relaxed(&quit_unblocked, 0);
    }
    for (int i = 0; i < CRASHES; i++)
        leave_chain(&chains[i], crash_numbers[i], on_crash);
    leave_chain(&chains[QUIT], SIGQUIT, on_quit);
}
