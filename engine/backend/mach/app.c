/* The public API of strobe/capture.h in an iOS or macOS app. */
#include "engine/backend/common/embed/capture_api.h"
#include "engine/backend/mach/events.h"
#include "engine/base/error.h"

#include <errno.h>

enum strobe_status strobe_start(const struct strobe_capture_options *options, struct strobe_error *error)
{
    struct strobe_config config;
    enum strobe_status status = strobe_capture_config(options, &config, error);
    return status == STROBE_OK ? strobe_mach_start(&(struct strobe_mach_options){.create = options}, NULL, error)
                               : status;
}

enum strobe_status strobe_stop(void)
{
    struct strobe_capture_status status;
    strobe_get_status(&status);
    if (status.state != STROBE_CAPTURE_RUNNING && status.state != STROBE_CAPTURE_PAUSED)
        return STROBE_NO_ENTRY;
    strobe_mach_stop();
    return strobe_load_acquire(&strobe_mach.engine.session.header->state) == STROBE_SESSION_CLOSED ? STROBE_OK
                                                                                                   : STROBE_LATE;
}

void strobe_set_thread_name(const char *name)
{
    int saved = errno;
    struct strobe_thread *t = strobe_capture_thread(strobe_switched());
    pthread_setname_self_np(name); /* the library's own calls meet no hook */
    if (t)
        strobe_thread_rename(t, name);
    errno = saved;
}

struct strobe_thread *strobe_capture_thread(uint32_t on)
{
    return strobe_mach_thread(on, "a function of strobe/capture.h");
}
