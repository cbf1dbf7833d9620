/* What the process as a whole uses, for its time series. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_PROCESS_H
#define STROBE_BACKEND_LINUX_PRELOAD_PROCESS_H

#include "engine/backend/linux/host_linux.h"
#include "engine/capture/series.h"

/* Writes the values of this instant, for thread `thread`:
 *
 *   CPU time    CLOCK_PROCESS_CPUTIME_ID
 *   footprint   /proc/self/statm, resident less shared pages: anonymous memory, which is what a program's allocations
 *               and stacks take. Mapped files, the session's own among them, are not in it; nor is what was swapped out
 *   threads     links of /proc/self/task but two
 *
 * What the system does not tell is left out. Takes 10 to 20 us, most of it statm, which needs a descriptor: where the
 * descriptor table is the program's (not the sampler thread's own), `own_files` is false and the footprint left out. */
void strobe_process_tell(const struct strobe_linux *l, struct strobe_sampler *s, uint32_t thread, bool own_files);

/* Threads of the process, a leader that has ended among them; 0 when the system does not tell. */
uint64_t strobe_process_thread_count(void);

#endif
