/* Serves one file over HTTP to a page in a browser on this machine, until the page has fetched it.
 *
 * Any web site that the user visits can send requests to the server. It therefore serves on 127.0.0.1 only, one path
 * only, only to requests whose field Host has this address (so that no name can be made to point here), and allows one
 * origin only to read the answer (https://fetch.spec.whatwg.org/#http-cors-protocol). Browsers ask before a public page
 * may fetch from this machine (https://wicg.github.io/private-network-access); the answer is yes for that origin. */
#ifndef STROBE_CMD_OPEN_SERVE_H
#define STROBE_CMD_OPEN_SERVE_H

#include <stdint.h>

struct strobe_serve {
    int listener;   /* a socket that listens */
    int file;       /* the file, from its begin */
    uint64_t bytes; /* its size */
    uint16_t port;
    const char *path;   /* "/NAME" */
    const char *origin; /* of the page that may fetch it: "https://ui.perfetto.dev" */
};

/* Listens on 127.0.0.1. Port 0 chooses one. Returns a socket, and sets *port; -1 with errno. */
int strobe_serve_listen(uint16_t *port);

/* Answers requests until the file was sent as a whole and its receiver has closed. Requests that do not arrive within
 * 10 s are dropped, so a client that sends nothing delays no other one. Returns 0; -1 with errno when the file cannot
 * be read or the listener fails. */
int strobe_serve_once(const struct strobe_serve *s);

#endif
