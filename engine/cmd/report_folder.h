/* The report of a directory of sessions from `strobe record --follow`: programs and processes. */
#ifndef STROBE_CMD_REPORT_FOLDER_H
#define STROBE_CMD_REPORT_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

/* Prints the report to standard output, with at most `top` programs and processes (0 = all). Returns the exit status,
 * which is 1 when the accounting of a session is not consistent. */
int strobe_report_folder(const char *path, uint32_t top, bool json);

#endif
