/* Android runtimes that can be started on this machine, one in a process.
 *
 *   fake24 ... fake36   the fake of each level (sim/fake/art), a library beside the command: art/NN/libart.so
 *   art11               Debian's libart, Android 11, where it is installed, or in the folder that STROBE_ART11 names
 *   art14               that of a later Debian release, unpacked into the folder that STROBE_ART14 names
 *
 * All are started alike: the library opened (the genuine ones with what they forget to name), the boot class path made
 * of our own dex files (fixtures/art, held by this program), the virtual machine made by JNI_CreateJavaVM. */
#ifndef STROBE_SIM_GENUINE_RUNTIME_H
#define STROBE_SIM_GENUINE_RUNTIME_H

#include "engine/backend/art/jni.h"
#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct sim_art_options {
    bool interpreted;               /* -Xint: shadow frames; else quick frames where the runtime has them */
    bool inlined;                   /* fakes, not interpreted: small callees are inlined (-Xfake-inlined) */
    const char *const *dex;         /* more dex files of the boot class path, paths, NULL at the end; NULL = none */
    void (*prepare)(void *library); /* fakes: called with the library before it is started; NULL = nothing to do */
    const char *library;            /* another file for the runtime's library; NULL = the one by name */
};

struct sim_art {
    const char *name;
    void *library;            /* as dlopen gave it */
    const char *library_name; /* by which strobe_libart_open finds it */
    int api;
    bool genuine;
    struct strobe_jvm *vm;
    struct strobe_jni *env; /* of the calling thread, its main thread */
};

/* True for a name of the above; *api its level. */
bool sim_art_known(const char *name, int *api);

/* Starts one. STROBE_NO_ENTRY: no such name. STROBE_UNSUPPORTED: it is not installed; `error` has one line, with what
 * to install. STROBE_IO: it did not start. Of its own log only what is fatal goes to standard error, unless
 * ANDROID_LOG_TAGS says otherwise. */
enum strobe_status sim_art_start(const char *name, const struct sim_art_options *options, struct sim_art *out,
                                 struct strobe_error *error);

/* A whole collection on the calling thread, as System.gc has it. By a thread in native code. */
void sim_art_collect(const struct sim_art *art, struct strobe_jni *env);

#endif
