/* Explores jobs one after the other, or in processes beside each other; each leaves its line of the table and its
 * details as text, which are printed in the order of the jobs. */
#include "engine/base/error.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/progress.h"
#include "sim/cmd/explore.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const double MINIMISE_SECONDS = 2;

/* The result of a job, reported when the job has ended. */
struct outcome {
    enum strobe_explore_verdict verdict;
    uint64_t executions, operations;
    double seconds;
    size_t row_bytes, detail_bytes;
    char *row, *detail; /* texts, not ended by a NUL */
};

struct worker {
    pid_t pid;
    int fd;
    uint32_t job;
    char *text;
    size_t bytes, room;
};

struct run {
    const struct strobe_explore_request *q;
    struct outcome *outcome; /* by job; row is NULL until it has ended */
    uint32_t begun, printed;
    bool beside; /* in processes: each job's own progress is not to be seen */
    struct strobe_progress progress;
    char label[64];
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

const char *strobe_explore_name(const struct strobe_explore_job *job)
{
    return job->litmus ? explore_litmus_name(job->litmus) : job->program->name;
}

struct explore_options strobe_explore_options(const struct strobe_explore_request *q,
                                              const struct strobe_explore_job *job)
{
    struct explore_options o = q->options;
    o.memory = job->memory;
    o.size = explore_size_for(job->program, q->size);
    o.all_failures |= job->litmus != NULL; /* a race does not end the list of outcomes */
    return o;
}

/* ---- one job */

static bool explore_should_stop(void *ctx)
{
    (void)ctx;
    return interrupted;
}

static void show_progress(void *ctx, const struct explore_progress *now)
{
    struct run *r = ctx;
    char count[24], rate[24], more[160], left[32] = "";
    if (now->done > 0.001 && now->done < 1)
        snprintf(left, sizeof left, ", about %.0f s left", now->seconds / now->done - now->seconds);
    double per_second = now->seconds > 0 ? (double)now->executions / now->seconds : 0;
    snprintf(more, sizeof more, "%s executions, %s per s%s%s%s",
             strobe_explore_short((double)now->executions, count, sizeof count),
             strobe_explore_short(per_second, rate, sizeof rate), left, *now->variant ? "; " : "", now->variant);
    strobe_progress_share(&r->progress, now->done, more);
}

/* A litmus test says what it says: what fails is a claim that does not hold, or that nothing can be said. */
static bool as_expected(const struct strobe_explore_job *job, const struct explore_options *o,
                        const struct strobe_explore_finding *f)
{
    if (!job->litmus)
        return explore_as_expected(job->program, o, &f->result);
    bool claims = explore_litmus_quantifier(job->litmus) != EXPLORE_EXISTS;
    return !f->outcomes.undefined && f->result.failure.fault == EXPLORE_FINE && (!claims || f->outcomes.ok);
}

static void explore(struct run *r, const struct strobe_explore_job *job, struct strobe_explore_finding *f)
{
    struct explore_options o = strobe_explore_options(r->q, job);
    o.stop = explore_should_stop;
    o.progress = r->beside ? NULL : show_progress;
    o.ctx = r;
    snprintf(r->label, sizeof r->label, "%s %s", strobe_explore_name(job), explore_memory_name(job->memory));
    if (!r->beside)
        strobe_progress_begin(&r->progress, r->label);
    if (job->litmus) {
        f->status = explore_litmus_run(job->litmus, &o, &f->outcomes);
        f->result = f->outcomes.result;
    } else {
        f->status = explore_run(job->program, &o, &f->result);
    }
    if (!r->beside)
        strobe_progress_end(&r->progress);
    f->stopped = interrupted && !f->result.complete && f->result.failure.fault == EXPLORE_FINE;
    f->verdict = f->stopped                                          ? STROBE_EXPLORE_STOPPED
                 : f->status == STROBE_OK && as_expected(job, &o, f) ? STROBE_EXPLORE_FINE
                                                                     : STROBE_EXPLORE_FAILED;
}

/* What is shown is made easy to read before. A litmus test is small as it is. */
static void minimise(const struct run *r, const struct strobe_explore_job *job, struct strobe_explore_finding *f)
{
    const struct strobe_explore_request *q = r->q;
    struct explore_options o = strobe_explore_options(q, job);
    bool shown = (f->verdict == STROBE_EXPLORE_FAILED && !q->json) || q->show || q->save;
    if (f->status == STROBE_OK && f->result.failure.fault != EXPLORE_FINE && shown && !job->litmus)
        explore_minimise(job->program, &o, MINIMISE_SECONDS, &f->result);
}

static void finding_clear(const struct strobe_explore_job *job, struct strobe_explore_finding *f)
{
    if (job->litmus)
        explore_outcomes_free(&f->outcomes);
    else
        explore_result_free(&f->result);
}

/* Leaves the failure in the file that was asked for. What can't be done is said in the details. */
static void finding_save_failure(const struct strobe_explore_request *q, const struct strobe_explore_job *job,
                                 struct strobe_explore_finding *f, FILE *detail)
{
    struct strobe_error error = {""};
    struct explore_options o = strobe_explore_options(q, job);
    if (f->status != STROBE_OK || f->result.failure.fault == EXPLORE_FINE)
        return;
    enum strobe_status status = explore_save(q->save, q->force, job->program, &o, &f->result, &error);
    if (status == STROBE_OK)
        return;
    f->verdict = STROBE_EXPLORE_IMPOSSIBLE;
    if (status == STROBE_EXISTS)
        fprintf(detail, "%s: exists already; --force overwrites it", q->save);
    else
        fputs(error.text[0] ? error.text : strobe_status_text(status), detail);
}

static bool worker_run_job(struct run *r, uint32_t index, struct outcome *out)
{
    const struct strobe_explore_request *q = r->q;
    const struct strobe_explore_job *job = &q->job[index];
    struct strobe_explore_finding f = {0};
    *out = (struct outcome){0};
    FILE *row = open_memstream(&out->row, &out->row_bytes);
    FILE *detail = open_memstream(&out->detail, &out->detail_bytes);
    if (!row || !detail)
        return false;
    explore(r, job, &f);
    minimise(r, job, &f);
    if (q->save)
        finding_save_failure(q, job, &f, detail);
    strobe_explore_print_row(row, q, job, &f);
    if (f.verdict != STROBE_EXPLORE_IMPOSSIBLE)
        strobe_explore_print_detail(detail, q, job, &f);
    out->verdict = f.verdict;
    out->executions = f.result.executions;
    out->operations = f.result.operations;
    out->seconds = f.result.seconds;
    finding_clear(job, &f);
    bool good = !fclose(row);
    return !fclose(detail) && good;
}

/* ---- in the order of the jobs */

static void print_ended(struct run *r)
{
    const struct strobe_explore_request *q = r->q;
    for (; r->printed < q->job_count && r->outcome[r->printed].row; r->printed++) {
        const struct outcome *o = &r->outcome[r->printed];
        if (o->verdict == STROBE_EXPLORE_IMPOSSIBLE)
            continue;
        if (q->json)
            fputs(r->printed ? ",\n" : "[\n", stdout);
        else if (!r->printed)
            strobe_explore_print_head(stdout, q);
        fwrite(o->row, 1, o->row_bytes, stdout);
    }
    fflush(stdout);
}

static int one_by_one(struct run *r)
{
    for (; r->begun < r->q->job_count && !interrupted; r->begun++) {
        if (!worker_run_job(r, r->begun, &r->outcome[r->begun]))
            return strobe_complain("explore: out of memory");
        print_ended(r);
    }
    return 0;
}

/* ---- in processes */

static bool worker_write_pipe(int fd, const void *data, size_t bytes)
{
    for (const char *p = data; bytes;) {
        ssize_t n = write(fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool explore_start_worker(struct run *r, struct worker *w)
{
    int ends[2];
    *w = (struct worker){.job = r->begun, .fd = -1};
    if (pipe(ends))
        return false;
    w->pid = fork();
    if (w->pid == 0) {
        struct outcome out;
        close(ends[0]);
        bool good = worker_run_job(r, r->begun, &out) && worker_write_pipe(ends[1], &out, sizeof out) &&
                    worker_write_pipe(ends[1], out.row, out.row_bytes) &&
                    worker_write_pipe(ends[1], out.detail, out.detail_bytes);
        _exit(good ? 0 : 1);
    }
    close(ends[1]);
    w->fd = ends[0];
    r->begun++;
    return w->pid > 0;
}

static char *copy_bytes_as_text(const char *text, size_t bytes)
{
    char *to = malloc(bytes + 1);
    return to ? memcpy(to, text, bytes) : NULL;
}

/* A process that ended without its whole word crashed: which is a verdict on its program. */
static void worker_take_end(struct run *r, struct worker *w, int status)
{
    struct outcome *out = &r->outcome[w->job], said;
    FILE *row;
    if (w->bytes >= sizeof said) {
        memcpy(&said, w->text, sizeof said);
        if (w->bytes == sizeof said + said.row_bytes + said.detail_bytes) {
            const char *text = w->text + sizeof said;
            said.row = copy_bytes_as_text(text, said.row_bytes);
            said.detail = copy_bytes_as_text(text + said.row_bytes, said.detail_bytes);
            *out = said;
            return;
        }
    }
    enum strobe_explore_verdict verdict = interrupted ? STROBE_EXPLORE_STOPPED : STROBE_EXPLORE_FAILED;
    *out = (struct outcome){.verdict = verdict};
    if (!(row = open_memstream(&out->row, &out->row_bytes)))
        return;
    struct strobe_explore_finding f = {.status = interrupted ? STROBE_OK : STROBE_GONE, .verdict = verdict};
    snprintf(f.result.failure.message, sizeof f.result.failure.message, "crash: %s %d",
             WIFSIGNALED(status) ? "signal" : "exit status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    strobe_explore_print_row(row, r->q, &r->q->job[w->job], &f);
    fclose(row);
}

/* Reads what there is. True when the worker is done. */
static bool worker_read_pipe(struct run *r, struct worker *w)
{
    int status = 0;
    if (w->room - w->bytes < 4096) {
        char *text = realloc(w->text, w->room + 65536);
        if (!text)
            return false;
        w->text = text;
        w->room += 65536;
    }
    ssize_t n = read(w->fd, w->text + w->bytes, w->room - w->bytes);
    if (n > 0)
        w->bytes += (size_t)n;
    if (n > 0 || (n < 0 && errno == EINTR))
        return false;
    close(w->fd);
    w->fd = -1;
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    worker_take_end(r, w, status);
    free(w->text);
    return true;
}

static void explore_end_workers(const struct worker *workers, uint32_t count)
{
    for (uint32_t w = 0; w < count; w++)
        if (workers[w].fd >= 0)
            kill(workers[w].pid, SIGKILL);
}

static int beside_each_other(struct run *r, struct worker *workers, struct pollfd *polls)
{
    const struct strobe_explore_request *q = r->q;
    uint32_t busy = 0, ended = 0, patience = 15;
    for (uint32_t w = 0; w < q->processes; w++)
        workers[w].fd = -1;
    strobe_progress_begin(&r->progress, "exploring");
    for (;;) {
        for (uint32_t w = 0; w < q->processes && r->begun < q->job_count && !interrupted; w++)
            if (workers[w].fd < 0) {
                if (!explore_start_worker(r, &workers[w]))
                    return strobe_complain("explore: cannot start a process: %s", strerror(errno));
                busy++;
            }
        if (!busy)
            break;
        for (uint32_t w = 0; w < q->processes; w++)
            polls[w] = (struct pollfd){.fd = workers[w].fd, .events = POLLIN};
        if (interrupted && patience-- == 0) /* one that is deep in an execution does not hear of it */
            explore_end_workers(workers, q->processes);
        if (poll(polls, q->processes, 200) > 0)
            for (uint32_t w = 0; w < q->processes; w++)
                if (polls[w].revents && worker_read_pipe(r, &workers[w])) {
                    busy--;
                    ended++;
                    strobe_progress_end(&r->progress);
                    print_ended(r);
                }
        strobe_progress_step(&r->progress, ended, q->job_count);
    }
    strobe_progress_end(&r->progress);
    return 0;
}

static int in_processes(struct run *r)
{
    uint32_t n = r->q->processes;
    struct worker *workers = calloc(n, sizeof *workers);
    struct pollfd *polls = calloc(n, sizeof *polls);
    r->beside = true;
    fflush(NULL); /* what is buffered now must not be written by each process too */
    int bad = workers && polls ? beside_each_other(r, workers, polls) : strobe_complain("explore: out of memory");
    free(workers);
    free(polls);
    return bad;
}

/* ---- all */

static int explore_report_outcomes(const struct run *r)
{
    const struct strobe_explore_request *q = r->q;
    struct outcome all = {0};
    uint32_t count[STROBE_EXPLORE_IMPOSSIBLE + 1] = {0};
    char executions[24], operations[24], rate[24];
    for (uint32_t i = 0; i < r->printed; i++) {
        const struct outcome *o = &r->outcome[i];
        count[o->verdict]++;
        all.executions += o->executions;
        all.operations += o->operations;
        all.seconds += o->seconds;
        if (o->verdict == STROBE_EXPLORE_IMPOSSIBLE)
            strobe_complain("%.*s", (int)o->detail_bytes, o->detail);
        else if (o->detail)
            fwrite(o->detail, 1, o->detail_bytes, stdout);
    }
    if (count[STROBE_EXPLORE_IMPOSSIBLE])
        return STROBE_EXIT_BAD;
    if (q->json)
        fputs(r->printed ? "\n]\n" : "[]\n", stdout);
    uint32_t missing = q->job_count - r->printed + count[STROBE_EXPLORE_STOPPED];
    if (!q->json) {
        printf("\n%s executions, %s operations in %.1f s of work, %s a second\n",
               strobe_explore_short((double)all.executions, executions, sizeof executions),
               strobe_explore_short((double)all.operations, operations, sizeof operations), all.seconds,
               strobe_explore_short(all.seconds > 0 ? (double)all.operations / all.seconds : 0, rate, sizeof rate));
        if (missing)
            printf("stopped: %u of %u explored to the end\n", q->job_count - missing, q->job_count);
        printf("%u passed, %u failed\n", count[STROBE_EXPLORE_FINE], count[STROBE_EXPLORE_FAILED]);
    }
    return count[STROBE_EXPLORE_FAILED] || missing ? STROBE_EXIT_CHECK : STROBE_EXIT_OK;
}

int strobe_explore_all(const struct strobe_explore_request *q)
{
    struct run r = {.q = q, .outcome = calloc(q->job_count + 1, sizeof *r.outcome)};
    struct sigaction action = {.sa_handler = on_interrupt}; /* a second one ends the process */
    if (!r.outcome)
        return strobe_complain("explore: out of memory");
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    int status = q->processes > 1 ? in_processes(&r) : one_by_one(&r);
    if (!status)
        status = explore_report_outcomes(&r);
    for (uint32_t i = 0; i < q->job_count; i++) {
        free(r.outcome[i].row);
        free(r.outcome[i].detail);
    }
    free(r.outcome);
    return strobe_output_end(status);
}
