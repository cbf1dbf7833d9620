#include "engine/backend/art/app.h"

#include "engine/backend/art/hooks/events.h"
#include "engine/backend/common/embed/capture_api.h"
#include "engine/base/error_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/prctl.h>

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
