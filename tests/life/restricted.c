/* A process that restricts its system calls in the way named on the command line, and then continues to work. The
 * filters permit the calls of the program itself and those that the C library makes for it. Any other call is
 * killed, or trapped and counted. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t trapped;
static volatile int others_work = 1;
static volatile unsigned long sum;

static void compute(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int i = 0; i < 1000; i++)
            sum = sum * 31 + (unsigned long)i;
        free(malloc(100));
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 30000000);
}

/* In strict mode the kernel forbids to read the processor's clock. */
static void compute_without_clock(void)
{
    for (int i = 0; i < 20000000; i++)
        sum = sum * 31 + (unsigned long)i;
    free(malloc(100));
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    trapped = trapped + 1;
}

/* Permits the calls of `list`, and answers others with `action`. */
static int filter_calls(const int *list, size_t count, unsigned action, unsigned flags)
{
    struct sock_filter code[64];
    size_t n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)list[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    struct sock_fprog program = {(unsigned short)n, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (flags)
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static const int few[] = {SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_brk, SYS_fstat, SYS_newfstatat};
static const int some[] = {
    SYS_write, SYS_exit,     SYS_exit_group,     SYS_rt_sigreturn, SYS_brk,    SYS_fstat,  SYS_newfstatat,
    SYS_mmap,  SYS_mprotect, SYS_munmap,         SYS_clone3,       SYS_clone,  SYS_rseq,   SYS_set_robust_list,
    SYS_futex, SYS_madvise,  SYS_rt_sigprocmask, SYS_wait4,        SYS_gettid, SYS_getpid, SYS_rt_sigaction};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static void *work(void *unused)
{
    (void)unused;
    while (others_work)
        compute();
    return NULL;
}

static void *work_once(void *unused)
{
    (void)unused;
    compute();
    return NULL;
}

static void check(int r)
{
    if (r != 0) {
        printf("not restricted: %s\n", strerror(errno));
        exit(1);
    }
}

static void print_text(const char *text)
{
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    pthread_t thread;
    struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &trap, NULL);
    setvbuf(stdout, malloc(4096), _IOFBF, 4096);
    free(malloc(300000));
    compute();
    if (!strcmp(way, "strict_ends_by_exit_call")) {
        check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0));
        compute_without_clock();
        print_text("done\n");
        syscall(SYS_exit, 21);
    } else if (!strcmp(way, "strict_by_seccomp_call")) {
        check((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL));
        compute_without_clock();
        print_text("done\n");
        syscall(SYS_exit, 22);
    } else if (!strcmp(way, "strict_killed_at_exit")) {
        check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0));
        compute_without_clock();
        print_text("done\n");
        return 23;
    } else if (!strcmp(way, "strict_beside_worker")) {
        pthread_create(&thread, NULL, work_once, NULL);
        check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0));
        compute_without_clock();
        print_text("done\n");
        syscall(SYS_exit, 0);
    } else if (!strcmp(way, "strict_refused")) {
        check(filter_calls(some, COUNT(some), SECCOMP_RET_ERRNO | EPERM, 0));
        printf("strict after filter: %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0));
        compute();
    } else if (!strcmp(way, "filter_kills_process_at_other_calls")) {
        check(filter_calls(few, COUNT(few), SECCOMP_RET_KILL_PROCESS, 0));
        compute();
        printf("done\n");
    } else if (!strcmp(way, "filter_kills_thread_at_other_calls")) {
        check(filter_calls(few, COUNT(few), SECCOMP_RET_KILL_THREAD, 0));
        compute();
        printf("done\n");
    } else if (!strcmp(way, "filter_traps_other_calls")) {
        check(filter_calls(few, COUNT(few), SECCOMP_RET_TRAP, 0));
        compute();
        getppid();
        getppid();
        compute();
        printf("trapped: %d\n", (int)trapped);
    } else if (!strcmp(way, "filter_and_new_threads")) {
        check(filter_calls(some, COUNT(some), SECCOMP_RET_TRAP, 0));
        pthread_create(&thread, NULL, work_once, NULL);
        pthread_join(thread, NULL);
        printf("trapped: %d\n", (int)trapped);
    } else if (!strcmp(way, "filter_and_fork")) {
        int status;
        check(filter_calls(some, COUNT(some), SECCOMP_RET_TRAP, 0));
        pid_t child = fork();
        if (child == 0) {
            compute();
            _exit(trapped);
        }
        waitpid(child, &status, 0);
        printf("trapped: %d, in the child %d\n", (int)trapped, WEXITSTATUS(status));
    } else if (!strcmp(way, "filter_for_all_threads")) {
        pthread_create(&thread, NULL, work, NULL);
        check(filter_calls(some, COUNT(some), SECCOMP_RET_KILL_PROCESS, SECCOMP_FILTER_FLAG_TSYNC));
        compute();
        others_work = 0;
        pthread_join(thread, NULL);
        printf("done\n");
    } else if (!strcmp(way, "filter_for_all_threads_traps")) {
        pthread_create(&thread, NULL, work, NULL);
        check(filter_calls(some, COUNT(some), SECCOMP_RET_TRAP, SECCOMP_FILTER_FLAG_TSYNC));
        compute();
        others_work = 0;
        pthread_join(thread, NULL);
        printf("trapped: %d\n", (int)trapped);
    } else if (!strcmp(way, "killed_by_filter_process")) {
        check(filter_calls(few, COUNT(few), SECCOMP_RET_KILL_PROCESS, 0));
        compute();
        getppid();
    } else if (!strcmp(way, "killed_by_filter_thread")) {
        check(filter_calls(few, COUNT(few), SECCOMP_RET_KILL_THREAD, 0));
        compute();
        getppid();
    } else if (!strcmp(way, "killed_by_filter_for_all")) {
        check(filter_calls(few, COUNT(few), SECCOMP_RET_KILL_PROCESS, SECCOMP_FILTER_FLAG_TSYNC));
        compute();
        getppid();
    } else {
        return 2;
    }
    return 24;
}
