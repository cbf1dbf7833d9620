/* One table of behaviours, for every Android runtime: what the engine relies on. The fakes must behave as the
 * genuine runtimes.
 *
 *     contract_art [-l] [-j JOBS] RUNTIME MODE [CASE...]      MODE: interpreted, quick, inlined
 *
 * -l leaves the heavy cases out. JOBS cases run side by side (default 4), of heavy ones one at a time; what a case
 * prints is shown when it has ended. Each case has a process and a runtime of its own. A case that fails on a fake and
 * passes on a genuine runtime shows a bug of the fake. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_CONTRACT_H
#define STROBE_CONTRACT_ART_SUPPORT_CONTRACT_H

#include "engine/backend/art/libart.h"
#include "sim/genuine/runtime.h"

#include <stdio.h>

enum contract_need {
    CONTRACT_FAKE = 1,  /* looks behind what a tracer can see, or has happen what genuine ones seldom do */
    CONTRACT_QUICK = 2, /* quick frames */
    CONTRACT_INLINED = 4,
    CONTRACT_STOPPED = 8, /* runs before a runtime is started */
    CONTRACT_HEAVY = 16,  /* takes more than about 100 ms of processor time: see run.sh for where it runs */
};

struct contract {
    struct sim_art art;
    struct sim_art_options options;
    const char *runtime;
    struct strobe_libart libart; /* resolved before the case begins */
    int failures;
};

struct contract_case {
    const char *name; /* states a property */
    void (*run)(struct contract *);
    unsigned needs; /* enum contract_need */
};

/* Each file of cases ends with an entry of name NULL. */
extern const struct contract_case contract_cases_stack[], contract_cases_suspend[], contract_cases_monitor[],
    contract_cases_heap[], contract_cases_park[], contract_cases_handover[], contract_cases_thread[],
    contract_cases_hook[], contract_cases_engine[], contract_cases_waits[], contract_cases_life[],
    contract_cases_stress[], contract_cases_without[], contract_cases_symbols[], contract_cases_dex[],
    contract_cases_code[], contract_cases_jni[], contract_cases_visitor[], contract_cases_sampling[],
    contract_cases_held[], contract_cases_wakers[], contract_cases_order[], contract_cases_netease[];

/* Fails the case, which goes on, with what was expected. True when it holds. */
#define CHECK(contract, holds, ...) contract_check(contract, holds, __FILE__, __LINE__, #holds, __VA_ARGS__)
bool contract_check(struct contract *c, bool holds, const char *file, int line, const char *what, const char *format,
                    ...) __attribute__((format(printf, 6, 7)));

/* Ends the case's process: what it needs is not here. */
_Noreturn void contract_skip(const struct contract *c, const char *why);

/* Has the runtime collect its garbage, all of it. By an attached thread that runs native code. */
void contract_collect(struct contract *c);

#endif
