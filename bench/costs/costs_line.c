/* How the kernel shares processors: the length of the turn that a thread requests. */
#include "bench/costs/costs.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Reads the kernel's own figure; 0 before Linux 6.12, which has none. */
void costs_line_round(struct sim_costs *out)
{
    /* struct sched_attr of linux/sched/types.h, which cannot be included with the C library's headers. */
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, rest[3];
    } own = {0};
    out->turn = syscall(SYS_sched_getattr, 0l, &own, sizeof own, 0l) == 0 ? (double)own.runtime : 0;
}
