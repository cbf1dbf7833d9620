/* Start and stop of a capture at load and unload of the library. The app links the library, or DYLD_INSERT_LIBRARIES
 * inserts it. The environment variable STROBE_SESSION names the session. */
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

__attribute__((constructor)) static void start_mach_by_environment(void)
{
    const char *path = getenv("STROBE_SESSION");
    struct strobe_error error;
    if (path && strobe_mach_start(&(struct strobe_mach_options){.session_path = path}, NULL, &error) != STROBE_OK)
        print_refusal(error.text);
}

__attribute__((destructor)) static void stop_mach_at_exit(void)
{
    strobe_mach_stop();
}
