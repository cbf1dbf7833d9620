#include "sim/cmd/cmd.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct strobe_cmd *strobe_cmd_find(const char *name)
{
    for (const struct strobe_cmd *c = strobe_cmds; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

int strobe_complain(const char *format, ...)
{
    char line[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (char *p = line; *p; p++)   /* a path may hold a newline; one complaint stays one line */
        if (*p == '\n' || *p == '\r')
            *p = '?';
    fflush(stdout);
    fprintf(stderr, "strobe: %s\n", line);
    return STROBE_EXIT_BAD;
}

void strobe_output_begin(void)
{
    signal(SIGPIPE, SIG_IGN);
}

int strobe_output_end(int status)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    return strobe_complain("standard output: cannot write: %s", errno ? strerror(errno) : "an earlier write failed");
}
