/* How the kernel shares processors: what a thread asks for at a time. */
#include "bench/costs/costs.h"

#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's own figure; 0 where it has none (before 6.12). */
void costs_line_round(struct sim_costs *out)
{
    /* struct sched_attr of linux/sched/types.h, which the C library's headers do not go with. */
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, rest[3];
    } own = {0};
    out->turn = syscall(SYS_sched_getattr, 0l, &own, sizeof own, 0l) == 0 ? (double)own.runtime : 0;
}
