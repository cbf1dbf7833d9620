/* A capture of the case's own runtime, by the engine and the lab's detours, and what its session then says. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_CAPTURE_H
#define STROBE_CONTRACT_ART_SUPPORT_CAPTURE_H

#include "engine/backend/art/art.h"
#include "tests/contract_art/support/contract.h"
#include "tests/support/temporary.h"

struct capture {
    struct contract *contract;
    struct strobe_art_status status;
    char path[TEMPORARY_BYTES];
    struct strobe_session session; /* after capture_end: a view of it */
    bool open;
};

/* Fills in a config for tests: every event is a sample, and every scope. */
void capture_config(struct strobe_config *config);

/* Begins one into a session of its own; the case fails when it does not. */
bool capture_begin(struct contract *c, const struct strobe_config *config, struct capture *out);

/* The same by an inline hooker of the case's choice, or none. */
bool capture_begin_by(struct contract *c, const struct strobe_config *config, const struct strobe_inline_hooker *hooker,
                      struct capture *out);

/* Ends it, checks that its accounts are whole, and opens the session. */
void capture_end(struct capture *k);
void capture_drop(struct capture *k);

bool capture_has(const struct capture *k, enum strobe_art_use feature);

/* Calls visit with each record. */
void capture_visit(const struct capture *k, void (*visit)(void *ctx, const struct strobe_record *r), void *ctx);

/* Of all threads. */
uint64_t capture_requests(const struct capture *k, enum strobe_kind kind);

/* The thread of that name, as an index into the session's table; UINT32_MAX = none. */
uint32_t capture_thread(const struct capture *k, const char *name);

/* The name of a stack's frame, counted from the innermost; "" = there is none, or it was not named. */
const char *capture_frame(const struct capture *k, uint32_t stack, uint32_t depth);

/* The calling thread's static method of the workload's class Main, called. */
void capture_call(struct contract *c, const char *name, const char *signature, int32_t argument);

#endif
