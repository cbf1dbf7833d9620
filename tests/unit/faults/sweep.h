/* In-process fault sweeps: an operation of the reading half runs once for each call of the C library that it makes, and
 * in each run that call fails (tests/faults/faulty.h). The programs of this directory are linked with faulty_wraps, so
 * only calls from Strobe's own code fail. */
#ifndef STROBE_UNIT_FAULTS_SWEEP_H
#define STROBE_UNIT_FAULTS_SWEEP_H

#include "engine/base/error.h"
#include "engine/base/status.h"

struct sweep {
    const char *name;                                  /* in failures */
    const char *kinds;                                 /* kinds of calls that fail, with blanks between */
    enum strobe_status (*run)(struct strobe_error *e); /* the operation; frees what it took also after a failure */
    const char *output;                                /* its file in the temporary directory; NULL: none */
};

/* Runs the operation without a fault, and then with each fault. It must succeed without one. With one, it either
 * succeeds with the same output, or it fails, leaves no file of that name, and says at most one line. */
void sweep_faults(const struct sweep *s);

/* Writes into the temporary directory a session `name` with records of all kinds, names and a call log. */
void sweep_write_session(const char *name);

#endif
