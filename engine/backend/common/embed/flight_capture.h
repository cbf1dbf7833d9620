/* The flight recorder of this process (engine/flight/flight.h), for all backends: what an option of strobe_start asks
 * for, and the functions strobe_dump and strobe_get_flight_status of strobe/capture.h.
 *
 *   NONE ----> READY      strobe_flight_prepare: the configuration is read, and its folder exists
 *   READY ---> NONE       strobe_flight_abandon: the capture did not begin
 *   READY ---> RUNNING    strobe_flight_begin
 *   RUNNING -> NONE       strobe_flight_end
 *
 * All but strobe_flight_pass and strobe_flight_nudge belong to the thread that has claimed a start or a stop
 * (capture_life.h). */
#ifndef STROBE_BACKEND_COMMON_EMBED_FLIGHT_CAPTURE_H
#define STROBE_BACKEND_COMMON_EMBED_FLIGHT_CAPTURE_H

#include "engine/flight/flight.h"
#include "engine/include/strobe/capture.h"

/* What the recorder needs of a backend. Functions of the same name are described in struct strobe_flight_host. */
struct strobe_flight_backend {
    uint64_t (*ticks)(void);
    void (*wait)(strobe_a32 *word, uint32_t value, int ms);
    void (*wake)(strobe_a32 *word);
    int (*idle_ms)(void);
    void (*blocked_on)(uint32_t thread, uint64_t *what, uint32_t *holder_tid);
    void (*refresh)(void);
    bool (*complete)(void);
    bool (*run_thread)(void (*work)(void)); /* starts a thread of the engine, which is never traced */
    void (*end_thread)(void);               /* waits for the end of that thread; NULL: nothing to wait for */
    uint32_t (*thread_id)(void);            /* of the calling thread */
    void (*read_device)(struct strobe_flight_device *out); /* may be strobe_flight_read_kernel */
    /* Installs the handlers of the signals that the triggers of this recorder name, and removes them. NULL: none. */
    void (*watch_signals)(struct strobe_flight *f);
    void (*leave_signals)(void);
};

/* Reads the device by uname(2): its model is the name of the machine, its level the major number of the release. */
void strobe_flight_read_kernel(struct strobe_flight_device *out);

/* Reads the configuration when the options name one. The statuses are those of strobe_flight_load_config and
 * strobe_dump_folder_open; STROBE_EXISTS: the last recorder's thread has not ended. */
enum strobe_status strobe_flight_prepare(const struct strobe_capture_options *options,
                                         const struct strobe_flight_backend *backend, struct strobe_error *error);
void strobe_flight_abandon(void);

/* Starts the thread of a prepared recorder. The session is published (capture_api.h). When the thread does not start,
 * there is no recorder, and strobe_get_flight_status says so. */
void strobe_flight_begin(void);

/* Ends the recorder before its capture, and waits for its thread, for some seconds at most. */
void strobe_flight_end(void);

/* Forgets the recorder in the child of a fork, which has its state and not its thread. */
void strobe_flight_child(void);

/* Looks at the main thread. Sampler, after each pass. */
void strobe_flight_pass(const struct strobe_session *session, uint64_t now);

/* Lets the thread call idle_ms. Any thread. */
void strobe_flight_nudge(void);

/* Asks for a dump, for the control server. STROBE_NO_ENTRY: there is no recorder. STROBE_UNSUPPORTED: its configuration
 * does not have this trigger. */
enum strobe_status strobe_flight_request(enum strobe_trigger trigger);

#endif
