/* What `strobe doctor` finds out about this machine and about a program: one finding a fact, in plain words. */
#ifndef STROBE_CMD_DOCTOR_H
#define STROBE_CMD_DOCTOR_H

#include <stddef.h>

enum strobe_health {
    STROBE_HEALTH_OK,
    STROBE_HEALTH_NOTE,    /* works, but worth knowing */
    STROBE_HEALTH_MISSING, /* `strobe record` cannot do without */
};

struct strobe_finding {
    enum strobe_health health;
    const char *about; /* a short, stable word */
    char text[512];    /* one sentence or two */
};

enum { STROBE_FINDINGS_MAX = 64 };

struct strobe_findings {
    struct strobe_finding list[STROBE_FINDINGS_MAX];
    size_t count;
};

/* Adds one; `format` as for printf. */
void strobe_find(struct strobe_findings *f, enum strobe_health health, const char *about, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What this machine allows. Changes nothing on it. */
void strobe_find_machine(struct strobe_findings *f);

/* What `name`, a path or a command along PATH, is, and how it would be recorded. */
void strobe_find_program(struct strobe_findings *f, const char *name);

#endif
