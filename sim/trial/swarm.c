#include "sim/trial/swarm.h"
#include "engine/base/error_format.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUN_SECONDS = 120 }; /* real time after which a run counts as hanging */

struct worker {
    pid_t pid;
    FILE *lines;
};

/* ---- worker ---- */

/* Plays a trial and writes one line: the result, or `!status reason`. */
static void swarm_play_trial(const struct sim_swarm_options *o, uint64_t place, FILE *out)
{
    struct sim_swarm_trial t = {0};
    struct sim_trial trial;
    struct strobe_error error = {"out of memory"};
    enum strobe_status status = STROBE_IO;
    o->trial(o->ctx, place, &t);
    struct sim_scenario *random = t.scenario ? NULL : sim_scenario_random(t.options.seed, t.random_size, false);
    if (random || t.scenario)
        status = sim_trial_run(random ? random : t.scenario, &t.options, &trial, &error);
    if (status == STROBE_OK) {
        sim_result_print_line(&trial.result, o->line_parts, out);
        sim_trial_free(&trial);
    } else {
        fprintf(out, "!%d %s\n", (int)status, error.text);
    }
    if (random)
        sim_scenario_free(random);
}

static void swarm_worker_main(const struct sim_swarm_options *o, uint32_t w, int fd)
{
    FILE *out = fdopen(fd, "w");
    signal(SIGPIPE, SIG_DFL); /* ends the worker when the reader has closed the pipe */
    for (uint64_t place = w; out && place < o->count; place += o->jobs) {
        alarm(RUN_SECONDS);
        swarm_play_trial(o, place, out);
        fflush(out);
    }
    _exit(out ? 0 : 1);
}

static bool swarm_start_worker(const struct sim_swarm_options *o, struct worker *workers, uint32_t w)
{
    int ends[2];
    if (pipe(ends))
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        for (uint32_t i = 0; i < w; i++)
            fclose(workers[i].lines);
        swarm_worker_main(o, w, ends[1]);
    }
    close(ends[1]);
    workers[w].pid = pid;
    workers[w].lines = pid > 0 ? fdopen(ends[0], "r") : NULL;
    if (!workers[w].lines)
        close(ends[0]);
    return workers[w].lines != NULL;
}

static void swarm_end_workers(struct worker *workers, uint32_t count)
{
    for (uint32_t w = 0; w < count; w++) {
        if (workers[w].lines)
            fclose(workers[w].lines);
        if (workers[w].pid > 0) {
            kill(workers[w].pid, SIGKILL);
            waitpid(workers[w].pid, NULL, 0);
        }
    }
}

/* ---- collecting results ---- */

/* Reports a worker that ended without a result: its run crashed or hung, which breaks an invariant. */
static void swarm_report_dead_worker(struct worker *worker, uint64_t place, struct sim_swarm_outcome *out)
{
    int status = 0;
    waitpid(worker->pid, &status, 0);
    worker->pid = 0;
    out->broken = true;
    out->place = place;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(out->violation, sizeof out->violation, "hang: no end after %d s", RUN_SECONDS);
    else if (WIFSIGNALED(status))
        snprintf(out->violation, sizeof out->violation, "crash: signal %d", WTERMSIG(status));
    else
        snprintf(out->violation, sizeof out->violation, "crash: exit status %d", WEXITSTATUS(status));
}

static void swarm_record_violation(struct sim_swarm_outcome *out, uint64_t place, const char *violation)
{
    if (out->broken || !violation[0])
        return;
    out->broken = true;
    out->place = place;
    snprintf(out->violation, sizeof out->violation, "%s", violation);
}

static enum strobe_status swarm_take_line(const struct sim_swarm_options *o, char *line, uint64_t place,
                                          struct sim_swarm_outcome *out, struct strobe_error *error)
{
    line[strcspn(line, "\n")] = 0;
    if (line[0] == '!') {
        char *text;
        enum strobe_status status = (enum strobe_status)strtol(line + 1, &text, 10);
        text += *text == ' ';
        if (o->refused) {
            out->played++;
            o->refused(o->ctx, place, status, text);
            return STROBE_OK;
        }
        strobe_error_set(error, "%s", text);
        return status;
    }
    struct sim_result result;
    struct strobe_error bad = {""};
    if (sim_result_read_line(line, &result, &bad) != STROBE_OK) {
        strobe_error_set(error, "a result that does not read back: %s", bad.text);
        return STROBE_BAD_INPUT;
    }
    out->played++;
    swarm_record_violation(out, place, result.violation);
    if (o->each)
        o->each(o->ctx, place, &result, line);
    sim_result_free(&result);
    return STROBE_OK;
}

static enum strobe_status swarm_read_results(struct worker *workers, const struct sim_swarm_options *o,
                                             struct sim_swarm_outcome *out, struct strobe_error *error)
{
    enum strobe_status status = STROBE_OK;
    char *line = NULL;
    size_t room = 0;
    bool alive = true;
    for (uint64_t place = 0; place < o->count && status == STROBE_OK && alive && (o->go_on || !out->broken); place++) {
        struct worker *worker = &workers[place % o->jobs];
        alive = getline(&line, &room, worker->lines) > 0;
        if (alive)
            status = swarm_take_line(o, line, place, out, error);
        else
            swarm_report_dead_worker(worker, place, out);
        if (o->progress)
            o->progress(o->progress_ctx, place + 1, o->count);
    }
    free(line);
    return status;
}

enum strobe_status sim_swarm_run(const struct sim_swarm_options *o, struct sim_swarm_outcome *out,
                                 struct strobe_error *error)
{
    *out = (struct sim_swarm_outcome){0};
    struct worker *workers = calloc(o->jobs, sizeof *workers);
    uint32_t hired = 0;
    enum strobe_status status = workers ? STROBE_OK : STROBE_IO;
    fflush(NULL); /* buffered output must not be written by each worker as well */
    while (status == STROBE_OK && hired < o->jobs) {
        if (!swarm_start_worker(o, workers, hired++))
            status = STROBE_IO;
    }
    if (status != STROBE_OK)
        strobe_error_set(error, "cannot start %u processes: %s", o->jobs, strerror(errno));
    else
        status = swarm_read_results(workers, o, out, error);
    swarm_end_workers(workers, workers ? hired : 0);
    free(workers);
    return status;
}
