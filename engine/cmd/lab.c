#include "engine/cmd/lab.h"

#include "engine/cmd/cmd.h"
#include "engine/cmd/preload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int strobe_exec_lab(int argc, char **argv)
{
    static char name[] = "strobe-lab";
    char path[STROBE_PRELOAD_BYTES];
    if (!strobe_library_find(name, path, sizeof path))
        return strobe_complain("%s: it is a command of %s, which is not beside this program nor in ../libexec/strobe",
                               argv[0], name);
    char **line = calloc((size_t)argc + 2, sizeof *line);
    if (!line)
        return strobe_complain("%s: out of memory", argv[0]);
    line[0] = name;
    memcpy(line + 1, argv, (size_t)argc * sizeof *line);
    execv(path, line);
    int error = errno;
    free(line);
    return strobe_complain("%s: %s", path, strerror(error));
}

int strobe_cmd_lab(int argc, char **argv)
{
    return strobe_exec_lab(argc, argv);
}
