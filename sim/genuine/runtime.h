/* Android runtimes that can be started on this machine, one in a process.
 *
 *   fake24 ... fake36   the fake of each level (sim/fake/art), a library beside the command: art/NN/libart.so
 *   art11               Debian's libart, Android 11, when it is installed, or in the directory STROBE_ART11
 *   art14               that of a later Debian release, unpacked into the directory STROBE_ART14
 *
 * All are started in the same way: the library is opened (the genuine ones with the libraries that they do not name),
 * the boot class path is made of our own dex files (fixtures/art, contained in this program), and JNI_CreateJavaVM
 * makes the virtual machine. */
#ifndef STROBE_SIM_GENUINE_RUNTIME_H
#define STROBE_SIM_GENUINE_RUNTIME_H

#include "engine/backend/art/jni.h"
#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct sim_art_options {
    bool interpreted;               /* -Xint: shadow frames; else quick frames if the runtime has them */
    bool inlined;                   /* fakes, not interpreted: small callees are inlined (-Xfake-inlined) */
    const char *const *dex;         /* further dex files for the boot class path, paths, NULL at the end; NULL = none */
    void (*prepare)(void *library); /* fakes: called with the library before the start; NULL = not called */
    const char *library;            /* another file for the runtime's library; NULL = the default file */
};

struct sim_art {
    const char *name;
    void *library;            /* handle of dlopen */
    const char *library_name; /* name by which strobe_libart_open finds it */
    int api;
    bool genuine;
    struct strobe_jvm *vm;
    struct strobe_jni *env; /* of the main thread, which called sim_art_start */
};

/* Returns true for one of these names; *api is its level. */
bool sim_art_known(const char *name, int *api);

/* Starts a runtime. STROBE_NO_ENTRY: no such name. STROBE_UNSUPPORTED: it is not installed; `error` has one line that
 * says what to install. STROBE_IO: it did not start. Of its own log only fatal messages go to standard error, unless
 * ANDROID_LOG_TAGS is set. */
enum strobe_status sim_art_start(const char *name, const struct sim_art_options *options, struct sim_art *out,
                                 struct strobe_error *error);

/* Makes a full collection on the calling thread, like System.gc. The thread must be in native code. */
void sim_art_collect(const struct sim_art *art, struct strobe_jni *env);

#endif
