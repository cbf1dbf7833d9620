#include "engine/backend/art/app.h"

#include "engine/backend/art/detour/detour_hold.h"
#include "engine/backend/art/hooks/events.h"
#include "engine/backend/art/own_thread.h"
#include "engine/backend/common/embed/capture_api.h"
#include "engine/backend/linux/descriptors.h"
#include "engine/base/error_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct strobe_jvm *app_vm; /* stored before the app can call strobe_start */

void strobe_app_remember_vm(struct strobe_jvm *vm)
{
    app_vm = vm;
}

/* Returns the virtual machine. A library that the app's native code is linked with, or opens by dlopen, gets no
 * JNI_OnLoad; then the runtime's exported function finds the virtual machine. */
static struct strobe_jvm *find_vm(void)
{
    int32_t (*list)(struct strobe_jvm **, int32_t, int32_t *);
    struct strobe_jvm *found = NULL;
    int32_t count = 0;
    if (app_vm)
        return app_vm;
    *(void **)&list = dlsym(RTLD_DEFAULT, "JNI_GetCreatedJavaVMs");
    return list && list(&found, 1, &count) == STROBE_JNI_OK && count == 1 ? found : NULL;
}

enum strobe_status strobe_start(const struct strobe_capture_options *options, struct strobe_error *error)
{
    struct strobe_config config;
    struct strobe_jvm *vm = find_vm();
    enum strobe_status status = strobe_capture_config(options, &config, error);
    if (status != STROBE_OK)
        return status;
    if (!vm) {
        strobe_error_set(error, "the process has no Java virtual machine");
        return STROBE_UNSUPPORTED;
    }
    return strobe_art_start(vm, &(struct strobe_art_options){.create = options}, NULL, error);
}

enum strobe_status strobe_stop(void)
{
    struct strobe_jvm *vm = find_vm();
    struct strobe_capture_status status;
    strobe_get_status(&status);
    if (status.state != STROBE_CAPTURE_RUNNING && status.state != STROBE_CAPTURE_PAUSED)
        return STROBE_NO_ENTRY;
    if (!vm || !strobe_jvm_env(vm))
        return STROBE_UNSUPPORTED;
    strobe_art_stop();
    return strobe_load_acquire(&strobe_art.engine.session.header->state) == STROBE_SESSION_CLOSED ? STROBE_OK
                                                                                                  : STROBE_LATE;
}

void strobe_set_thread_name(const char *name)
{
    int saved = errno;
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_capture_thread(on);
    prctl(PR_SET_NAME, name);
    if (t)
        strobe_thread_rename(t, name);
    errno = saved;
}

struct strobe_thread *strobe_capture_thread(uint32_t on)
{
    return strobe_art_thread(on);
}

/* ---- the control server ---- */

static void (*control_work)(void);

/* The thread blocks all signals, so it cannot be held while code is patched. It calls hooked code only when it starts
 * or ends a capture, and it is then the thread that patches. */
static void art_control_work(void)
{
    strobe_detour_never_hold((uint32_t)syscall(SYS_gettid));
    control_work();
}

static struct strobe_art_own control_own = {.name = "strobe-control", .work = art_control_work};

static bool run_art_control_thread(void (*work)(void))
{
    static bool forks_watched;
    struct strobe_error error;
    if (!forks_watched)
        forks_watched = pthread_atfork(NULL, NULL, strobe_control_child) == 0;
    control_work = work;
    return strobe_art_own_begin(&control_own, strobe_art.vm, &error);
}

static enum strobe_status stop_art_capture(struct strobe_error *error)
{
    (void)error;
    return strobe_stop();
}

static bool describe_art_feature(void *ctx, uint32_t index, char *out, size_t bytes)
{
    struct strobe_art_status s;
    uint32_t use = STROBE_ART_SUSPEND + index;
    (void)ctx;
    if (strobe_art_status(&s) != STROBE_OK || use >= STROBE_ART_USES)
        return false;
    struct strobe_error line, on;
    strobe_error_join(&on, s.on >> use & 1 ? "in place" : "off", s.off[use]);
    strobe_error_join(&line, strobe_art_use_name((enum strobe_art_use)use), on.text);
    strobe_error_copy(&line, out, bytes);
    return true;
}

/* Android makes the processes of debuggable apps dumpable, and of no other apps. */
static bool is_app_debuggable(void)
{
    return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
}

const struct strobe_control_host strobe_art_control = {
    .stop = stop_art_capture,
    .feature = describe_art_feature,
    .ticks = strobe_art_now,
    .complete = strobe_art_name_running,
    .run_thread = run_art_control_thread,
    .raise = strobe_linux_raise_descriptor,
    .admits_shell = is_app_debuggable,
};
