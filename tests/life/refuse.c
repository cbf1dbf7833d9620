/* Runs a command on a kernel that refuses some system calls:
 *
 *   refuse CALL=ERROR,... COMMAND ARGUMENT...
 *
 * CALL is one of `calls`, ERROR the number of an error. The command `work` is this program itself: it computes, waits
 * and starts threads, and prints what it did. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PERF_REFRESH = 0x2402, NEGATIVE = 0x80000000, WORKERS = 3 };

/* Calls with a certain argument only: those that the engine makes, and programs and the C library do not. */
static const struct call {
    const char *name;
    unsigned number;
    int argument; /* -1: any */
    unsigned value;
} calls[] = {
    {"perf_event_open", SYS_perf_event_open, -1, 0},
    {"process_vm_readv", SYS_process_vm_readv, -1, 0},
    {"close_range", SYS_close_range, -1, 0},
    {"renameat2", SYS_renameat2, -1, 0},
    {"fallocate", SYS_fallocate, -1, 0},
    {"sched_setscheduler", SYS_sched_setscheduler, -1, 0},
    {"rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, -1, 0},
    {"readlinkat", SYS_readlinkat, -1, 0},
    {"getrusage", SYS_getrusage, -1, 0},
    {"wipe_on_fork", SYS_madvise, 2, MADV_WIPEONFORK},
    {"huge_pages", SYS_madvise, 2, MADV_HUGEPAGE},
    {"thread_name", SYS_prctl, 0, PR_GET_NAME},
    {"raise_descriptor", SYS_fcntl, 1, F_DUPFD_CLOEXEC},
    {"owner_of_signal", SYS_fcntl, 1, F_SETOWN_EX},
    {"refresh_of_clock", SYS_ioctl, 1, PERF_REFRESH},
    {"clock_of_thread", SYS_clock_gettime, 0, NEGATIVE}, /* and all above: negative numbers */
};

static const struct call *find_call(const char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strlen(calls[i].name) == bytes && !strncmp(calls[i].name, name, bytes))
            return &calls[i];
    fprintf(stderr, "refuse: %.*s: expected a call of the list\n", (int)bytes, name);
    exit(2);
}

/* Appends the check of a call: its number, its argument, and the error. */
static size_t add_check(struct sock_filter *code, const struct call *c, unsigned error)
{
    size_t n = 0, past = c->argument < 0 ? 1 : 3;
    unsigned argument = offsetof(struct seccomp_data, args) + 8 * (unsigned)(c->argument < 0 ? 0 : c->argument);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->number, 0, (unsigned char)past);
    if (c->argument >= 0) {
        unsigned short compare = c->value == NEGATIVE ? BPF_JGE : BPF_JEQ;
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | compare | BPF_K, c->value, 0, 1);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    return n;
}

static void refuse(const char *list)
{
    struct sock_filter code[64];
    size_t n = 0;
    while (*list && n + 6 < sizeof code / sizeof *code) {
        size_t name = strcspn(list, "=");
        char *end;
        const struct call *c = find_call(list, name);
        n += add_check(code + n, c, (unsigned)strtoul(list + name + 1, &end, 10));
        list = end + (*end == ',');
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("refuse");
        exit(2);
    }
}

/* ---- work ---- */

static sem_t begun;
static volatile unsigned long sum;

__attribute__((noinline)) void compute_10_ms(void)
{
    struct timespec now;
    do {
        for (int i = 0; i < 10000; i++)
            sum = sum * 31 + (unsigned long)i;
        free(malloc(100));
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec == 0 && now.tv_nsec < 10000000);
}

static void *live(void *unused)
{
    (void)unused;
    sem_wait(&begun);
    compute_10_ms();
    return NULL;
}

static int work(void)
{
    pthread_t thread[WORKERS];
    sem_init(&begun, 0, 0);
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&thread[i], NULL, live, NULL))
            return 1;
    compute_10_ms();
    for (int i = 0; i < WORKERS; i++)
        sem_post(&begun);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
    puts("done");
    return 7;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "work"))
        return work();
    if (argc < 3) {
        fprintf(stderr, "refuse: expected CALL=ERROR,... COMMAND ARGUMENT...\n");
        return 2;
    }
    refuse(argv[1]);
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 2;
}
