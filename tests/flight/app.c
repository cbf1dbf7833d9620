/* A program for tests of the flight recorder: records itself with a recorder, and does what its command says.
 *
 *   app CONFIG COMMAND [SECONDS]
 *
 *   hang       the main thread waits for a mutex that the thread `holder` holds while it sleeps
 *   call       asks for a dump
 *   many       asks for a dump again and again, without end
 *   idle       does nothing
 *   segv       writes to address 8
 *   caught     the same, with a handler from before the start, which prints "caught" and ends with status 3
 *   abort      calls abort
 *   sent       sends SIGBUS to itself
 *   fpe        divides by 0, while SIGFPE had the default action
 *   control    idle, with a control server on the abstract socket strobe-flight-PID
 *   fork       forks after the start; the child crashes
 *
 * Prints "ready" once it works, or what strobe_start says. */
#include "engine/include/strobe/capture.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static unsigned seconds;

static void *hold_lock(void *p)
{
    prctl(PR_SET_NAME, "holder");
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&held);
    sleep(seconds);
    pthread_mutex_unlock(&lock);
    return p;
}

__attribute__((noinline)) static void hang(void)
{
    pthread_t thread;
    pthread_barrier_init(&held, NULL, 2);
    if (pthread_create(&thread, NULL, hold_lock, NULL) != 0)
        exit(2);
    pthread_barrier_wait(&held);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

static void on_caught(int number, siginfo_t *info, void *context)
{
    static const char text[] = "caught\n";
    (void)context;
    if (number != SIGSEGV || info->si_addr != (void *)8)
        _exit(4);
    (void)!write(1, text, sizeof text - 1);
    _exit(3);
}

static void crash(void)
{
    *(volatile int *)8 = 1;
}

static void divide(void)
{
    volatile int zero = 0, number = 1000;
    _exit(number / zero);
}

static void dump_once(void)
{
    struct strobe_flight_status status;
    if (strobe_dump() != STROBE_OK)
        puts("no recorder");
    for (int i = 0; i < 500; i++) {
        strobe_get_flight_status(&status);
        if (status.dumps || status.refused)
            break;
        usleep(10000);
    }
    puts(status.last);
}

static void dump_without_end(void)
{
    for (;;) {
        strobe_dump();
        usleep(500);
    }
}

static void fork_and_crash(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        crash();
    waitpid(child, &status, 0);
    printf("child %d\n", WTERMSIG(status));
}

static void run(const char *command)
{
    if (!strcmp(command, "hang"))
        hang();
    else if (!strcmp(command, "call"))
        dump_once();
    else if (!strcmp(command, "many"))
        dump_without_end();
    else if (!strcmp(command, "segv") || !strcmp(command, "caught"))
        crash();
    else if (!strcmp(command, "abort"))
        abort();
    else if (!strcmp(command, "sent"))
        raise(SIGBUS);
    else if (!strcmp(command, "fpe"))
        divide();
    else if (!strcmp(command, "fork"))
        fork_and_crash();
    else
        sleep(seconds);
}

int main(int argc, char **argv)
{
    struct strobe_error error = {""};
    char server[64];
    struct sigaction own = {.sa_flags = SA_SIGINFO};
    struct strobe_capture_options options = {.flight = argv[1], .records_max = 8192};
    seconds = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    own.sa_sigaction = on_caught;
    snprintf(server, sizeof server, "strobe-flight-%d", (int)getpid());
    if (!strcmp(argv[2], "control"))
        options.control = server;
    if (!strcmp(argv[2], "caught"))
        sigaction(SIGSEGV, &own, NULL);
    if (strobe_start(&options, &error) != STROBE_OK) {
        puts(error.text);
        return 1;
    }
    puts("ready");
    fflush(stdout);
    run(argv[2]);
    fflush(stdout);
    strobe_stop();
    return 0;
}
