/* Findings of `strobe doctor` about this machine and about a program: one finding for each fact. */
#ifndef STROBE_CMD_DOCTOR_H
#define STROBE_CMD_DOCTOR_H

#include <stddef.h>

enum strobe_health {
    STROBE_HEALTH_OK,
    STROBE_HEALTH_NOTE,    /* works, with a limit */
    STROBE_HEALTH_MISSING, /* `strobe record` does not work without it */
};

struct strobe_finding {
    enum strobe_health health;
    const char *about; /* a short, stable word */
    char text[512];    /* one or two sentences */
};

enum { STROBE_FINDINGS_MAX = 64 };

struct strobe_findings {
    struct strobe_finding list[STROBE_FINDINGS_MAX];
    size_t count;
};

/* Adds a finding; `format` is a printf format. */
void strobe_find(struct strobe_findings *f, enum strobe_health health, const char *about, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds findings about this machine. Changes nothing on it. */
void strobe_find_machine(struct strobe_findings *f);

/* Adds findings about the configuration of a flight recorder. Returns 0, or STROBE_EXIT_BAD after a complaint that
 * names the line that is wrong. */
int strobe_find_flight(struct strobe_findings *f, const char *path);

/* Adds findings about the program `name` (a path, or a command in PATH), and about how it would be recorded. */
void strobe_find_program(struct strobe_findings *f, const char *name);

#endif
