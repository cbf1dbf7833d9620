#include "engine/backend/common/embed/capture_api.h"

#include "engine/backend/linux/preload/control_thread.h"
#include "engine/backend/linux/preload/environment.h"
#include "engine/backend/linux/preload/flight_thread.h"
#include "engine/backend/linux/preload/hook.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/restrict.h"
#include "engine/base/error_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* States of the process's capture by strobe_start:
 *
 *   IDLE     -> STARTING   strobe_start, by compare-and-swap: one caller succeeds
 *   STARTING -> RUNNING    strobe_start: the capture has begun
 *   STARTING -> IDLE       strobe_start: the capture could not begin, and none has begun before
 *   STARTING -> STOPPED    strobe_start: the capture could not begin, and another has ended
 *   RUNNING  -> STOPPING   strobe_stop, by compare-and-swap
 *   STOPPING -> STOPPED    strobe_stop: the capture has ended
 *   STOPPED  -> STARTING   strobe_start, by compare-and-swap
 *   any      -> FORKED     fork, in the child, unless the state is IDLE */
enum { IDLE, STARTING, RUNNING, STOPPING, STOPPED, FORKED };
static strobe_a32 capture_stage;

static void mark_child_forked(void)
{
    if (strobe_load_relaxed(&capture_stage) != IDLE)
        strobe_store_relaxed(&capture_stage, FORKED);
}

/* ---- start ---- */

static enum strobe_status return_error(enum strobe_status status, struct strobe_error *error, const char *reason)
{
    strobe_error_set(error, "%s", reason);
    return status;
}

/* Returns true when this library's definition of a hooked function comes before the C library's in the process. */
static bool hooks_precede_libc(void)
{
    Dl_info first, own;
    void *hooked = dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
    return hooked && dladdr(hooked, &first) && dladdr(&capture_stage, &own) && first.dli_fbase == own.dli_fbase;
}

/* Returns true when another copy of the library captures the process. That is the copy which `strobe record` has
 * loaded, when this copy is linked statically. */
static bool is_captured_by_other_copy(void)
{
    void (*get)(struct strobe_capture_status *);
    struct strobe_capture_status status;
    *(void **)&get = dlsym(RTLD_NEXT, "strobe_get_status");
    if (!get)
        return false;
    get(&status);
    return status.state != STROBE_CAPTURE_IDLE;
}

static enum strobe_status check_process(struct strobe_error *error)
{
    if (strobe_preload.stuck)
        return return_error(STROBE_EXISTS, error, "the last capture's threads have not ended");
    bool recorded = strobe_preload.started && !strobe_preload.late && !strobe_preload_is_closed();
    if (recorded || is_captured_by_other_copy())
        return return_error(STROBE_EXISTS, error, "the process is captured already, by strobe record");
    if (strobe_restricted)
        return return_error(STROBE_UNSUPPORTED, error, "the calling thread is restricted by seccomp");
    if (!hooks_precede_libc())
        return return_error(
            STROBE_UNSUPPORTED, error,
            "the library's functions do not take the place of the C library's: link strobe-capture before "
            "other libraries, with the flags that pkg-config prints");
    return STROBE_OK;
}

static enum strobe_status open_session(const struct strobe_capture_options *o, const struct strobe_config *config,
                                       struct strobe_session *out, struct strobe_error *error)
{
    char command[1024];
    strobe_linux_command(command, sizeof command);
    enum strobe_status status = strobe_capture_create(o, config, command, out, error);
    if (status != STROBE_OK || out->header)
        return status;
    status = strobe_session_attach(o->session_path, (uint32_t)getpid(), out);
    if (status != STROBE_OK)
        strobe_error_set(error, "%s: %s", o->session_path, strobe_status_text(status));
    return status;
}

static enum strobe_status start_capture(const struct strobe_capture_options *o, struct strobe_error *error)
{
    static bool watches_forks;
    struct strobe_config config;
    struct strobe_session session;
    enum strobe_status status = strobe_capture_config(o, &config, error);
    config.unwind = STROBE_UNWIND_DWARF;
    if (status == STROBE_OK)
        status = check_process(error);
    if (status == STROBE_OK)
        status = strobe_flight_prepare(o, &strobe_linux_flight, error);
    if (status == STROBE_OK)
        status = strobe_control_prepare(o, &strobe_linux_control, error);
    if (status == STROBE_OK)
        status = open_session(o, &config, &session, error);
    if (status != STROBE_OK) {
        strobe_control_abandon();
        strobe_flight_abandon();
        return status;
    }
    if (!watches_forks)
        watches_forks = pthread_atfork(NULL, NULL, mark_child_forked) == 0;
    const char *path = o->session_path ? o->session_path : "";
    if (strobe_preload_start_late(&session, path, o->paused)) {
        strobe_flight_begin();
        strobe_control_launch(path);
        return STROBE_OK;
    }
    strobe_control_abandon();
    strobe_flight_abandon();
    strobe_capture_discard(o);
    return return_error(STROBE_NO_MEMORY, error, "there is no memory for the engine");
}

enum strobe_status strobe_start(const struct strobe_capture_options *options, struct strobe_error *error)
{
    uint32_t before = strobe_load_relaxed(&capture_stage);
    if (before == FORKED)
        return return_error(STROBE_UNSUPPORTED, error, "a child of a captured process cannot be captured");
    if ((before != IDLE && before != STOPPED) || !strobe_cas_acquire(&capture_stage, &before, STARTING))
        return return_error(STROBE_EXISTS, error, "a capture is under way");
    enum strobe_status status = start_capture(options, error);
    strobe_store_release(&capture_stage, status == STROBE_OK ? RUNNING : before);
    return status;
}

/* ---- stop ---- */

enum strobe_status strobe_stop(void)
{
    uint32_t before = RUNNING;
    if (!strobe_cas_acquire(&capture_stage, &before, STOPPING))
        return STROBE_NO_ENTRY;
    strobe_flight_end();
    bool closed = strobe_preload_end();
    strobe_store_release(&capture_stage, STOPPED);
    return closed ? STROBE_OK : STROBE_LATE;
}

void strobe_set_thread_name(const char *name)
{
    int saved = errno;
    prctl(PR_SET_NAME, name); /* the hook of prctl also renames the thread in the session */
    errno = saved;
}

struct strobe_thread *strobe_capture_thread(uint32_t on)
{
    return strobe_hook_thread(on);
}
