/* A program of another project that records itself, built with the installed files alone. Prints each property that
 * does not hold, and ends with the number of them.
 *
 *   recorded SESSION           records itself
 *   recorded SESSION fork      the same, and a child forked meanwhile tries to start
 *   recorded SESSION child     the same as the first, in a child that is forked before the start
 *   recorded SESSION exists    prints the result of a start that finds a file there, and ends
 *   recorded SESSION fails     prints the result of a start that cannot create the file, and ends */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strobe/capture.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int faults;
static atomic_int stop;

static void expect(int holds, const char *property)
{
    if (holds)
        return;
    printf("%s\n", property);
    faults++;
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static unsigned hot_function(unsigned ms)
{
    unsigned h = ms;
    for (uint64_t end = cpu_ns() + ms * 1000000ull; cpu_ns() < end;)
        for (unsigned i = 0; i < 100000; i++)
            h = h * 31 + (h >> 7) + i;
    return h;
}

/* Starts before the capture, and calls nothing that could block. */
__attribute__((noinline)) static void *early_worker(void *result)
{
    unsigned h = 1;
    while (!atomic_load_explicit(&stop, memory_order_relaxed))
        for (unsigned i = 0; i < 100000; i++)
            h = h * 33 + i;
    *(unsigned *)result = h;
    return NULL;
}

static void *late_worker(void *result)
{
    strobe_set_thread_name("late");
    strobe_begin("late work");
    *(unsigned *)result = hot_function(50);
    strobe_end();
    return NULL;
}

static enum strobe_capture_state state(void)
{
    struct strobe_capture_status s;
    strobe_get_status(&s);
    return s.state;
}

static uint64_t samples(void)
{
    struct strobe_capture_status s;
    strobe_get_status(&s);
    return s.samples;
}

static int refused(const struct strobe_capture_options *options, enum strobe_status wanted)
{
    struct strobe_error error = {""};
    enum strobe_status status = strobe_start(options, &error);
    printf("%s: %s\n", strobe_status_text(status), error.text);
    return status == wanted && error.text[0] ? 0 : 1;
}

static int in_child(const struct strobe_capture_options *options)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int wrong = refused(options, STROBE_UNSUPPORTED);
        fflush(stdout);
        _exit(wrong);
    }
    waitpid(child, &status, 0);
    return status;
}

static void check_pause(void)
{
    expect(strobe_pause() == STROBE_OK && state() == STROBE_CAPTURE_PAUSED, "a capture pauses");
    uint64_t before = samples();
    strobe_counter("not recorded", 1);
    execl("/nowhere/program", "program", (char *)NULL);
    expect(state() == STROBE_CAPTURE_PAUSED, "a pause lasts through an exec that fails");
    hot_function(20);
    expect(samples() <= before + 2, "a paused capture takes no samples");
    expect(strobe_pause() == STROBE_OK, "a second pause is no error");
    expect(strobe_resume() == STROBE_OK && state() == STROBE_CAPTURE_RUNNING, "a capture resumes");
    hot_function(20);
    expect(samples() > before + 2, "a resumed capture takes samples");
}

int main(int argc, char **argv)
{
    struct strobe_error error;
    struct strobe_capture_options options = {.session_path = argc > 1 ? argv[1] : NULL};
    if (argc > 2 && !strcmp(argv[2], "exists"))
        return refused(&options, STROBE_EXISTS);
    if (argc > 2 && !strcmp(argv[2], "fails"))
        return refused(&options, STROBE_IO);

    if (argc > 2 && !strcmp(argv[2], "child")) {
        int status;
        pid_t child = fork();
        if (child)
            return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    expect(strobe_stop() == STROBE_NO_ENTRY && strobe_pause() == STROBE_NO_ENTRY, "without a capture, nothing to stop");
    expect(state() == STROBE_CAPTURE_IDLE, "the first state is IDLE");
    errno = 77;
    strobe_begin("before the capture");
    strobe_end();
    expect(errno == 77, "annotations keep errno");
    expect(strobe_start(NULL, &error) == STROBE_BAD_INPUT &&
               strobe_start(&(struct strobe_capture_options){0}, NULL) == STROBE_BAD_INPUT,
           "a start without a path is refused");
    expect(strobe_start(&(struct strobe_capture_options){.session_path = "x", .interval_ns = 1}, &error) ==
                   STROBE_BAD_INPUT &&
               !strncmp(error.text, "interval_ns: ", 13),
           "an interval out of range is named");

    unsigned early = 0, late = 0;
    pthread_t early_thread, late_thread;
    pthread_create(&early_thread, NULL, early_worker, &early);
    if (strobe_start(&options, &error) != STROBE_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    expect(state() == STROBE_CAPTURE_RUNNING, "a started capture is RUNNING");
    strobe_begin("outer");
    strobe_begin("inner section");
    hot_function(100);
    strobe_end();
    strobe_counter("frames", 1);
    strobe_counter("frames", -2);
    strobe_thread_counter("queued", 5);
    strobe_end();
    expect(refused(&options, STROBE_EXISTS) == 0, "a second start is refused");
    if (argc > 2 && !strcmp(argv[2], "fork"))
        expect(in_child(&options) == 0, "a child of fork cannot start a capture");
    pthread_create(&late_thread, NULL, late_worker, &late);
    pthread_join(late_thread, NULL);
    check_pause();
    atomic_store(&stop, 1);
    pthread_join(early_thread, NULL);
    strobe_begin("left open");
    struct strobe_capture_status status;
    strobe_get_status(&status);
    expect(status.threads == 3 && status.samples > 100 && status.annotations == 10, "the status counts");
    expect(strobe_stop() == STROBE_OK && state() == STROBE_CAPTURE_STOPPED, "a capture stops");
    uint64_t before = samples();
    hot_function(20);
    expect(samples() == before, "a stopped capture takes no samples");
    expect(strobe_stop() == STROBE_NO_ENTRY, "a second stop has nothing to stop");
    char again[1024];
    snprintf(again, sizeof again, "%s.again", options.session_path);
    options.session_path = again;
    expect(strobe_start(&options, &error) == STROBE_OK && samples() == 0, "a capture after the end has no samples");
    hot_function(20);
    expect(samples() > 0 && strobe_stop() == STROBE_OK, "a capture after the end takes samples");
    unlink(again);
    return faults;
}
