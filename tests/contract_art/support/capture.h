/* A capture of the case's own runtime by the engine, and queries of its session. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_CAPTURE_H
#define STROBE_CONTRACT_ART_SUPPORT_CAPTURE_H

#include "engine/backend/art/art.h"
#include "tests/contract_art/support/contract.h"
#include "tests/support/temporary.h"

struct capture {
    struct contract *contract;
    struct strobe_art_status status;
    char path[TEMPORARY_BYTES];
    struct strobe_session session; /* a view of the session, after capture_end */
    bool open;
};

/* Fills in a config for tests, with which every event and every scope is recorded. */
void capture_config(struct strobe_config *config);

/* Captures have managed frames only while it is set. */
extern bool capture_managed_only;

/* Begins a capture into a new session, as an app does that supplies no inline hooker. Returns false, and fails the
 * case, when the capture does not begin. */
bool capture_begin(struct contract *c, const struct strobe_config *config, struct capture *out);

/* As capture_begin, with the app's own inline hooker; NULL = without inline hooks. */
bool capture_begin_by(struct contract *c, const struct strobe_config *config, const struct strobe_inline_hooker *hooker,
                      struct capture *out);

/* The same, with any options. The session, the library and its level are filled in. */
bool capture_begin_with(struct contract *c, const struct strobe_config *config, struct strobe_art_options options,
                        struct capture *out);

/* Queries of the session that is being written, for the thread with this id: the kind of the wait that it is in, or 0,
 * and the number of the sampler's samples of it. */
enum strobe_kind capture_wait_of(const struct capture *k, uint32_t tid);
uint64_t capture_count_async(const struct capture *k, uint32_t tid);

/* Ends the capture, checks that its accounting is consistent, and opens the session. */
void capture_end(struct capture *k);
void capture_drop(struct capture *k);

bool capture_has(const struct capture *k, enum strobe_art_use feature);

/* Calls `visit` for each record of the session. */
void capture_visit(const struct capture *k, void (*visit)(void *ctx, const struct strobe_record *r), void *ctx);

/* Returns the number of events of this kind, over all threads. */
uint64_t capture_requests(const struct capture *k, enum strobe_kind kind);

/* Returns the index in the session's table of the thread with this name; UINT32_MAX when there is none. */
uint32_t capture_thread(const struct capture *k, const char *name);

/* Returns the name of a managed frame of a stack, counted from the innermost managed frame. Returns "" when there is no
 * such frame. */
const char *capture_frame(const struct capture *k, uint32_t stack, uint32_t depth);

/* Returns a hash of the code of the runtime's library, which hooks change. */
uint64_t capture_code_sum(const struct contract *c);

/* Calls a static method of the workload's class Main. */
void capture_call(struct contract *c, const char *name, const char *signature, int32_t argument);

#endif
