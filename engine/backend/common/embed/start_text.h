/* Options of a capture as text, for a start without a change of the app: an environment variable, a system property or
 * a small file. Options are separated by blanks and line ends:
 *
 *   path=FILE           the session; {pid} in it is replaced by the process id
 *   interval=1ms        CPU time between two samples of a thread; units: ns, us, ms, s
 *   records=N           capacity of the session
 *   keep=newest|oldest  which samples stay when the session is full
 *   replace             overwrite a session that exists
 *   paused              begin paused */
#ifndef STROBE_BACKEND_COMMON_EMBED_START_TEXT_H
#define STROBE_BACKEND_COMMON_EMBED_START_TEXT_H

#include "engine/include/strobe/capture.h"

enum { STROBE_START_PATH_BYTES = 1024 };

/* Reads the options into *options. `path` holds what options->session_path then points to; a text without `path=`
 * leaves options->session_path as it is. `pid` is this process's. STROBE_BAD_INPUT, with one line that names the
 * option: an unknown option, a value out of its form, or a path that is too long. Start only. */
enum strobe_status strobe_read_start_text(const char *text, uint32_t pid, char path[STROBE_START_PATH_BYTES],
                                          struct strobe_capture_options *options, struct strobe_error *error);

#endif
