#include "bench/child.h"

#include "bench/bench.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void become(const char *const *argv, int out, bool loud)
{
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0);
    dup2(out < 0 ? nothing : out, 1);
    if (!loud)
        dup2(nothing, 2);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

/* Reads to the end of the file. A match may span two reads, so the function keeps the last bytes of each read. */
static uint64_t count_text(int in, const char *text)
{
    static char buffer[1 << 16];
    size_t length = strlen(text), kept = 0;
    uint64_t hits = 0;
    ssize_t got;
    while ((got = read(in, buffer + kept, sizeof buffer - kept)) > 0) {
        size_t have = kept + (size_t)got;
        for (const char *p = buffer; (p = memmem(p, have - (size_t)(p - buffer), text, length)); p += length)
            hits++;
        kept = have < length - 1 ? have : length - 1;
        memmove(buffer, buffer + have - kept, kept);
    }
    return hits;
}

bool child_run(const char *const *argv, const char *count, bool loud, struct child *out)
{
    int pipe_ends[2] = {-1, -1}, status;
    struct rusage usage;
    if (count && pipe(pipe_ends))
        return false;
    uint64_t begin = bench_now_ns();
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0) {
        if (count)
            close(pipe_ends[0]);
        become(argv, pipe_ends[1], loud);
    }
    *out = (struct child){0};
    if (count) {
        close(pipe_ends[1]);
        out->hits = count_text(pipe_ends[0], count);
        close(pipe_ends[0]);
    }
    if (wait4(pid, &status, 0, &usage) != pid)
        return false;
    out->wall_s = (double)(bench_now_ns() - begin) / 1e9;
    out->cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    out->peak_kib = usage.ru_maxrss;
    out->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}
