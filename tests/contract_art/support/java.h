/* Java from C, for cases: calls through the tables of JNI, and attached threads. Every call may leave an exception
 * pending; java_thrown clears it. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_JAVA_H
#define STROBE_CONTRACT_ART_SUPPORT_JAVA_H

#include "engine/backend/art/jni.h"

#include <pthread.h>
#include <stdbool.h>

/* Calls a static method of a class. `arguments` are as JNI takes them; NULL = none. The signature determines the type
 * of the returned value. A missing method ends the process, because the case is then wrong. */
union strobe_jvalue java_static(struct strobe_jni *env, const char *class, const char *name, const char *signature,
                                const union strobe_jvalue *arguments);

/* As java_static, for a method of an object's own class. */
union strobe_jvalue java_virtual(struct strobe_jni *env, strobe_jobject object, const char *name, const char *signature,
                                 const union strobe_jvalue *arguments);

/* Returns a global reference to a new object. Does not run a constructor. */
strobe_jobject java_new(struct strobe_jni *env, const char *class);
strobe_jobject java_global(struct strobe_jni *env, strobe_jobject object);
strobe_jobject java_weak(struct strobe_jni *env, strobe_jobject object);
void java_drop(struct strobe_jni *env, strobe_jobject global);
bool java_same(struct strobe_jni *env, strobe_jobject a, strobe_jobject b);

int java_enter(struct strobe_jni *env, strobe_jobject object); /* 0 = success */
int java_exit(struct strobe_jni *env, strobe_jobject object);
void java_wait(struct strobe_jni *env, strobe_jobject object, int64_t ms);
void java_notify(struct strobe_jni *env, strobe_jobject object, bool all);
bool java_holds(struct strobe_jni *env, strobe_jobject object);

/* Returns true when an exception of this class is pending. Clears any pending exception. */
bool java_thrown(struct strobe_jni *env, const char *class);

/* A thread that attaches to the runtime, calls `run` and detaches. */
struct java_thread {
    struct strobe_jvm *vm;
    void (*run)(struct strobe_jni *env, void *arg);
    void *arg;
    pthread_t thread;
    strobe_jobject peer; /* its java.lang.Thread, once it runs; a global reference */
    _Atomic int running; /* 1 = attached, 2 = `run` has returned */
    _Atomic int tid;
};

/* Starts the thread and waits until it is attached. */
void java_thread_start(struct java_thread *t, struct strobe_jvm *vm, void (*run)(struct strobe_jni *, void *),
                       void *arg);
void java_thread_join(struct java_thread *t);

/* Waits until the thread has slept in the kernel for some milliseconds, or has ended. */
void java_thread_asleep(const struct java_thread *t);

#endif
