/* `strobe report --findings`: what in a session, or in a dump of threads, is worth a person's time. */
#ifndef STROBE_CMD_REPORT_FINDINGS_H
#define STROBE_CMD_REPORT_FINDINGS_H

#include "engine/watch/watch_timeline.h"

/* Defaults. */
void strobe_report_findings_defaults(struct strobe_findings_options *o);

/* Takes one of the options of findings: what follows "--", and its value. 0, or an exit status after a complaint that
 * begins with the command's name; -1: none of theirs. */
int strobe_report_findings_option(struct strobe_findings_options *o, const char *command, const char *option,
                                  const char *value);

/* True when the file is a text of events (engine/watch/watch_text.h), or of threads as ART writes it. */
bool strobe_is_findings_text(const char *path);

/* Prints them; returns the exit status. */
int strobe_report_findings(const char *path, const struct strobe_findings_options *options, uint32_t width, int json);

#endif
