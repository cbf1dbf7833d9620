/* A thread that removes the engine's handler of the stop signal by a raw system call, so that it cannot be stopped.
 * The sampler must skip it, without another cost. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns the thread's own CPU time, so that on a busy machine it computes as long and the sampler visits it as
 * often. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *spin(void *blocks)
{
    volatile long sum = 0;
    unsigned long all = ~0ul;
    if (blocks)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
    for (double until = seconds() + 0.4; seconds() < until;)
        for (int i = 0; i < 3000000; i++)
            sum += i;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, spin, (void *)1);
    pthread_create(&b, NULL, spin, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    puts("done");
    return 0;
}
