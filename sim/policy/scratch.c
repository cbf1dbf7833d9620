#include "sim/policy/scratch.h"

#include <stdio.h>
#include <sys/mman.h>

enum strobe_status sim_scratch_session(const struct strobe_config *config, const char *command,
                                       struct strobe_session *out, char *path, size_t path_bytes)
{
    int fd = memfd_create("strobe-session", MFD_CLOEXEC);
    if (fd < 0)
        return STROBE_IO;
    enum strobe_status status = strobe_session_create_in(fd, config, command, out);
    if (status == STROBE_OK)
        snprintf(path, path_bytes, "/proc/self/fd/%d", fd);
    return status;
}
