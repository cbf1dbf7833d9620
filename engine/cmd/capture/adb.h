/* Steps on an Android device, through the program `adb` on PATH. Each function returns 0, or STROBE_EXIT_BAD after one
 * line on standard error that says what is wrong on the device. After an interrupt it returns without a line. */
#ifndef STROBE_CMD_CAPTURE_ADB_H
#define STROBE_CMD_CAPTURE_ADB_H

#include "engine/cmd/capture/program.h"

enum { ADB_PROPERTY_BYTES = 92 }; /* most bytes of a system property, NUL included */

struct strobe_adb {
    const char *serial; /* of the device; NULL: the only one */
    struct strobe_interrupt *interrupt;
};

/* Checks that one device answers, and that it lets this machine in. */
int strobe_adb_find(const struct strobe_adb *adb);

/* Checks that the package is installed, and that the shell may act as the app: the package is debuggable, or the shell
 * is root's. */
int strobe_adb_check_app(const struct strobe_adb *adb, const char *package);

/* Stores the process id of the app; 0 = it does not run. */
int strobe_adb_find_process(const struct strobe_adb *adb, const char *package, int *pid);

/* Checks that libstrobe.so is mapped in the process. */
int strobe_adb_check_library(const struct strobe_adb *adb, const char *package, int pid);

/* Ends the app, and starts its launcher activity. */
int strobe_adb_restart(const struct strobe_adb *adb, const char *package);

/* Reads or sets the property debug.strobe.start. "" removes it. */
int strobe_adb_get_start(const struct strobe_adb *adb, char value[ADB_PROPERTY_BYTES]);
int strobe_adb_set_start(const struct strobe_adb *adb, const char *value);

/* Runs a command of the device's shell. *status is its exit status, and out->output what it has printed. */
int strobe_adb_shell(const struct strobe_adb *adb, const char *command, int *status, struct strobe_program_result *out);

/* Reads a file of the device. */
int strobe_adb_read_file(const struct strobe_adb *adb, const char *file, const struct strobe_program_sink *sink);

/* Makes connections to a port of this machine arrive at an abstract socket of the device; stores the port. */
int strobe_adb_forward(const struct strobe_adb *adb, const char *socket, int *port);

/* Ends that. adb itself does so when the device is lost, so no failure is reported. */
void strobe_adb_unforward(const struct strobe_adb *adb, int port);

#endif
