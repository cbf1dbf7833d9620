/* The workload (tests/contract_art/app) as a tracer meets it: addresses of its methods, its variables, the runtime's
 * objects and threads, a host. What a case takes for granted, and is not there, ends its process with a line. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_WORKLOAD_H
#define STROBE_CONTRACT_ART_SUPPORT_WORKLOAD_H

#include "engine/backend/art/host_art.h"
#include "tests/contract_art/support/contract.h"

/* Addresses of ArtMethods. */
uint64_t workload_static(struct strobe_jni *env, const char *class, const char *name, const char *signature);
uint64_t workload_method(struct strobe_jni *env, const char *class, const char *name, const char *signature);

/* Binds a native method. */
void workload_bind(struct strobe_jni *env, const char *class, const char *name, const char *signature, void *function);

/* Static fields. */
int32_t workload_int(struct strobe_jni *env, const char *class, const char *field);
void workload_set_bool(struct strobe_jni *env, const char *class, const char *field, bool value);

/* The Thread of a java.lang.Thread that has been started; waits for it to have one. */
void *workload_thread_of(struct strobe_jni *env, strobe_jobject thread);

/* What discovery says; by an attached thread. */
struct strobe_art_runtime workload_runtime(struct contract *c);

/* A host on this runtime whose table knows nobody yet. For the life of the process. */
struct strobe_art_host *workload_host(struct contract *c);

uint32_t workload_tid(void); /* the kernel's id of the calling thread */
void workload_pause(unsigned ms);

#endif
