/* Resource use of the whole process, for its time series. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_PROCESS_H
#define STROBE_BACKEND_LINUX_PRELOAD_PROCESS_H

#include "engine/backend/linux/host_linux.h"
#include "engine/capture/series.h"

/* Writes the present values, for thread `thread`:
 *
 *   CPU time    CLOCK_PROCESS_CPUTIME_ID
 *   footprint   /proc/self/statm, resident less shared pages: anonymous memory, which a program's allocations and
 *               stacks use. Mapped files, also the session's own, and swapped-out memory do not count
 *   threads     links of /proc/self/task less two, less the engine's own threads
 *
 * A value that the system does not provide is left out. Takes 10 to 20 us, most of it for statm, which needs a
 * descriptor. `own_files` is true in the sampler thread, which has its own descriptor table. Other callers use the
 * program's table and set it to false; the footprint is then left out. */
void strobe_process_record(const struct strobe_linux *l, struct strobe_sampler *s, uint32_t thread, bool own_files);

/* Returns the number of threads of the process, including a leader that has ended; 0 when the system does not provide
 * it. */
uint64_t strobe_process_thread_count(void);

#endif
