#include "engine/backend/linux/preload/real.h"

#include "engine/base/atomic.h"

#include <dlfcn.h>
#include <string.h>

struct strobe_real strobe_real_table;

#define ENTRY(name)                                                                                                    \
    {                                                                                                                  \
#name, offsetof(struct strobe_real, name)                                                                      \
    }

static const struct {
    const char *name;
    size_t offset;
} entries[] = {
    ENTRY(malloc),
    ENTRY(free),
    ENTRY(calloc),
    ENTRY(realloc),
    ENTRY(reallocarray),
    ENTRY(posix_memalign),
    ENTRY(aligned_alloc),
    ENTRY(memalign),
    ENTRY(valloc),
    ENTRY(pvalloc),
    ENTRY(pthread_mutex_lock),
    ENTRY(pthread_mutex_trylock),
    ENTRY(pthread_mutex_timedlock),
    ENTRY(pthread_mutex_clocklock),
    ENTRY(pthread_mutex_unlock),
    ENTRY(pthread_rwlock_rdlock),
    ENTRY(pthread_rwlock_tryrdlock),
    ENTRY(pthread_rwlock_timedrdlock),
    ENTRY(pthread_rwlock_wrlock),
    ENTRY(pthread_rwlock_trywrlock),
    ENTRY(pthread_rwlock_timedwrlock),
    ENTRY(pthread_rwlock_unlock),
    ENTRY(pthread_cond_wait),
    ENTRY(pthread_cond_timedwait),
    ENTRY(pthread_cond_clockwait),
    ENTRY(pthread_cond_signal),
    ENTRY(pthread_cond_broadcast),
    ENTRY(pthread_barrier_wait),
    ENTRY(sem_wait),
    ENTRY(sem_trywait),
    ENTRY(sem_timedwait),
    ENTRY(sem_clockwait),
    ENTRY(sem_post),
    ENTRY(read),
    ENTRY(write),
    ENTRY(pread64),
    ENTRY(pwrite64),
    ENTRY(readv),
    ENTRY(writev),
    ENTRY(__read_chk),
    ENTRY(__pread64_chk),
    ENTRY(open64),
    ENTRY(openat64),
    ENTRY(__open64_2),
    ENTRY(creat64),
    ENTRY(fsync),
    ENTRY(fdatasync),
    ENTRY(close),
    ENTRY(pipe2),
    ENTRY(pipe),
    ENTRY(socketpair),
    ENTRY(eventfd),
    ENTRY(eventfd_read),
    ENTRY(eventfd_write),
    ENTRY(epoll_create),
    ENTRY(epoll_create1),
    ENTRY(epoll_ctl),
    ENTRY(dup),
    ENTRY(dup2),
    ENTRY(dup3),
    ENTRY(poll),
    ENTRY(ppoll),
    ENTRY(__poll_chk),
    ENTRY(select),
    ENTRY(pselect),
    ENTRY(epoll_wait),
    ENTRY(epoll_pwait),
    ENTRY(connect),
    ENTRY(accept),
    ENTRY(accept4),
    ENTRY(send),
    ENTRY(sendto),
    ENTRY(sendmsg),
    ENTRY(sendmmsg),
    ENTRY(recv),
    ENTRY(__recv_chk),
    ENTRY(recvfrom),
    ENTRY(__recvfrom_chk),
    ENTRY(recvmsg),
    ENTRY(recvmmsg),
    ENTRY(mq_receive),
    ENTRY(mq_timedreceive),
    ENTRY(mq_send),
    ENTRY(mq_timedsend),
    ENTRY(nanosleep),
    ENTRY(clock_nanosleep),
    ENTRY(usleep),
    ENTRY(sleep),
    ENTRY(clock_gettime),
    ENTRY(gettimeofday),
    ENTRY(pthread_create),
    ENTRY(pthread_join),
    ENTRY(pthread_timedjoin_np),
    ENTRY(pthread_setname_np),
    ENTRY(prctl),
    ENTRY(sigaction),
    ENTRY(signal),
    ENTRY(sigprocmask),
    ENTRY(pthread_sigmask),
    ENTRY(sigsuspend),
    ENTRY(pause),
    ENTRY(sigwait),
    ENTRY(sigwaitinfo),
    ENTRY(sigtimedwait),
    ENTRY(signalfd),
    ENTRY(dlopen),
    ENTRY(dlclose),
    ENTRY(execve),
    ENTRY(execvpe),
    ENTRY(fexecve),
    ENTRY(_exit),
    ENTRY(wait4),
    ENTRY(waitpid),
    ENTRY(wait),
    ENTRY(waitid),
    ENTRY(posix_spawn),
    ENTRY(posix_spawnp),
    ENTRY(system),
    ENTRY(popen),
};

/* The pointer of a function that this C library lacks stays NULL. Its hook is then never called. */
void strobe_real_find(void)
{
    static strobe_a32 finding;
    uint32_t idle = 0;
    if (!strobe_cas_acq_rel(&finding, &idle, 1))
        return;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *f = dlsym(RTLD_NEXT, entries[i].name);
        memcpy((char *)&strobe_real_table + entries[i].offset, &f, sizeof f);
    }
    strobe_real_table.found = true;
}
