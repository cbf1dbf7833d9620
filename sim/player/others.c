#include "sim/player/others.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *burn_processor(void *unused)
{
    for (volatile uint64_t turns = 0;; turns++)
        continue;
    return unused;
}

_Noreturn static void run_busy_process(uint32_t threads, uint32_t cores, pid_t parent)
{
    pthread_t thread;
    sim_real_use_cores(cores);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    for (uint32_t i = 1; i < threads; i++)
        if (pthread_create(&thread, NULL, burn_processor, NULL) != 0)
            _exit(1);
    burn_processor(NULL);
    _exit(0);
}

pid_t sim_real_others_start(uint32_t threads, uint32_t cores)
{
    pid_t parent = getpid(), child = threads ? fork() : 0;
    if (threads && child == 0)
        run_busy_process(threads, cores, parent);
    return child;
}

void sim_real_others_end(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

bool sim_real_use_cores(uint32_t cores)
{
    cpu_set_t may, use;
    CPU_ZERO(&use);
    if (sched_getaffinity(0, sizeof may, &may) != 0)
        return false;
    for (int i = 0; i < CPU_SETSIZE && cores; i++)
        if (CPU_ISSET(i, &may)) {
            CPU_SET(i, &use);
            cores--;
        }
    return sched_setaffinity(0, sizeof use, &use) == 0;
}
