#include "engine/cmd/capture/program.h"

#include "engine/cmd/interrupts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PART_BYTES = 1 << 16, INPUT_BYTES_MAX = 4096 };

/* ---- signals ---- */

int strobe_interrupt_take(struct strobe_interrupt *out)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t taken;
    struct sigaction now;
    sigemptyset(&taken);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&taken, numbers[i]);
    *out = (struct strobe_interrupt){.fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (out->fd < 0)
        return errno;
    sigprocmask(SIG_BLOCK, &taken, &out->mask_before);
    return 0;
}

void strobe_interrupt_give_back(struct strobe_interrupt *in)
{
    close(in->fd);
    sigprocmask(SIG_SETMASK, &in->mask_before, NULL);
}

bool strobe_interrupt_read(struct strobe_interrupt *in)
{
    struct signalfd_siginfo info;
    if (read(in->fd, &info, sizeof info) != sizeof info)
        return false;
    in->number = (int)info.ssi_signo;
    return true;
}

/* ---- start ---- */

/* The pipes between this process and the program: [0] is read, [1] is written. */
struct pipes {
    int in[2], out[2], errors[2];
};

static void close_both(int fd[2])
{
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    fd[0] = fd[1] = -1;
}

static void close_pipes(struct pipes *p)
{
    close_both(p->in);
    close_both(p->out);
    close_both(p->errors);
}

static int open_pipes(struct pipes *p)
{
    *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(p->in, O_CLOEXEC) == 0 && pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->errors, O_CLOEXEC) == 0)
        return 0;
    int error = errno;
    close_pipes(p);
    return error;
}

/* Starts the program with its streams at the pipes, no blocked signal, and a process group of its own. */
static int spawn_program(const char *const *argv, const struct pipes *p, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, p->in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, p->out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, p->errors[1], STDERR_FILENO);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    int error = posix_spawnp(pid, argv[0], &files, &how, (char *const *)argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* ---- output ---- */

/* A text that grows to its size and is cut there. */
struct cut_text {
    char *at;
    size_t used, size;
};

static void add_cut(struct cut_text *t, const char *data, size_t bytes)
{
    size_t room = t->size - 1 - t->used, n = bytes < room ? bytes : room;
    memcpy(t->at + t->used, data, n);
    t->used += n;
    t->at[t->used] = '\0';
}

static void trim_end(struct cut_text *t)
{
    while (t->used && strchr("\r\n", t->at[t->used - 1]))
        t->at[--t->used] = '\0';
}

/* Reads what is there. Returns false at the end of the stream. */
static bool read_part(int fd, struct cut_text *text, const struct strobe_program_sink *sink)
{
    static char part[PART_BYTES];
    ssize_t n = read(fd, part, sizeof part);
    if (n < 0)
        return errno == EINTR;
    if (sink && n)
        sink->take(sink->ctx, part, (size_t)n);
    add_cut(text, part, (size_t)n);
    return n > 0;
}

static int left_ms(uint64_t until_ns)
{
    uint64_t now = strobe_interrupts_now_ns();
    if (!until_ns)
        return -1;
    return until_ns <= now ? 0 : (int)((until_ns - now) / 1000000 + 1);
}

/* Reads both streams to their ends. Returns how that ended: EXITED when both streams ended. */
static enum strobe_program_end read_streams(const struct strobe_program *p, const struct pipes *at,
                                            struct cut_text text[2], uint64_t until_ns)
{
    struct pollfd fds[] = {
        {at->out[0], POLLIN, 0}, {at->errors[0], POLLIN, 0}, {p->interrupt ? p->interrupt->fd : -1, POLLIN, 0}};
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        int ready = poll(fds, 3, left_ms(until_ns));
        if (ready == 0)
            return STROBE_PROGRAM_TIMED_OUT;
        if (ready < 0 && errno != EINTR)
            return STROBE_PROGRAM_KILLED;
        if (ready > 0 && fds[2].revents && strobe_interrupt_read(p->interrupt))
            return STROBE_PROGRAM_INTERRUPTED;
        for (int i = 0; ready > 0 && i < 2; i++)
            if (fds[i].revents && !read_part(fds[i].fd, &text[i], i == 0 ? p->sink : NULL))
                fds[i].fd = -1;
    }
    return STROBE_PROGRAM_EXITED;
}

static void wait_for_program(pid_t pid, struct strobe_program_result *out)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (out->end != STROBE_PROGRAM_EXITED)
        return;
    out->end = WIFEXITED(status) ? STROBE_PROGRAM_EXITED : STROBE_PROGRAM_KILLED;
    out->status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

/* ---- run ---- */

static void give_input(int fd, const char *input)
{
    size_t bytes = input ? strlen(input) : 0;
    if (bytes > INPUT_BYTES_MAX)
        bytes = INPUT_BYTES_MAX;
    (void)!write(fd, input ? input : "", bytes); /* fits into an empty pipe, so the call does not wait */
}

void strobe_program_run(const struct strobe_program *p, struct strobe_program_result *out)
{
    struct pipes pipes;
    pid_t pid;
    *out = (struct strobe_program_result){.end = STROBE_PROGRAM_MISSING};
    if ((out->status = open_pipes(&pipes)) != 0)
        return;
    uint64_t until_ns = p->limit_ns ? strobe_interrupts_now_ns() + p->limit_ns : 0;
    give_input(pipes.in[1], p->input);
    if ((out->status = spawn_program(p->argv, &pipes, &pid)) != 0) {
        close_pipes(&pipes);
        return;
    }
    close_both(pipes.in);
    close(pipes.out[1]);
    close(pipes.errors[1]);
    pipes.out[1] = pipes.errors[1] = -1;
    struct cut_text text[2] = {{out->output, 0, sizeof out->output}, {out->errors, 0, sizeof out->errors}};
    out->end = read_streams(p, &pipes, text, until_ns);
    if (out->end != STROBE_PROGRAM_EXITED)
        kill(-pid, SIGKILL);
    close_pipes(&pipes);
    wait_for_program(pid, out);
    trim_end(&text[0]);
    trim_end(&text[1]);
}

bool strobe_program_succeeded(const struct strobe_program_result *r)
{
    return r->end == STROBE_PROGRAM_EXITED && r->status == 0;
}
