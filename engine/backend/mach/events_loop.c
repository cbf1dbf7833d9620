/* Run loops, and counters of the process.
 *
 * A run loop waits for messages by a mach_msg call that only receives. Each return from that call begins a new message
 * of its thread. On the main thread, the time from the return to the next such call is a turn of the run loop.
 *
 * The system's own run loop is in the shared cache, where its calls are not hooked (rebind.h). When the app has
 * CoreFoundation, an observer of the main run loop reports its turns and begins its messages.
 *
 * The main thread stores the turns that were too long. The sampler writes them to the session
 * (engine/capture/series.h). It also writes the turn in progress when that is a hang. */
#include "engine/backend/mach/events.h"
#include "engine/base/error.h"
#include "engine/capture/series.h"

#include <dlfcn.h>
#include <mach/message.h>

/* ---- turns: the main thread writes, the sampler reads */

enum { TURNS = 16 };

/* In ticks. */
struct turn {
    strobe_a64 begin, end;
};

static struct turn turns[TURNS]; /* turns that were too long, at their number modulo TURNS */
static strobe_a32 turns_stored;  /* by the main thread, so far */
static strobe_a32 turns_written; /* by the sampler, so far */
static strobe_a64 turn_began;    /* ticks, of the turn in progress; 0: the loop waits */
static strobe_a32 main_thread;   /* its index in the session's table + 1; 0: no turn has begun yet */

static void end_loop_turn(void)
{
    uint64_t begin = strobe_load_relaxed(&turn_began), end = strobe_mach_now();
    const struct strobe_host *h = &strobe_mach.host.host;
    uint32_t n = strobe_load_relaxed(&turns_stored);
    strobe_store_relaxed(&turn_began, 0);
    if (!begin || end - begin < strobe_ticks_of_ns(h, STROBE_HITCH_LEAST_NS) ||
        n - strobe_load_acquire(&turns_written) == TURNS)
        return;
    strobe_store_relaxed(&turns[n % TURNS].begin, begin);
    strobe_store_relaxed(&turns[n % TURNS].end, end);
    strobe_store_release(&turns_stored, n + 1);
}

static void begin_loop_turn(const struct strobe_thread *t)
{
    strobe_store_relaxed(&main_thread, t->index + 1);
    strobe_store_release(&turn_began, strobe_mach_now());
}

static void begin_loop_message(struct strobe_thread *t)
{
    strobe_bump(&t->entry->message, 1);
}

/* ---- mach_msg */

/* A port has the same name in the whole task, for every kind of right. A sender uses the name of a port, and a receiver
 * may use the name of a port set that contains it. A wait for a port set therefore gets no waker. */
static enum strobe_wake wake_of_receive(mach_msg_return_t r)
{
    return r == KERN_SUCCESS ? STROBE_WAKE_RELEASED : r == MACH_RCV_TIMED_OUT ? STROBE_WAKE_TIMEOUT : STROBE_WAKE_NONE;
}

/* A thread that waits for the port has found its queue empty, so a call that only sends does not wait for room. A call
 * that also receives waits for its answer. */
static void send_message(const struct strobe_hook_scope *s, const mach_msg_header_t *message, mach_msg_option_t option)
{
    uint64_t what = STROBE_MACH_PORT(message->msgh_remote_port);
    if (option & MACH_RCV_MSG)
        strobe_hand_over(s->thread, what, STROBE_RELEASE_TARGET, s->site);
    else
        strobe_hook_passes(s, what, STROBE_RELEASE_TARGET);
}

static mach_msg_return_t call_and_close(const struct strobe_hook_scope *s, mach_msg_header_t *message,
                                        mach_msg_option_t option, mach_msg_size_t send_size, mach_msg_size_t room,
                                        mach_port_name_t from, mach_msg_timeout_t timeout_ms, mach_port_name_t notify)
{
    mach_msg_return_t r = mach_msg(message, option, send_size, room, from, timeout_ms, notify);
    strobe_hook_close(s);
    return r;
}

static mach_msg_return_t hook_mach_msg(mach_msg_header_t *message, mach_msg_option_t option, mach_msg_size_t send_size,
                                       mach_msg_size_t room, mach_port_name_t from, mach_msg_timeout_t timeout_ms,
                                       mach_port_name_t notify)
{
    bool waits = option & MACH_RCV_MSG && !(option & MACH_SEND_MSG);
    struct strobe_hook_scope s =
        strobe_mach_open(waits ? STROBE_KIND_POLL : STROBE_KIND_IPC, STROBE_MACH_PORT(from), STROBE_HERE, "mach_msg");
    bool is_main = s.token && s.thread->entry->is_main;
    if (option & MACH_SEND_MSG && s.token)
        send_message(&s, message, option);
    if (!waits)
        return call_and_close(&s, message, option, send_size, room, from, timeout_ms, notify);
    if (is_main)
        end_loop_turn();
    strobe_hook_waits(&s, STROBE_MACH_PORT(from));
    mach_msg_return_t r = mach_msg(message, option, send_size, room, from, timeout_ms, notify);
    strobe_hook_woken(&s, STROBE_MACH_PORT(from), wake_of_receive(r), false);
    bool counts = strobe_hook_is_open(&s);
    strobe_hook_close(&s);
    if (counts && !strobe_mach.engine.config.message_per_poll) /* else the end of the POLL scope begins the message */
        begin_loop_message(s.thread);
    if (counts && is_main)
        begin_loop_turn(s.thread);
    return r;
}

static const struct strobe_rebinding rebindings[] = {
    {"mach_msg", (void *)hook_mach_msg, (void *)mach_msg},
    {0},
};

/* ---- the system's run loop (CoreFoundation, CFRunLoop.h), which the app need not have */

enum { BEFORE_WAITING = 1 << 5, AFTER_WAITING = 1 << 6 }; /* kCFRunLoopBeforeWaiting, kCFRunLoopAfterWaiting */

typedef void observed(void *observer, unsigned long activity, void *info);
static void *observer;

static void *find_symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static void run_loop_observed(void *o, unsigned long activity, void *info)
{
    struct strobe_thread *t = strobe_mach_thread(strobe_switched(), "CFRunLoopRun");
    (void)o, (void)info;
    if (!t || !t->entry->is_main)
        return;
    if (activity == BEFORE_WAITING) {
        end_loop_turn();
        return;
    }
    begin_loop_message(t);
    begin_loop_turn(t);
}

static bool add_observer(void)
{
    void *(*loop)(void) = (void *(*)(void))(uintptr_t)find_symbol("CFRunLoopGetMain");
    void *(*create)(void *, unsigned long, unsigned char, long, observed *, void *) =
        (void *(*)(void *, unsigned long, unsigned char, long, observed *, void *))(uintptr_t)find_symbol(
            "CFRunLoopObserverCreate");
    void (*add)(void *, void *, const void *) =
        (void (*)(void *, void *, const void *))(uintptr_t)find_symbol("CFRunLoopAddObserver");
    const void **modes = find_symbol("kCFRunLoopCommonModes");
    if (!loop || !create || !add || !modes)
        return false;
    observer = create(NULL, BEFORE_WAITING | AFTER_WAITING, 1, 0, run_loop_observed, NULL);
    if (observer)
        add(loop(), observer, *modes);
    return observer != NULL;
}

static void remove_observer(void)
{
    void (*invalidate)(void *) = (void (*)(void *))(uintptr_t)find_symbol("CFRunLoopObserverInvalidate");
    void (*release)(const void *) = (void (*)(const void *))(uintptr_t)find_symbol("CFRelease");
    if (observer && invalidate)
        invalidate(observer);
    if (observer && release)
        release(observer);
    observer = NULL;
}

static uint64_t series_due; /* time of the next counters. Written at the start, then by the sampler */

static bool start_loop(struct strobe_error *error)
{
    (void)error;
    series_due = 0;
    strobe_store_relaxed(&turn_began, 0);
    strobe_store_relaxed(&turns_written, strobe_load_relaxed(&turns_stored));
    strobe_store_relaxed(&main_thread, 0);
    add_observer();
    return true;
}

const struct strobe_mach_feature strobe_mach_feature_loop = {STROBE_MACH_SERIES, rebindings, start_loop,
                                                             remove_observer};

/* ---- counters, written by the sampler */

static uint64_t ns_of_time_value(time_value_t t)
{
    return (uint64_t)(uint32_t)t.seconds * 1000000000u + (uint64_t)(uint32_t)t.microseconds * 1000u;
}

/* Stores the CPU time of the process: that of ended threads plus that of live ones. */
static bool task_cpu_ns(uint64_t *out)
{
    mach_task_basic_info_data_t ended;
    task_thread_times_info_data_t live;
    mach_msg_type_number_t n = MACH_TASK_BASIC_INFO_COUNT, m = TASK_THREAD_TIMES_INFO_COUNT;
    if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)(void *)&ended, &n) != KERN_SUCCESS ||
        task_info(mach_task_self(), TASK_THREAD_TIMES_INFO, (task_info_t)(void *)&live, &m) != KERN_SUCCESS)
        return false;
    *out = ns_of_time_value(ended.user_time) + ns_of_time_value(ended.system_time) + ns_of_time_value(live.user_time) +
           ns_of_time_value(live.system_time);
    return true;
}

static bool footprint(uint64_t *out)
{
    struct task_vm_info vm;
    mach_msg_type_number_t n = TASK_VM_INFO_REV1_COUNT;
    if (task_info(mach_task_self(), TASK_VM_INFO, (task_info_t)(void *)&vm, &n) != KERN_SUCCESS)
        return false;
    *out = vm.phys_footprint;
    return true;
}

/* Stores the process's calls of the Mach kernel so far. The system stops counting at INT32_MAX; that value is left out.
 */
static bool mach_traps(uint64_t *out)
{
    struct task_events_info events;
    mach_msg_type_number_t n = TASK_EVENTS_INFO_COUNT;
    if (task_info(mach_task_self(), TASK_EVENTS_INFO, (task_info_t)(void *)&events, &n) != KERN_SUCCESS ||
        n < TASK_EVENTS_INFO_COUNT || events.syscalls_mach <= 0 || events.syscalls_mach == INT32_MAX)
        return false;
    *out = (uint64_t)events.syscalls_mach;
    return true;
}

enum { OWN_THREADS = 2 };

/* Counts the live threads: those in the session's table, and the engine's own, which are not in the table. */
static uint64_t live_threads(const struct strobe_session *s)
{
    uint64_t live = OWN_THREADS;
    for (uint32_t i = 0; i < strobe_session_thread_count(s); i++)
        live += strobe_load_relaxed(&s->threads[i].state) == STROBE_THREAD_LIVE;
    return live;
}

static bool is_main(const struct strobe_thread_entry *e)
{
    return strobe_load_acquire(&e->state) != STROBE_THREAD_FREE && e->is_main;
}

static void write_values(struct strobe_sampler *s, uint64_t now)
{
    const struct strobe_session *session = &s->engine->session;
    uint64_t value;
    uint32_t index = 0;
    while (index < strobe_session_thread_count(session) && !is_main(&session->threads[index]))
        index++;
    if (task_cpu_ns(&value))
        strobe_series_counter(s, index, STROBE_SERIES_CPU_NS, now, value);
    if (footprint(&value))
        strobe_series_counter(s, index, STROBE_SERIES_FOOTPRINT_BYTES, now, value);
    strobe_series_counter(s, index, STROBE_SERIES_THREADS, now, live_threads(session));
    if (mach_traps(&value))
        strobe_series_counter(s, index, STROBE_SERIES_MACH_TRAPS, now, value);
}

/* Returns the id of a stack that the sampler took of `thread` since `begin`; 0 when it took none. */
static uint32_t stack_since(const struct strobe_sampler *s, uint32_t thread, uint64_t begin)
{
    const struct strobe_pending *p = &s->pending;
    return p->open && p->record.thread == thread && p->record.ticks >= begin ? p->record.stack : 0;
}

static void write_turns(struct strobe_sampler *s, uint64_t now)
{
    uint32_t stored = strobe_load_acquire(&turns_stored), written = strobe_load_relaxed(&turns_written);
    uint32_t thread = strobe_load_relaxed(&main_thread) - 1;
    for (; written != stored; written++) {
        uint64_t begin = strobe_load_relaxed(&turns[written % TURNS].begin);
        uint64_t end = strobe_load_relaxed(&turns[written % TURNS].end);
        strobe_series_hitch(s, thread, begin, end, stack_since(s, thread, begin));
    }
    strobe_store_release(&turns_written, written);
    uint64_t begin = strobe_load_acquire(&turn_began);
    if (begin && now > begin && now - begin >= strobe_ticks_of_ns(s->engine->host, STROBE_HANG_LEAST_NS))
        strobe_series_hitch(s, strobe_load_relaxed(&main_thread) - 1, begin, now, stack_since(s, thread, begin));
}

void strobe_mach_series(struct strobe_sampler *s, bool last)
{
    uint64_t now = strobe_mach_now();
    if (!(strobe_mach.status.on >> STROBE_MACH_SERIES & 1) || (!strobe_series_due(s, &series_due, now) && !last))
        return;
    write_turns(s, now); /* before the counters: a turn's stack comes from the sampler's last record */
    write_values(s, now);
}
