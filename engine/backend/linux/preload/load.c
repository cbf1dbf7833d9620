/* Constructor of libstrobe-preload.so. It starts the capture of a program that `strobe record` runs. */
#include "engine/backend/linux/preload/control_thread.h"
#include "engine/backend/linux/preload/environment.h"
#include "engine/backend/linux/preload/preload.h"
#include "engine/backend/linux/preload/real.h"

#include <sys/syscall.h>
#include <unistd.h>

__attribute__((constructor)) static void start_by_environment(void)
{
    struct strobe_session session;
    strobe_real();
    strobe_environment_take();
    if (strobe_environment_open_session((uint32_t)syscall(SYS_getpid), &session) && strobe_preload_start(&session))
        strobe_linux_control_start();
}
