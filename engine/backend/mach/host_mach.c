#include "engine/backend/mach/host_mach.h"

#include "engine/capture/walk_fp.h"

#include <mach/mach_time.h>
#include <time.h>

enum {
    PAGE_LEAST = 4096, /* the page size is this or a multiple of it */
    LOOKS_AT_ONCE = 4, /* polls of a suspended thread without a pause between them */
    RESUME_TRIES = 3,
};
#define PAUSE_NS UINT64_C(20000)

static struct strobe_mach_host *host_of(void *ctx)
{
    return ctx;
}

/* ---- clocks ---- */

static uint64_t mach_ticks(void *ctx)
{
    (void)ctx;
    return mach_absolute_time();
}

static uint64_t mach_self_cpu_ns(void *ctx)
{
    struct timespec t;
    (void)ctx;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Mach counts faults and switches of tasks, not of threads. */
static void mach_self_usage(void *ctx, struct strobe_usage *out)
{
    (void)ctx;
    *out = (struct strobe_usage){0};
}

static void mach_sleep_until(void *ctx, uint64_t deadline_ticks)
{
    (void)ctx;
    mach_wait_until(deadline_ticks);
}

/* ---- state of a thread ---- */

/* Maps the result of a call on a thread whose port right the table holds. A thread that has ended yields
 * KERN_TERMINATED while the kernel destroys it, MACH_SEND_INVALID_DEST once its port is dead, and KERN_INVALID_ARGUMENT
 * when the kernel finds no thread behind the port. */
static enum strobe_status status_of(kern_return_t answer)
{
    switch (answer) {
    case KERN_SUCCESS: return STROBE_OK;
    case KERN_TERMINATED:
    case MACH_SEND_INVALID_DEST:
    case KERN_INVALID_ARGUMENT: return STROBE_GONE;
    default: return STROBE_UNSUPPORTED;
    }
}

static enum strobe_status basic_info(mach_port_t port, thread_basic_info_data_t *out)
{
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    return status_of(thread_info(port, THREAD_BASIC_INFO, (thread_info_t)out, &count));
}

static uint64_t ns_of_time(time_value_t t)
{
    return (uint64_t)t.seconds * 1000000000u + (uint64_t)t.microseconds * 1000u;
}

/* Acquires the thread's port; the caller ends the use with strobe_mach_threads_done. First releases the previous port
 * if the watchdog was using it. While the watchdog still uses it, returns STROBE_UNSUPPORTED. */
static enum strobe_status acquire_port(struct strobe_mach_host *h, uint32_t tid, mach_port_t *port)
{
    if (h->port_kept) {
        if (strobe_load_acquire(&h->watchdog_busy))
            return STROBE_UNSUPPORTED;
        h->port_kept = false;
        strobe_mach_threads_done(h->threads);
    }
    enum strobe_status status = strobe_mach_threads_use(h->threads, tid, port);
    return status == STROBE_NO_ENTRY ? STROBE_UNSUPPORTED : status;
}

/* STROBE_GONE, STROBE_UNSUPPORTED: see thread_cpu_ns in host.h. */
static enum strobe_status read_info(struct strobe_mach_host *h, uint32_t tid, thread_basic_info_data_t *out)
{
    mach_port_t port;
    enum strobe_status status = acquire_port(h, tid, &port);
    if (status != STROBE_OK)
        return status;
    status = basic_info(port, out);
    strobe_mach_threads_done(h->threads);
    return status;
}

static enum strobe_status mach_thread_cpu_ns(void *ctx, uint32_t tid, uint64_t *out)
{
    thread_basic_info_data_t info;
    enum strobe_status status = read_info(host_of(ctx), tid, &info);
    if (status == STROBE_OK)
        *out = ns_of_time(info.user_time) + ns_of_time(info.system_time);
    return status;
}

static bool mach_thread_runs(void *ctx, uint32_t tid)
{
    thread_basic_info_data_t info = {0};
    return read_info(host_of(ctx), tid, &info) == STROBE_OK && info.run_state == TH_STATE_RUNNING &&
           !(info.flags & TH_FLAGS_IDLE);
}

/* ---- suspend and resume ---- */

static enum strobe_status registers(mach_port_t port, struct strobe_regs *out)
{
#if defined(__aarch64__)
    arm_thread_state64_t r;
    mach_msg_type_number_t count = ARM_THREAD_STATE64_COUNT;
    enum strobe_status status = status_of(thread_get_state(port, ARM_THREAD_STATE64, (thread_state_t)&r, &count));
    if (status == STROBE_OK)
        *out = (struct strobe_regs){.pc = strobe_frame_strip(r.__pc),
                                    .sp = strobe_frame_strip(r.__sp),
                                    .fp = strobe_frame_strip(r.__fp),
                                    .lr = strobe_frame_strip(r.__lr)};
#else
    x86_thread_state64_t r;
    mach_msg_type_number_t count = x86_THREAD_STATE64_COUNT;
    enum strobe_status status = status_of(thread_get_state(port, x86_THREAD_STATE64, (thread_state_t)&r, &count));
    if (status == STROBE_OK)
        *out = (struct strobe_regs){.pc = r.__rip, .sp = r.__rsp, .fp = r.__rbp};
#endif
    return status;
}

/* A thread that is ending is halted. A kernel thread is idle. */
static bool can_be_sampled(const thread_basic_info_data_t *info)
{
    return !(info->flags & TH_FLAGS_IDLE) && info->run_state != TH_STATE_HALTED;
}

/* Waits until the thread has stopped after the suspend at `since`. A thread that is ready to run stops only when it
 * gets a processor. It may need the sampler's processor, so the sampler pauses between polls. STROBE_LATE: the thread
 * did not stop in time. STROBE_GONE: it has ended. STROBE_UNSUPPORTED: it is idle or halted. */
static enum strobe_status await_stop(struct strobe_mach_host *h, mach_port_t port, uint64_t since, uint64_t timeout_ns)
{
    for (uint32_t looks = 1;; looks++) {
        thread_basic_info_data_t info;
        enum strobe_status status = basic_info(port, &info);
        if (status != STROBE_OK)
            return status;
        if (!can_be_sampled(&info))
            return STROBE_UNSUPPORTED;
        if (info.suspend_count > 0 && info.run_state != TH_STATE_RUNNING)
            return STROBE_OK;
        uint64_t now = mach_absolute_time();
        if (now >= since + strobe_ticks_of_ns(&h->host, timeout_ns))
            return STROBE_LATE;
        if (looks >= LOOKS_AT_ONCE)
            mach_wait_until(now + strobe_ticks_of_ns(&h->host, PAUSE_NS));
    }
}

/* Retries a resume that fails, for example because the system has no memory for the message. No other code repeats a
 * failed resume. For a thread that has ended, every try fails. */
static void resume_port(mach_port_t port)
{
    for (int i = 0; i < RESUME_TRIES && thread_resume(port) != KERN_SUCCESS; i++)
        ;
}

/* Resumes the held thread. STROBE_LATE: the watchdog had already claimed it. If the watchdog may still be using the
 * port, the port is kept until acquire_port finds the watchdog done. */
static enum strobe_status resume_held(struct strobe_mach_host *h)
{
    mach_port_t port = (mach_port_t)strobe_hold_claim(&h->hold);
    if (port)
        resume_port(port);
    else
        h->port_kept = strobe_load_acquire(&h->watchdog_busy) != 0;
    if (!h->port_kept)
        strobe_mach_threads_done(h->threads);
    return port ? STROBE_OK : STROBE_LATE;
}

static enum strobe_status suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                  struct strobe_regs *out)
{
    struct strobe_mach_host *h = host_of(ctx);
    mach_port_t port;
    if (strobe_load_relaxed(blocked))
        return STROBE_UNSUPPORTED;
    enum strobe_status status = acquire_port(h, tid, &port);
    if (status != STROBE_OK)
        return status;
    /* Read first, to keep the gap between the suspend and strobe_hold_begin short: the watchdog does not cover it. */
    uint64_t since = mach_absolute_time();
    status = status_of(thread_suspend(port));
    if (status != STROBE_OK) {
        strobe_mach_threads_done(h->threads);
        return status;
    }
    strobe_hold_begin(&h->hold, port, since);
    status = await_stop(h, port, since, timeout_ns);
    if (status == STROBE_OK && strobe_load_relaxed(blocked))
        status = STROBE_UNSUPPORTED;
    if (status == STROBE_OK)
        status = registers(port, out);
    if (status != STROBE_OK)
        resume_held(h);
    return status;
}

/* No work: a suspend on Mach ends no call early, and `suspend` withdraws a late one before it returns. A suspend may
 * therefore reach a thread inside any call. */
static void mach_settle(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
}

static enum strobe_status resume(void *ctx, uint32_t tid)
{
    (void)tid;
    return resume_held(host_of(ctx));
}

bool strobe_mach_host_watch(struct strobe_mach_host *h)
{
    strobe_store_relaxed(&h->watchdog_busy, 1);
    mach_port_t port = (mach_port_t)strobe_hold_overdue(&h->hold, mach_absolute_time(),
                                                        strobe_ticks_of_ns(&h->host, STROBE_MACH_WATCHDOG_NS),
                                                        strobe_ticks_of_ns(&h->host, STROBE_MACH_WALK_NS));
    if (port)
        resume_port(port);
    strobe_store_release(&h->watchdog_busy, 0);
    return port != 0;
}

/* ---- memory ---- */

static bool copy_whole_range(struct strobe_mach_host *h, uint64_t address, void *out, size_t bytes)
{
    vm_size_t got = 0;
    return vm_read_overwrite(h->task, (vm_address_t)address, bytes, (vm_address_t)out, &got) == KERN_SUCCESS &&
           got == bytes;
}

/* vm_read_overwrite copies the whole range or nothing. When the range is not readable as a whole, copies it page by
 * page. */
static enum strobe_status read_task_memory(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    struct strobe_mach_host *h = host_of(ctx);
    *copied = 0;
    if (bytes && copy_whole_range(h, address, out, bytes)) {
        *copied = bytes;
        return STROBE_OK;
    }
    while (*copied < bytes) {
        size_t step = PAGE_LEAST - (size_t)((address + *copied) % PAGE_LEAST), left = bytes - *copied;
        if (step > left)
            step = left;
        if (step == bytes || !copy_whole_range(h, address + *copied, (char *)out + *copied, step))
            break;
        *copied += step;
    }
    return *copied ? STROBE_OK : STROBE_UNREADABLE;
}

/* ---- */

static uint64_t ticks_per_second(void)
{
    mach_timebase_info_data_t base = {0};
    if (mach_timebase_info(&base) != KERN_SUCCESS || !base.numer || !base.denom)
        return 1000000000u;
    return (UINT64_C(1000000000) * base.denom + base.numer / 2) / base.numer;
}

void strobe_mach_host_init(struct strobe_mach_host *h, struct strobe_mach_threads *threads)
{
    *h = (struct strobe_mach_host){
        .host =
            {
                .ticks = mach_ticks,
                .self_cpu_ns = mach_self_cpu_ns,
                .self_usage = mach_self_usage,
                .thread_cpu_ns = mach_thread_cpu_ns,
                .cpu_step_ns = 1000,
                .thread_runs = mach_thread_runs,
                .suspend = suspend,
                .settle = mach_settle,
                .resume = resume,
                .read = read_task_memory,
                .sleep_until = mach_sleep_until,
                .ctx = h,
                .ticks_per_second = ticks_per_second(),
            },
        .threads = threads,
        .task = mach_task_self(),
    };
}
