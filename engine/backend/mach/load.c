/* How an app comes to have it: the library is linked, or inserted (DYLD_INSERT_LIBRARIES), and STROBE_SESSION in its
 * environment. */
#include "engine/backend/mach/mach.h"
#include "engine/base/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The app runs on whatever becomes of the capture: one line, to standard error. */
static void say(const char *why)
{
    static const char head[] = "strobe: ", tail[] = "\n";
    (void)!write(2, head, sizeof head - 1);
    (void)!write(2, why, strlen(why));
    (void)!write(2, tail, sizeof tail - 1);
}

__attribute__((constructor)) static void enter(void)
{
    const char *path = getenv("STROBE_SESSION");
    struct strobe_error error;
    if (path && strobe_mach_start(&(struct strobe_mach_options){.session_path = path}, NULL, &error) != STROBE_OK)
        say(error.text);
}

__attribute__((destructor)) static void leave(void)
{
    strobe_mach_stop();
}
