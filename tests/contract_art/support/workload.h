/* Access to the workload (tests/contract_art/app) as a tracer has it: addresses of its methods, its variables, the
 * runtime's objects and threads, a host. When one of these is missing, the function prints a line and ends the case's
 * process. */
#ifndef STROBE_CONTRACT_ART_SUPPORT_WORKLOAD_H
#define STROBE_CONTRACT_ART_SUPPORT_WORKLOAD_H

#include "engine/backend/art/host_art.h"
#include "tests/contract_art/support/contract.h"

/* Return the address of a method's ArtMethod. */
uint64_t workload_static(struct strobe_jni *env, const char *class, const char *name, const char *signature);
uint64_t workload_method(struct strobe_jni *env, const char *class, const char *name, const char *signature);

/* Binds a native method to a function. */
void workload_bind(struct strobe_jni *env, const char *class, const char *name, const char *signature, void *function);

/* Read and write static fields. */
int32_t workload_int(struct strobe_jni *env, const char *class, const char *field);
void workload_set_bool(struct strobe_jni *env, const char *class, const char *field, bool value);

/* Returns the art::Thread of a java.lang.Thread that has been started, and waits until it has one. */
void *workload_thread_of(struct strobe_jni *env, strobe_jobject thread);

/* Returns the result of discovery. Called by an attached thread. */
struct strobe_art_runtime workload_runtime(struct contract *c);

/* Returns a host on this runtime with an empty thread table. It is never freed. */
struct strobe_art_host *workload_host(struct contract *c);

uint32_t workload_tid(void); /* the kernel's id of the calling thread */
void workload_pause(unsigned ms);

#endif
