/* The backends on which `strobe-lab compare --runtime` plays scenarios: the simulated host and the runtimes. */
#ifndef STROBE_SIM_CMD_BACKENDS_H
#define STROBE_SIM_CMD_BACKENDS_H

#include "sim/trial/trial.h"

struct sim_backend {
    const char *name;    /* for --runtime, and of a folder */
    const char *runtime; /* of struct sim_trial_options; NULL: the simulated host */
    bool is_virtual;     /* plays in virtual time; else on real threads, one trial after the other */
    char title[80];
};

enum { SIM_BACKENDS_MAX = 20 };

struct sim_backends {
    struct sim_backend list[SIM_BACKENDS_MAX];
    uint32_t count;
};

/* What --runtime accepts, for messages. */
extern const char sim_backend_names[];

/* Adds the backend of a name, or those of a group; one that is in the list already is not added again. Groups:
 *
 *   virtual   the simulated host, fake Android 24, 28, 30, 34, 36, the fake Mach
 *   all       these and genuine Android 11
 *
 * `name` must stay valid. Returns false for an unknown name. */
bool sim_backends_add(struct sim_backends *b, const char *name);

/* Sets the options of a trial that choose the backend. */
void sim_backend_choose(const struct sim_backend *b, struct sim_trial_options *options);

#endif
