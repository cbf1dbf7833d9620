/* `strobe attach`: takes the timeline of a running program. */
#include "engine/backend/linux/attach/attach.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/attach/inject.h"
#include "engine/cmd/attach/target.h"
#include "engine/cmd/attach/tracee.h"
#include "engine/cmd/capture/program.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/interrupts.h"
#include "engine/cmd/preload.h"
#include "engine/cmd/record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

const char strobe_usage_attach[] =
    "usage: strobe attach [OPTIONS] PID\n"
    "\n"
    "Enters a running program, records it as `strobe record` does, and leaves it again. The program is not\n"
    "restarted. It must be dynamically linked with glibc, and belong to this user (or strobe runs as root).\n"
    "\n"
    "  -t, --duration TIME     end after this time, such as 5s (until Ctrl-C, or until the program ends)\n"
    "  -o, --output FILE       the trace, in the format that its ending says (see `strobe help convert`); the\n"
    "                          session is put beside it, as FILE with .strobe for its ending\n"
    "                          (default NAME.PID.perfetto-trace here)\n"
    "      --no-convert        make no trace; -o names the session (default NAME.PID.strobe)\n"
    "  -f, --force             overwrite files that are there\n"
    "  -q, --quiet             print errors only\n"
    "      --interval TIME     minimum time between samples of a thread at its hooks (1ms); 0 = every event\n"
    "      --async-interval TIME  CPU time of a thread between two of its samples (1ms); 0 = no such samples\n"
    "      --sched             also record the kernel's scheduling of the program's threads, by perf events or\n"
    "                          tracefs, as `strobe record --sched` does; `strobe doctor` says what is allowed\n"
    "\n"
    "One thread of the program is stopped at the begin and one at the end, for about a millisecond. Ctrl-C ends\n"
    "the recording, not the program. A thread that stays in a call which began during the recording keeps the\n"
    "library in the program until the call returns. Waits for condition variables are ended by a wakeup.\n"
    "\n"
    "Exit status: 0; 2 when the program could not be entered, or its trace could not be written.\n";

enum { NO_CONVERT = 256, INTERVAL, ASYNC_INTERVAL, SCHED };

static const struct option options[] = {
    {"duration", required_argument, NULL, 't'},
    {"output", required_argument, NULL, 'o'},
    {"no-convert", no_argument, NULL, NO_CONVERT},
    {"force", no_argument, NULL, 'f'},
    {"quiet", no_argument, NULL, 'q'},
    {"interval", required_argument, NULL, INTERVAL},
    {"async-interval", required_argument, NULL, ASYNC_INTERVAL},
    {"sched", no_argument, NULL, SCHED},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* Times: how long the library may take to start its capture, and to leave after its end. */
static const uint64_t START_NS = 10000000000u, LEAVE_NS = 5000000000u;
enum { LOOK_MS = 20 };

struct attachment {
    struct strobe_record_options options;
    struct strobe_target target;
    struct strobe_injected injected;
    struct strobe_attach_state state; /* as read last from the program */
    struct strobe_interrupt interrupt;
    char session[PATH_MAX];
    int lock; /* the session file: the library's capture runs while this process holds its lock */
};

/* ---- options ---- */

static int refuse_value(const char *option, const char *expected)
{
    return strobe_complain("attach: --%s %s: expected %s", option, optarg, expected);
}

static int take_attach_option(int c, struct strobe_record_options *o, const char **output)
{
    struct strobe_config *k = &o->config;
    switch (c) {
    case 't':
        return strobe_parse_time(optarg, &o->duration_ns) && o->duration_ns
                   ? 0
                   : refuse_value("duration", "a time above 0 such as 5s");
    case 'o': *output = optarg; return *optarg ? 0 : strobe_complain("attach: -o: expected a file name");
    case NO_CONVERT: o->convert = false; return 0;
    case 'f': o->replace = true; return 0;
    case 'q': o->quiet = true; return 0;
    case INTERVAL:
        if (!strobe_parse_time(optarg, &k->interval_other_ns))
            return refuse_value("interval", "a time such as 1ms, 250us or 0");
        k->interval_main_ns = k->interval_other_ns;
        return 0;
    case ASYNC_INTERVAL:
        if (!strobe_parse_time(optarg, &k->async_interval_ns) || (k->async_interval_ns && k->async_interval_ns < 50000))
            return refuse_value("async-interval", "0, or a time of at least 50us");
        return 0;
    case SCHED: o->wants_sched = true; return 0;
    default: return STROBE_EXIT_BAD;
    }
}

static int parse_attach(int argc, char **argv, struct attachment *a, bool *shown)
{
    const char *output = NULL;
    char name[64];
    struct strobe_record_options *o = &a->options;
    *o = (struct strobe_record_options){.convert = true, .attached = true};
    strobe_config_default(&o->config);
    o->config.unwind = STROBE_UNWIND_DWARF;
    optind = 1;
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        if (c == 'h') {
            *shown = true;
            return strobe_print_usage(strobe_usage_attach);
        }
        int status = c == '?' ? STROBE_EXIT_BAD : take_attach_option(c, o, &output);
        if (status)
            return status;
    }
    if (optind + 1 != argc)
        return optind >= argc ? strobe_complain("attach: which process? strobe attach [OPTIONS] PID")
                              : strobe_complain("attach: one process at a time, not %s too", argv[optind + 1]);
    int refused = strobe_target_check(argv[optind], &a->target);
    if (refused)
        return refused;
    snprintf(name, sizeof name, "%s.%d.perfetto-trace", a->target.name, (int)a->target.pid);
    for (char *at = name; *at; at++)
        *at = *at == '/' ? '_' : *at;
    if (!output && !o->convert)
        memcpy(strrchr(name, '.'), ".strobe", sizeof ".strobe");
    return strobe_record_name_files(o, output ? output : name, a->target.name);
}

/* ---- the capture ---- */

/* Takes the lock that keeps the capture going. Root gives the session to the program's user, who must write to it. */
static int lock_session(struct attachment *a)
{
    a->lock = open(a->session, O_RDWR | O_CLOEXEC);
    if (a->lock >= 0 && flock(a->lock, LOCK_EX | LOCK_NB) == 0 &&
        (a->target.uid == geteuid() || fchown(a->lock, a->target.uid, (gid_t)-1) == 0))
        return 0;
    return strobe_complain("%s: %s", a->session, strerror(errno));
}

static bool records_sched(const struct attachment *a)
{
    return strobe_sched_recorder_runs(a->options.sched);
}

/* Waits for about a millisecond. The buffers of scheduling fill meanwhile. */
static void wait_a_moment(const struct attachment *a)
{
    usleep(1000);
    if (records_sched(a))
        strobe_sched_recorder_drain(a->options.sched);
}

static bool read_attach_state(struct attachment *a)
{
    return strobe_tracee_read(a->target.pid, a->injected.state, &a->state, sizeof a->state);
}

static int begin_attached_capture(struct attachment *a)
{
    char library[STROBE_PRELOAD_BYTES];
    if (!strobe_library_find(STROBE_ATTACH_LIBRARY, library, sizeof library))
        return strobe_complain(STROBE_ATTACH_LIBRARY ": not found beside the command nor in ../lib/strobe");
    strobe_inject(a->target.pid, library, a->session, &a->injected);
    if (a->injected.refused)
        return strobe_target_refused(&a->target);
    if (!a->injected.done)
        return strobe_complain("%d: %s", (int)a->target.pid, a->injected.error.text);
    if (a->options.sched)
        strobe_record_begin_sched(&a->options, a->target.pid, a->session);
    for (uint64_t until = strobe_interrupts_now_ns() + START_NS; strobe_interrupts_now_ns() < until;) {
        if (!read_attach_state(a))
            return strobe_complain("%d: has ended", (int)a->target.pid);
        if (a->state.stage == STROBE_ATTACH_FAILED)
            return strobe_complain("%d: %s", (int)a->target.pid, a->state.error.text);
        if (a->state.stage != STROBE_ATTACH_STARTING)
            return 0;
        wait_a_moment(a);
    }
    return strobe_complain("%d: the capture has not begun within 10 s", (int)a->target.pid);
}

/* Waits until a signal comes, at most `ms`. Returns true when one came. */
static bool wait_for_interrupt(struct attachment *a, int ms)
{
    struct pollfd fd = {a->interrupt.fd, POLLIN, 0};
    if (!records_sched(a))
        return poll(&fd, 1, ms) > 0 && strobe_interrupt_read(&a->interrupt);
    strobe_sched_recorder_wait(a->options.sched, fd, (uint64_t)ms * 1000000u);
    return poll(&fd, 1, 0) > 0 && strobe_interrupt_read(&a->interrupt);
}

/* Waits until the time is over, a signal comes, or the program has ended or executed another program. */
static void wait_for_attached_end(struct attachment *a)
{
    uint64_t until = strobe_interrupts_now_ns() + a->options.duration_ns;
    while (strobe_target_has_thread(&a->target, (pid_t)a->state.tid)) {
        uint64_t now = strobe_interrupts_now_ns();
        int ms = LOOK_MS;
        if (a->options.duration_ns && now >= until)
            return;
        if (a->options.duration_ns && until - now < LOOK_MS * 1000000u)
            ms = (int)((until - now) / 1000000) + 1;
        if (wait_for_interrupt(a, ms)) {
            a->interrupt.number = 0;
            return;
        }
    }
}

static bool has_helper(const struct attachment *a)
{
    return strobe_target_has_thread(&a->target, (pid_t)a->state.tid);
}

/* Waits until no thread is in the library. Returns false when some thread stays there. */
static bool await_threads_left(struct attachment *a)
{
    uint64_t until = strobe_interrupts_now_ns() + LEAVE_NS;
    while (a->state.stage != STROBE_ATTACH_LEFT && strobe_interrupts_now_ns() < until && has_helper(a)) {
        wait_a_moment(a);
        read_attach_state(a);
    }
    return a->state.stage == STROBE_ATTACH_LEFT;
}

/* Ends the capture, and waits until the library has left the program. The lock is released at the end in any case: a
 * library that is still there then leaves by itself. */
static void leave_program(struct attachment *a)
{
    static const uint32_t stop = 1;
    int pid = (int)a->target.pid;
    strobe_tracee_write(a->target.pid, a->injected.state + offsetof(struct strobe_attach_state, stop), &stop,
                        sizeof stop);
    bool left = await_threads_left(a);
    if (records_sched(a))
        strobe_sched_recorder_end(a->options.sched);
    if (left)
        left = strobe_inject_end(a->target.pid, &a->state, &a->injected);
    flock(a->lock, LOCK_UN);
    if (!left && has_helper(a))
        strobe_complain("%d: a thread is still in a call that began during the recording; the library leaves the "
                        "program when the call returns",
                        pid);
}

static int attach_to_target(struct attachment *a)
{
    int status = lock_session(a);
    if (!status)
        status = begin_attached_capture(a);
    if (!status) {
        if (!a->options.quiet && isatty(STDERR_FILENO))
            fprintf(stderr, "strobe: attached; %s was stopped for %.1f ms\n", a->target.name,
                    (double)a->injected.stopped_ns / 1e6);
        wait_for_attached_end(a);
    }
    if (a->injected.done)
        leave_program(a);
    return status;
}

/* The calls by ptrace are written for arm64, too, but no test has run them there. */
#ifdef __x86_64__
enum { IS_MACHINE_TESTED = 1 };
#else
enum { IS_MACHINE_TESTED = 0 };
#endif

int strobe_cmd_attach(int argc, char **argv)
{
    static struct attachment a;
    static struct strobe_sched_recorder sched;
    bool shown = false;
    int status = parse_attach(argc, argv, &a, &shown);
    if (status || shown)
        return status;
    if (!IS_MACHINE_TESTED)
        return strobe_complain("attach: expected a processor of the kind x86-64");
    a.options.sched = a.options.wants_sched ? &sched : NULL;
    if ((status = strobe_record_create(&a.options, a.target.words, a.session)) != 0)
        return status;
    if ((errno = strobe_interrupt_take(&a.interrupt)) != 0)
        return strobe_complain("attach: %s", strerror(errno));
    status = attach_to_target(&a);
    strobe_interrupts_clean(0);
    strobe_interrupt_give_back(&a.interrupt);
    if (status)
        strobe_record_discard(&a.options, a.session);
    else
        status = strobe_record_keep(&a.options, a.target.program, a.session, 0);
    strobe_sched_recorder_close(&sched);
    return status;
}
