/* The parts of `strobe capture`: its options, and the app that is captured. */
#ifndef STROBE_CMD_CAPTURE_CAPTURE_H
#define STROBE_CMD_CAPTURE_CAPTURE_H

#include "engine/cmd/capture/adb.h"
#include "engine/cmd/capture/client.h"
#include "engine/cmd/capture/system.h"
#include "engine/trace/export/convert.h"
#include "engine/util/outfile.h"

#include <stdbool.h>
#include <stdint.h>

enum { CAPTURE_SYMBOLS_MAX = 64, CAPTURE_NAME_BYTES = 200 };

struct strobe_capture_request {
    const char *package;         /* an app on a device; or one of the next two */
    const char *socket;          /* an abstract socket of this machine */
    const char *address, *token; /* HOST:PORT */
    const char *serial;          /* of the device; NULL = the only one */
    const char *start;           /* options of the capture, as POST /start takes them; NULL = defaults */
    const char *mapping;         /* mapping.txt; or NULL */
    const char *system;          /* categories of the system's own trace, separated by commas; NULL = no such trace */
    const char *symbols[CAPTURE_SYMBOLS_MAX];
    size_t symbol_count;
    const char *output;
    enum strobe_format format;
    bool session_only; /* the output is the session itself */
    bool restart, replace, quiet;
    uint64_t duration_ns; /* 0 = until Enter */
    uint64_t wait_ns;     /* for the app and its server */
};

/* Parses the command line. Returns 0; or an exit status, with *shown set when the usage was asked for. */
int strobe_capture_parse(int argc, char **argv, struct strobe_capture_request *out, bool *shown);

/* An app with a control server, and what must be undone on its device. */
struct strobe_capture_target {
    const struct strobe_capture_request *request;
    struct strobe_interrupt *interrupt;
    struct strobe_adb adb;
    struct strobe_client client;
    char address[32];                  /* of the forwarded port */
    int port;                          /* forwarded; 0 = none */
    bool property_set;                 /* debug.strobe.start is changed */
    char property[ADB_PROPERTY_BYTES]; /* its value before */
    bool began;                        /* this command has begun the capture that runs */
    uint64_t begin_ns;                 /* when this command began to wait */
    uint64_t last_ms;                  /* the part of a capture of others that is fetched; 0 = all */
    struct strobe_outfile file;        /* for the session */
    const char *path;                  /* of the file while it is open; or NULL */
    struct strobe_system system;       /* the system's own trace */
};

/* Each returns 0, or STROBE_EXIT_BAD after one line; without a line when a signal has arrived. */

/* Opens the file for the session, so that a capture is not made in vain. */
int strobe_capture_open(struct strobe_capture_target *t, const char *path);

/* Reaches the app's server. On a device it checks the app first, or restarts it. */
int strobe_capture_reach(struct strobe_capture_target *t);

/* Begins a capture unless one runs, and ends it if it was begun here. */
int strobe_capture_begin(struct strobe_capture_target *t);
int strobe_capture_end(struct strobe_capture_target *t);

/* Writes the session to the file, with a progress bar on a terminal. */
int strobe_capture_fetch(struct strobe_capture_target *t);

/* Undoes what was done: the capture, the forwarded port, the property, a file that is not complete. Continues after
 * failures, and after signals. */
void strobe_capture_leave(struct strobe_capture_target *t);

#endif
