/* A process that ends in one of the ways named on the command line. Its output shows each exit handler and each
 * flush of stdio. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_t main_thread;
static long pause_us = 2000;

static void on_exit_report(void)
{
    printf("exit handler\n");
}

static void wait_a_little(void)
{
    usleep((useconds_t)pause_us);
}

static void *return_later(void *unused)
{
    (void)unused;
    wait_a_little();
    printf("worker returns, ");
    return NULL;
}

/* A leader that has ended is kept as a zombie until the last thread ends; a zombie has no program file. */
static void wait_for_the_end_of_main(void)
{
    char byte;
    while (readlink("/proc/self/exe", &byte, 1) >= 0)
        wait_a_little();
}

/* The process' exit status is that of the thread that ends last. */
static void *return_after_main(void *unused)
{
    wait_for_the_end_of_main();
    printf("worker returns, ");
    return unused;
}

static void *exit_raw(void *unused)
{
    (void)unused;
    wait_for_the_end_of_main();
    printf("lost: nobody flushes this");
    syscall(SYS_exit, 5);
    return NULL;
}

static void *exit_with_7(void *unused)
{
    (void)unused;
    wait_a_little();
    exit(7);
}

static void *exit_at_once_with_8(void *unused)
{
    (void)unused;
    wait_a_little();
    _exit(8);
}

static void *exit_thread(void *unused)
{
    (void)unused;
    wait_a_little();
    pthread_exit(NULL);
}

static void *cancel_main(void *unused)
{
    (void)unused;
    pthread_cancel(main_thread);
    wait_a_little();
    printf("main is cancelled, ");
    return NULL;
}

static void *loop_for_ever(void *unused)
{
    for (volatile unsigned long n = 1; n; n++)
        continue;
    return unused;
}

/* Exits like a program without a C library. */
static void exit_by_instruction(long number, long status)
{
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(number), "D"(status) : "rcx", "r11", "memory");
#else
    syscall(number, status);
#endif
}

static void start(void *(*routine)(void *), int count, int detached)
{
    for (int i = 0; i < count; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, routine, NULL) != 0)
            abort();
        if (detached)
            pthread_detach(t);
    }
}

/* The forking thread becomes the leader of the child. It ends before another thread of the child does. */
static void *fork_and_exit_thread(void *unused)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        start(return_later, 2, 1);
        pthread_exit(NULL);
    }
    waitpid(child, &status, 0);
    printf("child's status %x\n", (unsigned)status);
    (void)unused;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    pause_us = argc > 2 ? atol(argv[2]) : pause_us;
    main_thread = pthread_self();
    atexit(on_exit_report);
    printf("%s: ", way);
    if (!strcmp(way, "main_exits_worker_returns")) {
        start(return_later, 1, 0);
        pthread_exit(NULL);
    } else if (!strcmp(way, "main_exits_workers_return")) {
        start(return_later, 8, 1);
        pthread_exit(NULL);
    } else if (!strcmp(way, "main_exits_worker_exits_thread")) {
        start(exit_thread, 3, 1);
        pthread_exit(NULL);
    } else if (!strcmp(way, "main_exits_alone")) {
        pthread_exit(NULL);
    } else if (!strcmp(way, "main_raw_exit_worker_returns")) {
        start(return_after_main, 2, 0);
        syscall(SYS_exit, 3);
    } else if (!strcmp(way, "main_raw_exit_alone")) {
        fflush(stdout);
        syscall(SYS_exit, 4);
    } else if (!strcmp(way, "main_exit_instruction_alone")) {
        fflush(stdout);
        usleep(20000);
        exit_by_instruction(SYS_exit, 12);
    } else if (!strcmp(way, "process_exits_by_instruction")) {
        start(loop_for_ever, 2, 0);
        fflush(stdout);
        exit_by_instruction(SYS_exit_group, 14);
    } else if (!strcmp(way, "process_exits_by_raw_exit_group")) {
        start(loop_for_ever, 2, 0);
        syscall(SYS_exit_group, 13);
    } else if (!strcmp(way, "main_exits_worker_raw_exit")) {
        start(exit_raw, 1, 0);
        pthread_exit(NULL);
    } else if (!strcmp(way, "main_raw_exit_worker_raw_exit")) {
        start(exit_raw, 2, 0);
        syscall(SYS_exit, 6);
    } else if (!strcmp(way, "main_exits_worker_calls_exit")) {
        start(exit_with_7, 1, 0);
        pthread_exit(NULL);
    } else if (!strcmp(way, "two_workers_call_exit_at_once")) {
        start(exit_at_once_with_8, 2, 0);
        pthread_exit(NULL);
    } else if (!strcmp(way, "main_is_cancelled")) {
        start(cancel_main, 1, 0);
        for (;;)
            pause();
    } else if (!strcmp(way, "main_returns_workers_live")) {
        start(loop_for_ever, 2, 0);
        wait_a_little();
        return 9;
    } else if (!strcmp(way, "main_exits_quickly")) {
        start(loop_for_ever, 1, 0);
        fflush(stdout);
        quick_exit(10);
    } else if (!strcmp(way, "forked_from_worker")) {
        pthread_t t;
        pthread_create(&t, NULL, fork_and_exit_thread, NULL);
        pthread_join(t, NULL);
        return 11;
    } else {
        return 2;
    }
    return 1;
}
