#include "engine/backend/linux/preload/control_thread.h"

#include "engine/backend/linux/descriptors.h"
#include "engine/backend/linux/preload/environment.h"
#include "engine/backend/linux/preload/own_threads.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/base/error.h"

#include <linux/close_range.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHECK_MS = 1000 };

/* strobe_stop does not end a capture of `strobe record`. */
static enum strobe_status stop_linux_capture(struct strobe_error *error)
{
    enum strobe_status status = strobe_stop();
    (void)error;
    if (status != STROBE_NO_ENTRY || !strobe_preload_is_recorded_process())
        return status;
    return strobe_preload_end() ? STROBE_OK : STROBE_LATE;
}

static const char *describe_samples(const struct strobe_preload *p)
{
    if (!p->engine->config.async_interval_ns)
        return "samples between hooks: off, not asked for";
    return p->host.tick ? "samples between hooks: by the threads' CPU clocks"
                        : "samples between hooks: by a sampler that stops threads";
}

static bool describe_linux_feature(void *ctx, uint32_t index, char *out, size_t bytes)
{
    const struct strobe_preload *p = &strobe_preload;
    (void)ctx;
    if (!p->engine->session.header || index > 1)
        return false;
    const char *line = index                                             ? describe_samples(p)
                       : p->engine->config.unwind == STROBE_UNWIND_DWARF ? "stacks: by call frame information"
                                                                         : "stacks: by frame pointers";
    size_t n = strnlen(line, bytes - 1);
    memcpy(out, line, n);
    out[n] = '\0';
    return true;
}

int strobe_linux_find_idle_time(void)
{
    if (strobe_own_threads_running())
        return -1;
    return strobe_own_threads_alone() ? STROBE_CONTROL_END : CHECK_MS;
}

static bool leave_program_descriptors(int listener)
{
    prctl(PR_SET_NAME, "strobe-control");
    if (syscall(SYS_close_range, 0u, (unsigned)listener - 1, CLOSE_RANGE_UNSHARE) != 0)
        return false;
    syscall(SYS_close_range, (unsigned)listener + 1, ~0u, 0);
    return true;
}

const struct strobe_control_host strobe_linux_control = {
    .stop = stop_linux_capture,
    .feature = describe_linux_feature,
    .ticks = strobe_linux_now,
    .run_thread = strobe_own_thread_start_lasting,
    .idle_ms = strobe_linux_find_idle_time,
    .raise = strobe_linux_raise_descriptor,
    .leave_table = leave_program_descriptors,
};

static void print_no_server(const struct strobe_error *error)
{
    struct strobe_error line;
    strobe_error_join(&line, "strobe", error->text);
    size_t n = strnlen(line.text, sizeof line.text - 2);
    line.text[n] = '\n';
    (void)!syscall(SYS_write, 2, line.text, n + 1);
}

void strobe_linux_control_start(void)
{
    struct strobe_capture_options options = {.control = strobe_environment_control()};
    struct strobe_error error;
    if (!options.control[0])
        return;
    if (strobe_control_prepare(&options, &strobe_linux_control, &error) == STROBE_OK)
        strobe_control_launch("");
    else
        print_no_server(&error);
}
