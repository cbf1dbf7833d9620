/* A start waits for threads that may still use the memory of a capture that has ended (common/capture_memory.h). */
#ifndef STROBE_BACKEND_LINUX_AWAIT_THREADS_H
#define STROBE_BACKEND_LINUX_AWAIT_THREADS_H

#include "engine/host/host.h"
#include "engine/store/session.h"

/* Waits until each thread of the session that is still alive has used CPU time during this call, or waits for something
 * else than a processor. A thread that was off its processor for long is then not where it was before. Waits at most a
 * second in all. Not for the threads of a capture that runs: the calling thread is left out, and others may start. */
void strobe_linux_await_threads(const struct strobe_host *host, const struct strobe_session *session);

#endif
