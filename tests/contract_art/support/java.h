/* Java from C, for cases: what is called through JNI's tables, and threads that are attached. Every call may leave an
 * exception pending; java_thrown takes it. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_JAVA_H
#define STROBE_CONTRACT_ART_SUPPORT_JAVA_H

#include "engine/backend/art/jni.h"

#include <pthread.h>
#include <stdbool.h>

/* A static method of a class by its signature, with arguments as JNI takes them; NULL = none. The value is what the
 * signature says. A method that is not there ends the process: a case is wrong then. */
union strobe_jvalue java_static(struct strobe_jni *env, const char *class, const char *name, const char *signature,
                                const union strobe_jvalue *arguments);
/* The same of an object, by its own class. */
union strobe_jvalue java_virtual(struct strobe_jni *env, strobe_jobject object, const char *name, const char *signature,
                                 const union strobe_jvalue *arguments);

/* A new object without its constructor being run, a global reference. */
strobe_jobject java_new(struct strobe_jni *env, const char *class);
strobe_jobject java_global(struct strobe_jni *env, strobe_jobject object);
strobe_jobject java_weak(struct strobe_jni *env, strobe_jobject object);
void java_drop(struct strobe_jni *env, strobe_jobject global);
bool java_same(struct strobe_jni *env, strobe_jobject a, strobe_jobject b);

int java_enter(struct strobe_jni *env, strobe_jobject object); /* 0 = done */
int java_exit(struct strobe_jni *env, strobe_jobject object);
void java_wait(struct strobe_jni *env, strobe_jobject object, int64_t ms);
void java_notify(struct strobe_jni *env, strobe_jobject object, bool all);
bool java_holds(struct strobe_jni *env, strobe_jobject object);

/* The exception that is pending is of a class; it no longer is pending. False: there is none, or another. */
bool java_thrown(struct strobe_jni *env, const char *class);

/* A thread that attaches, runs, detaches. */
struct java_thread {
    struct strobe_jvm *vm;
    void (*run)(struct strobe_jni *env, void *arg);
    void *arg;
    pthread_t thread;
    strobe_jobject peer; /* its java.lang.Thread, once it runs; a global reference */
    _Atomic int running; /* 1 = attached, 2 = over */
    _Atomic int tid;
};
/* Returns when it is attached. */
void java_thread_start(struct java_thread *t, struct strobe_jvm *vm, void (*run)(struct strobe_jni *, void *),
                       void *arg);
void java_thread_join(struct java_thread *t);
/* Waits until it sleeps in the kernel and has for a moment. */
void java_thread_asleep(const struct java_thread *t);

#endif
