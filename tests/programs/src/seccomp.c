/* A program that gives up system calls half-way:  seccomp HOW ROUNDS
 *
 *   strict    SECCOMP_MODE_STRICT in the only thread: read, write, _exit and sigreturn remain, all else kills it
 *   errno     a filter on all threads: what is not on its list fails with EPERM
 *   kill      a filter on the calling thread alone: what is not on its list kills the process
 *   tsync     the same on all threads */
#include "tests/programs/src/work.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static DEFINE_WORK(before_the_filter, 0xbf58476d1ce4e5b9u) static DEFINE_WORK(behind_the_filter, 0x94d049bb133111ebu)

    static uint64_t rounds,
    of_thread;
static int started;

/* The C library's own needs of a thread that computes, writes and ends. Allocation is not among them. */
static const unsigned allowed[] = {SYS_read,       SYS_write,        SYS_futex,          SYS_exit,
                                   SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_madvise,
                                   SYS_munmap,     SYS_newfstatat,   SYS_fstat,          SYS_restart_syscall};

static void set_filter(uint32_t refusal, unsigned flags)
{
    enum { COUNT = sizeof allowed / sizeof *allowed };
    struct sock_filter code[COUNT + 3];
    unsigned n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < COUNT; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], (uint8_t)(COUNT - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refusal);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program)) {
        perror("seccomp");
        exit(9);
    }
}

static void *work(void *unused)
{
    (void)unused;
    __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    for (uint64_t i = 0; i < rounds; i++)
        of_thread += before_the_filter(10000, i);
    return NULL;
}

static void print_result(uint64_t sum)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%llu\n", (unsigned long long)sum);
    if (write(1, line, (size_t)length) != length)
        _exit(8);
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[1] : "";
    rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; i++)
        sum += before_the_filter(10000, i);
    if (!strcmp(how, "strict")) {
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) {
            perror("prctl");
            return 9;
        }
        for (uint64_t i = 0; i < rounds; i++)
            sum += behind_the_filter(10000, i);
        print_result(sum);
        syscall(SYS_exit, 6);
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL))
        return 9;
    while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
        usleep(100);
    if (!strcmp(how, "errno"))
        set_filter(SECCOMP_RET_ERRNO | EPERM, SECCOMP_FILTER_FLAG_TSYNC);
    else if (!strcmp(how, "kill"))
        set_filter(SECCOMP_RET_KILL_PROCESS, 0);
    else if (!strcmp(how, "tsync"))
        set_filter(SECCOMP_RET_KILL_PROCESS, SECCOMP_FILTER_FLAG_TSYNC);
    else
        return 9;
    for (uint64_t i = 0; i < rounds; i++)
        sum += behind_the_filter(10000, i);
    pthread_join(thread, NULL);
    print_result(sum + of_thread);
    return 6;
}
