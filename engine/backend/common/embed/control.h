/* The control server of this process (engine/control/server.h), for all backends: what an option of strobe_start asks
 * for, and the server's actions in terms of the functions of strobe/capture.h.
 *
 *   NONE ----> OPEN       strobe_control_prepare: the socket listens
 *   OPEN ----> NONE       strobe_control_abandon: the capture did not begin
 *   OPEN ----> STARTING   strobe_control_launch, before it starts the thread
 *   STARTING -> SERVING   the thread, in the program's table of descriptors
 *   STARTING -> APART     the thread, in a table of its own (Linux)
 *   SERVING, APART -> NONE   the thread, at the end of the server
 *
 * prepare, abandon and launch belong to the thread that has claimed a start (capture_life.h). */
#ifndef STROBE_BACKEND_COMMON_EMBED_CONTROL_H
#define STROBE_BACKEND_COMMON_EMBED_CONTROL_H

#include "engine/control/server.h"
#include "engine/include/strobe/capture.h"

/* What the server needs of a backend. */
struct strobe_control_host {
    enum strobe_status (*stop)(struct strobe_error *error); /* ends the capture */
    bool (*feature)(void *ctx, uint32_t index, char *out, size_t bytes);
    uint64_t (*ticks)(void);                /* now, in ticks of the session */
    bool (*complete)(void);                 /* adds what a running capture's session lacks until its end, and
                                               returns true when it has added something; or NULL */
    bool (*run_thread)(void (*work)(void)); /* starts a thread of the engine, which is never traced */
    int (*idle_ms)(void);                   /* see struct strobe_control_options; may be NULL */
    int (*raise)(int fd);                   /* the same */
    /* On the server's thread: leaves the program's table of descriptors and takes only `listener` along. Returns false
     * when the thread stays in that table. NULL: it stays. */
    bool (*leave_table)(int listener);
    bool (*admits_shell)(void); /* whether Android's shell is served; NULL: no */
};

/* Opens the server's socket when the options ask for a server and none runs. STROBE_EXISTS, STROBE_IO,
 * STROBE_UNSUPPORTED, with one line in `error`: nothing has changed. */
enum strobe_status strobe_control_prepare(const struct strobe_capture_options *options,
                                          const struct strobe_control_host *host, struct strobe_error *error);

/* Closes the socket that strobe_control_prepare has opened. */
void strobe_control_abandon(void);

/* Starts the thread of a server that strobe_control_prepare has opened, and returns when it serves. For TCP, writes
 * `SESSION.control`, which has the port and the token. When the thread does not start, there is no server. */
void strobe_control_launch(const char *session_path);

/* Closes the server's descriptors. In the child of a fork, which has the state and not the thread. */
void strobe_control_child(void);

/* Asks the server to end, and waits for its end, for some seconds at most. */
void strobe_control_end(void);

/* Lets the server call idle_ms. Has no effect without a server. Any thread. */
void strobe_control_look(void);

#endif
