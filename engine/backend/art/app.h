/* The app's side of a capture on Android: the public API of strobe/capture.h, and the Java class strobe.Strobe
 * (java/strobe/Strobe.java), whose native methods call it. */
#ifndef STROBE_BACKEND_ART_APP_H
#define STROBE_BACKEND_ART_APP_H

#include "engine/backend/art/art.h"
#include "engine/backend/art/jni.h"
#include "engine/backend/common/embed/control.h"

/* Stores the virtual machine for strobe_start. JNI_OnLoad. */
void strobe_app_remember_vm(struct strobe_jvm *vm);

/* Binds the native methods of strobe.Strobe, if the class loader of the library's caller has the class. Returns false
 * when it does not, or when a method of the class is missing. Attached thread, with no exception pending. */
bool strobe_app_bind_class(struct strobe_jni *env);

/* Names the methods that the running capture has recorded until now (names.h), for a client that fetches its session,
 * and for a dump of the flight recorder. Returns true when the session has got a name. Has no effect when no capture
 * runs. Stops the threads of the runtime for a short time. Attached thread. */
bool strobe_art_name_running(void);

/* Reads the threads' names again. A thread may have got its name after it was registered. While a capture runs, or at
 * its end. */
void strobe_art_renew_thread_names(void);

/* The control server in an app. Its thread is attached to the runtime as a daemon, so that it can start and stop
 * captures. Its descriptors are in the app's table, with high numbers: functions of the runtime that the thread calls
 * use descriptors of the app. */
extern const struct strobe_control_host strobe_art_control;

#endif
