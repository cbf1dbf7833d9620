/* Options of a capture as text, for a start without a change of the app: an environment variable, a system property or
 * a small file. Options are separated by blanks and line ends:
 *
 *   path=FILE           the session; {pid} in it is replaced by the process id
 *   interval=1ms        CPU time between two samples of a thread; units: ns, us, ms, s
 *   records=N           capacity of the session
 *   keep=newest|oldest  which samples stay when the session is full
 *   replace             overwrite a session that exists
 *   paused              begin paused
 *   control=NAME        a control server on the abstract Unix socket of this name; {pid} is replaced
 *   control-port=N      a control server on this port of 127.0.0.1; `any`: a free port
 *   flight=FILE         a flight recorder with this configuration; {pid} is replaced */
#ifndef STROBE_BACKEND_COMMON_EMBED_START_TEXT_H
#define STROBE_BACKEND_COMMON_EMBED_START_TEXT_H

#include "engine/control/socket.h"
#include "engine/include/strobe/capture.h"

enum { STROBE_START_PATH_BYTES = 1024 };

/* What the texts of options point to. */
struct strobe_start_texts {
    char path[STROBE_START_PATH_BYTES];
    char control[STROBE_CONTROL_NAME_BYTES];
    char flight[STROBE_START_PATH_BYTES];
};

/* Reads the options into *options. `texts` holds what options->session_path, ->control and ->flight then point to; a
 * text without them leaves them as they are. `pid` is this process's. STROBE_BAD_INPUT, with one line that names the
 * option: an unknown option, a value out of its form, or a path that is too long. Start only. */
enum strobe_status strobe_read_start_text(const char *text, uint32_t pid, struct strobe_start_texts *texts,
                                          struct strobe_capture_options *options, struct strobe_error *error);

#endif
