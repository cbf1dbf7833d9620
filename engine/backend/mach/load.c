/* Start and stop of a capture at load and unload of the library. The app links the library, or DYLD_INSERT_LIBRARIES
 * inserts it. The environment may ask for a capture:
 *
 *   STROBE_SESSION   the path of a session that another program has created
 *   STROBE_START     options of a new session (start_text.h), with path= */
#include "engine/backend/common/embed/start_text.h"
#include "engine/backend/mach/mach.h"
#include "engine/base/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes one line to standard error. The app runs on when the capture cannot start. */
static void print_refusal(const char *why)
{
    static const char head[] = "strobe: ", tail[] = "\n";
    (void)!write(2, head, sizeof head - 1);
    (void)!write(2, why, strlen(why));
    (void)!write(2, tail, sizeof tail - 1);
}

static enum strobe_status start_as_environment_says(struct strobe_error *error)
{
    struct strobe_start_texts texts;
    struct strobe_capture_options create = {0};
    struct strobe_error why;
    const char *session = getenv("STROBE_SESSION"), *text = getenv("STROBE_START");
    if (session)
        return strobe_mach_start(&(struct strobe_mach_options){.session_path = session}, NULL, error);
    if (!text)
        return STROBE_OK;
    enum strobe_status status = strobe_read_start_text(text, (uint32_t)getpid(), &texts, &create, &why);
    if (status == STROBE_OK)
        return strobe_start(&create, error);
    strobe_error_join(error, "STROBE_START", why.text);
    return status;
}

__attribute__((constructor)) static void start_mach_by_environment(void)
{
    struct strobe_error error;
    if (start_as_environment_says(&error) != STROBE_OK)
        print_refusal(error.text);
}

__attribute__((destructor)) static void stop_mach_at_exit(void)
{
    strobe_mach_stop();
}
