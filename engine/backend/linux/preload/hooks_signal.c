/* Signals. The stop signal is removed from every mask and awaited set, and from the masks of handlers, except of those
 * that may run on a small stack of their own (SA_ONSTACK): a second handler may not fit there. A disposition that the
 * program sets for the stop signal is stored. It applies to instances that the engine did not send. */
#include "engine/backend/linux/preload/hook.h"
#include "engine/backend/linux/preload/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The program's own disposition of the stop signal: the slot whose index is in `current_action`. Any number of threads
 * and handlers may exchange and read it at once, and each sees one whole value:
 *
 *   exchange  claims an unused slot (0 -> USED), fills it, and puts its index into `current_action`. It then copies
 *             and frees the previous slot
 *   read      counts itself into the slot, and checks that the slot is still current. A slot with readers is not
 *             claimed */
enum { PROGRAM_ACTIONS = 64 };
#define USED 0x80000000u
static struct {
    strobe_a32 state;
    struct sigaction action;
} program_actions[PROGRAM_ACTIONS] = {[0] = {.state = USED}};
static strobe_a32 current_action;

static struct sigaction read_program_action(void)
{
    for (;;) {
        uint32_t at = strobe_load_acquire(&current_action);
        strobe_add_acq_rel(&program_actions[at].state, 1);
        struct sigaction action;
        bool still = strobe_load_seq_cst(&current_action) == at;
        if (still)
            action = program_actions[at].action;
        strobe_add_acq_rel(&program_actions[at].state, UINT32_MAX);
        if (still)
            return action;
    }
}

static uint32_t claim_program_action(void)
{
    for (uint32_t at = 0;; at = (at + 1) % PROGRAM_ACTIONS) {
        uint32_t unused = 0;
        if (strobe_cas_acq_rel(&program_actions[at].state, &unused, USED))
            return at;
    }
}

static bool is_suspend_signal(int number)
{
    return strobe_preload.started && number == strobe_preload.host.signal;
}

const sigset_t *strobe_signals_without_ours(const sigset_t *mask, sigset_t *room)
{
    if (!mask || !strobe_preload.started || !strobe_preload.host.signal ||
        sigismember(mask, strobe_preload.host.signal) != 1)
        return mask;
    *room = *mask;
    sigdelset(room, strobe_preload.host.signal);
    return room;
}

void strobe_signals_make_fatal(int number)
{
    struct sigaction fatal = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    strobe_real()->sigaction(number, &fatal, NULL);
    strobe_real()->pthread_sigmask(SIG_UNBLOCK, &only, NULL);
}

void strobe_signals_foreign(int number, siginfo_t *info, void *context)
{
    struct sigaction now = read_program_action();
    if (now.sa_flags & SA_SIGINFO) {
        now.sa_sigaction(number, info, context);
    } else if (now.sa_handler == SIG_DFL) {
        strobe_signals_make_fatal(number);
        raise(number);
    } else if (now.sa_handler != SIG_IGN) {
        now.sa_handler(number);
    }
}

static void exchange_program_action(const struct sigaction *wanted, struct sigaction *before)
{
    struct sigaction was;
    if (wanted) {
        uint32_t at = claim_program_action();
        program_actions[at].action = *wanted;
        uint32_t old = strobe_exchange_acq_rel(&current_action, at);
        was = program_actions[old].action;
        strobe_add_acq_rel(&program_actions[old].state, USED); /* USED + USED = 0: the slot is unused */
    } else {
        was = read_program_action();
    }
    if (before)
        *before = was;
}

/* The last ticks may still be pending for threads that wait for a processor. Setting a signal to SIG_IGN discards its
 * pending instances in all threads. With the default action they would end the process. */
void strobe_signals_restore(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, none = {.sa_handler = SIG_DFL}, now;
    int number = strobe_preload.host.signal;
    if (!number)
        return;
    exchange_program_action(&none, &now); /* the next capture may take another signal */
    strobe_real()->sigaction(number, &ignore, NULL);
    strobe_real()->sigaction(number, &now, NULL);
    strobe_preload.host.signal = 0;
}

/* By number: 1 when the program's handler blocks the stop signal, and the kernel's action lacks it. */
enum { SIGNALS = 65 };
static strobe_a32 stop_left_out[SIGNALS];

/* Sets the action of a signal that is not the stop signal. A handler that blocks all signals would never be sampled:
 * the tick would be taken after its end, and its time would count for the code that it interrupted. */
static int set_other_action(int number, const struct sigaction *restrict wanted, struct sigaction *restrict before)
{
    struct sigaction changed;
    const struct sigaction *action = wanted;
    bool known = number > 0 && number < SIGNALS, leaves_out = false;
    bool left_out = known && strobe_load_relaxed(&stop_left_out[number]);
    if (known && wanted && !(wanted->sa_flags & SA_ONSTACK)) {
        changed = *wanted;
        leaves_out = strobe_signals_without_ours(&wanted->sa_mask, &changed.sa_mask) == &changed.sa_mask;
        action = leaves_out ? &changed : wanted;
    }
    int result = strobe_real()->sigaction(number, action, before);
    if (result == 0 && known && wanted)
        strobe_store_relaxed(&stop_left_out[number], leaves_out);
    if (result == 0 && before && left_out && strobe_preload.host.signal)
        sigaddset(&before->sa_mask, strobe_preload.host.signal);
    return result;
}

HOOK(int, sigaction)(int number, const struct sigaction *restrict wanted, struct sigaction *restrict before)
{
    HOOK_BEGINS;
    if (!is_suspend_signal(number))
        return set_other_action(number, wanted, before);
    exchange_program_action(wanted, before);
    return 0;
}

HOOK(__sighandler_t, signal)(int number, void (*handler)(int))
{
    HOOK_BEGINS;
    if (!is_suspend_signal(number))
        return strobe_real()->signal(number, handler);
    struct sigaction wanted = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    sigemptyset(&wanted.sa_mask);
    exchange_program_action(&wanted, &before);
    return before.sa_handler;
}

HOOK(int, sigprocmask)(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
    HOOK_BEGINS;
    sigset_t room;
    return strobe_real()->sigprocmask(how, how == SIG_UNBLOCK ? set : strobe_signals_without_ours(set, &room), before);
}

HOOK(int, pthread_sigmask)(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
    HOOK_BEGINS;
    sigset_t room;
    return strobe_real()->pthread_sigmask(how, how == SIG_UNBLOCK ? set : strobe_signals_without_ours(set, &room),
                                          before);
}

HOOK(int, sigsuspend)(const sigset_t *set)
{
    HOOK_BEGINS;
    sigset_t room;
    SCOPE(STROBE_KIND_SLEEP, 0);
    return strobe_real()->sigsuspend(strobe_signals_without_ours(set, &room));
}

HOOK(int, pause)(void)
{
    HOOK_BEGINS;
    SCOPE(STROBE_KIND_SLEEP, 0);
    return strobe_real()->pause();
}

HOOK(int, sigwait)(const sigset_t *restrict set, int *restrict number)
{
    HOOK_BEGINS;
    sigset_t room;
    SCOPE(STROBE_KIND_SLEEP, 0);
    return strobe_real()->sigwait(strobe_signals_without_ours(set, &room), number);
}

HOOK(int, sigwaitinfo)(const sigset_t *restrict set, siginfo_t *restrict info)
{
    HOOK_BEGINS;
    sigset_t room;
    SCOPE(STROBE_KIND_SLEEP, 0);
    return strobe_real()->sigwaitinfo(strobe_signals_without_ours(set, &room), info);
}

HOOK(int, sigtimedwait)(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict timeout)
{
    HOOK_BEGINS;
    sigset_t room;
    SCOPE(STROBE_KIND_SLEEP, 0);
    return strobe_real()->sigtimedwait(strobe_signals_without_ours(set, &room), info, timeout);
}

HOOK(int, signalfd)(int fd, const sigset_t *set, int flags)
{
    HOOK_BEGINS;
    sigset_t room;
    return strobe_real()->signalfd(fd, strobe_signals_without_ours(set, &room), flags);
}
