/* `strobe report --findings`: problems in a session, in a text of events or in a thread dump. */
#ifndef STROBE_CMD_REPORT_FINDINGS_H
#define STROBE_CMD_REPORT_FINDINGS_H

#include "engine/watch/watch_timeline.h"

/* Sets the default options. */
void strobe_report_findings_defaults(struct strobe_findings_options *o);

/* Handles one option of findings: its name without "--", and its value. Returns 0, or an exit status after a complaint
 * that begins with the command's name, or -1 for other options. */
int strobe_report_findings_option(struct strobe_findings_options *o, const char *command, const char *option,
                                  const char *value);

/* Returns true when the file is a text of events (engine/watch/watch_text.h) or a thread dump of ART. */
bool strobe_is_findings_text(const char *path);

/* Prints the findings and returns the exit status. */
int strobe_report_findings(const char *path, const struct strobe_findings_options *options, uint32_t width, int json);

#endif
