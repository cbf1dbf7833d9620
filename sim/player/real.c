#include "sim/player/real.h"
#include "engine/base/error_format.h"

#include "engine/cmd/preload.h"
#include "sim/player/claims.h"
#include "sim/player/frames.h"
#include "sim/player/label.h"
#include "sim/player/mach/loader.h"
#include "sim/player/others.h"
#include "sim/player/probe_claims.h"
#include "sim/player/work.h"
#include "sim/runtime/session_names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 60000, /* a player that runs this much longer than the scenario is killed */
    OWN_FRAMES = 16,     /* largest number of a stack's frames that are not the scenario's */
    NAMES_BYTES = 1 << 20,
};

/* A run, with the paths of its files. `folder` is a temporary directory. */
struct job {
    const struct sim_scenario *scenario;
    const struct sim_real_options *options;
    uint64_t turns_per_ms;
    char folder[PATH_MAX - 64], text[PATH_MAX], notes[PATH_MAX], costs[PATH_MAX], session[PATH_MAX], player[PATH_MAX];
    struct strobe_error *error;
};

static enum strobe_status job_fail(const struct job *j, enum strobe_status status, const char *what, const char *why)
{
    strobe_error_set(j->error, "%s: %s", what, why);
    return status;
}

/* ---- files ---- */

static enum strobe_status write_scenario(const struct job *j)
{
    char *text = sim_scenario_print(j->scenario);
    FILE *out = text ? fopen(j->text, "w") : NULL;
    bool written = out && fputs(text, out) >= 0;
    if (out)
        written = fclose(out) == 0 && written;
    free(text);
    return written ? STROBE_OK : job_fail(j, STROBE_IO, j->text, strerror(errno));
}

static bool on_mach(const struct job *j)
{
    return j->options->runtime && !strcmp(j->options->runtime, SIM_MACH_NAME);
}

/* True when the session names methods as an Android runtime does. */
static bool job_is_managed(const struct job *j)
{
    return j->options->runtime && !on_mach(j);
}

static bool is_policy(const struct job *j, const char *name)
{
    return j->options->policy && !strcmp(j->options->policy, name);
}

/* True when the policy captures by probes. */
static bool is_instrumented(const struct job *j)
{
    return j->options->policy && !is_policy(j, "strobe") && !is_policy(j, "netease");
}

/* Sets one sampling period for all threads, instead of the scenario's periods for the engine. */
static void config_netease(struct strobe_config *config)
{
    config->interval_main_ns = config->interval_other_ns = config->async_interval_ns = SIM_REAL_NETEASE_NS;
    config->metrics = 0;
}

static enum strobe_status create_empty_session(const struct job *j)
{
    struct strobe_config config = j->scenario->config;
    struct strobe_session made;
    if (job_is_managed(j) || on_mach(j))
        config.unwind = STROBE_UNWIND_FP;
    else
        config.unwind = STROBE_UNWIND_DWARF;
    if (is_policy(j, "netease"))
        config_netease(&config);
    config.message_per_poll = j->scenario->queue_count > 0;
    if (job_is_managed(j))
        config.names_bytes = NAMES_BYTES;
    config.names_bytes += sim_session_names_bytes(j->scenario);
    config.depth_max += OWN_FRAMES;
    if (config.depth_max > STROBE_STACK_DEPTH_MAX)
        config.depth_max = STROBE_STACK_DEPTH_MAX;
    enum strobe_status status = strobe_session_create(j->session, &config, j->scenario->name, 1, &made);
    if (status == STROBE_BAD_INPUT)
        return job_fail(j, status, j->scenario->path, "its config does not fit together");
    if (status != STROBE_OK)
        return job_fail(j, status, j->session, strerror(errno));
    strobe_session_unmap(&made);
    return STROBE_OK;
}

/* ---- the played process ---- */

static const char *player_name(const struct job *j)
{
    if (j->options->is_virtual)
        return on_mach(j) ? SIM_VIRTUAL_MACH_PLAYER : SIM_VIRTUAL_PLAYER;
    return on_mach(j) ? SIM_REAL_MACH_PLAYER : SIM_REAL_PLAYER;
}

/* Replaces the calling process by the player. `library` is preloaded; NULL = the run has no policy, or the player loads
 * it itself. */
_Noreturn static void exec_player(const struct job *j, bool traced, const char *library, int errors)
{
    const char *runtime = j->options->runtime ? j->options->runtime : "-";
    const char *session = traced && (j->options->runtime || is_instrumented(j)) ? j->session : "-";
    const char *policy = j->options->policy ? j->options->policy : "-";
    char seed[24], turns[24], schedule[24];
    snprintf(schedule, sizeof schedule, "%d", (int)j->options->schedule);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)j->options->seed);
    snprintf(turns, sizeof turns, "%llu", (unsigned long long)j->turns_per_ms);
    dup2(errors, STDERR_FILENO);
    if (j->options->is_virtual) {
        /* The session contains addresses of methods and monitors. They must depend on the seed only. */
        static char *const environment[] = {"LC_ALL=C", NULL};
        personality(ADDR_NO_RANDOMIZE);
        execle(j->player, player_name(j), schedule, j->costs, j->text, seed, turns, j->notes, runtime, session, policy,
               (char *)NULL, environment);
    }
    sim_real_use_cores(j->scenario->cores);
    if (!library || strobe_preload_set(library, j->session, NULL, NULL))
        execl(j->player, player_name(j), j->text, seed, turns, j->notes, runtime, session, policy, (char *)NULL);
    dprintf(STDERR_FILENO, "%s: %s\n", j->player, strerror(errno));
    _exit(127);
}

/* Reads the player's stderr until the player ends. Returns false when it takes too long. */
static bool read_player_errors(int fd, uint64_t limit_ns, char *out, size_t bytes)
{
    size_t n = 0;
    out[0] = '\0';
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uint64_t now = sim_work_now_ns();
        int ready = now < limit_ns ? poll(&p, 1, (int)((limit_ns - now) / 1000000 + 1)) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        char piece[256];
        ssize_t got = read(fd, piece, sizeof piece);
        if (got <= 0)
            return true;
        for (ssize_t i = 0; i < got && n + 1 < bytes; i++)
            out[n++] = piece[i];
        out[n] = '\0';
    }
}

/* Replaces the name of the temporary file in a player's message by that of the scenario. */
static void name_scenario(const struct job *j, char *message, size_t bytes)
{
    char rest[512];
    size_t n = strlen(j->text);
    if (strncmp(message, j->text, n) != 0)
        return;
    snprintf(rest, sizeof rest, "%s", message + n);
    snprintf(message, bytes, "%s%s", j->scenario->path, rest);
}

static enum strobe_status run_child(const struct job *j, bool traced, const char *library)
{
    int errors[2], ended;
    char message[512];
    if (pipe2(errors, O_CLOEXEC) != 0)
        return job_fail(j, STROBE_IO, "pipe", strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        exec_player(j, traced, library, errors[1]);
    close(errors[1]);
    if (child < 0) {
        close(errors[0]);
        return job_fail(j, STROBE_IO, "fork", strerror(errno));
    }
    uint64_t limit_ns = sim_work_now_ns() + j->scenario->duration_ns + PATIENCE_MS * 1000000ull;
    bool in_time = read_player_errors(errors[0], limit_ns, message, sizeof message);
    close(errors[0]);
    if (!in_time)
        kill(child, SIGKILL);
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
        continue;
    message[strcspn(message, "\n")] = '\0';
    name_scenario(j, message, sizeof message);
    if (!in_time)
        return job_fail(j, STROBE_IO, j->scenario->path, "the played process does not end");
    if (WIFSIGNALED(ended))
        return job_fail(j, STROBE_IO, "the played process", strsignal(WTERMSIG(ended)));
    if (WEXITSTATUS(ended) == 0)
        return STROBE_OK;
    strobe_error_set(j->error, "%s", *message ? message : "the played process failed");
    return WEXITSTATUS(ended) == SIM_REAL_REFUSED ? STROBE_BAD_INPUT : STROBE_IO;
}

/* ---- both runs ---- */

static enum strobe_status play_alone(const struct job *j, struct sim_notes_head *head)
{
    struct sim_tracks unused;
    enum strobe_status status = run_child(j, false, NULL);
    if (status != STROBE_OK)
        return status;
    sim_tracks_open(&unused);
    status = sim_notes_read(j->notes, j->scenario, head, &unused, j->error);
    sim_tracks_close(&unused);
    return status;
}

/* Divides the CPU time of the traced run. The two runs may do different amounts of work. The app's share is the CPU
 * time of the run without a policy, in proportion to the work done. The rest is the policy's share. */
static struct sim_run_cpu divide_cpu(const struct sim_notes_head *alone, const struct sim_notes_head *traced)
{
    double part = alone->work_ns ? (double)traced->work_ns / (double)alone->work_ns : 1;
    struct sim_run_cpu cpu = {.app_ns = (uint64_t)((double)alone->process_cpu_ns * part), .work_ns = traced->work_ns};
    cpu.tracer_ns = traced->process_cpu_ns > cpu.app_ns ? traced->process_cpu_ns - cpu.app_ns : 0;
    return cpu;
}

static enum strobe_status run_preloaded(const struct job *j)
{
    char library[STROBE_PRELOAD_BYTES];
    struct strobe_plain_name plain;
    if (!strobe_library_find("libstrobe-preload.so", library, sizeof library))
        return job_fail(j, STROBE_IO, "libstrobe-preload.so", "not found beside the command nor in ../lib/strobe");
    enum strobe_status status = strobe_preload_give_name(&plain, library, sizeof library)
                                    ? run_child(j, true, library)
                                    : job_fail(j, STROBE_IO, strobe_plain_folder(), strerror(errno));
    strobe_preload_drop_name(&plain);
    return status;
}

static enum strobe_status read_probe_capture(const struct job *j, const char *trace, const struct sim_notes_head *head,
                                             struct sim_tracks *truth, struct sim_tracks *reconstruction,
                                             struct sim_view *view)
{
    enum strobe_status status =
        sim_real_read_probes(j->options->policy, j->session, j->scenario, head, truth, reconstruction, view, j->error);
    if (status == STROBE_OK && trace && sim_tracks_write(reconstruction, j->scenario->name, trace, 1) != STROBE_OK)
        return job_fail(j, STROBE_IO, trace, strerror(errno));
    return status;
}

static enum strobe_status play_traced(const struct job *j, const char *trace, struct sim_tracks *truth,
                                      struct sim_tracks *reconstruction, struct sim_view *view,
                                      struct sim_notes_head *head)
{
    bool instrumented = is_instrumented(j);
    enum strobe_status status = instrumented ? STROBE_OK : create_empty_session(j);
    if (status == STROBE_OK)
        status = instrumented || j->options->runtime ? run_child(j, true, NULL) : run_preloaded(j);
    if (status != STROBE_OK)
        return status;
    if (!instrumented)
        strobe_session_trim_closed(j->session);
    status = sim_notes_read(j->notes, j->scenario, head, truth, j->error);
    if (status != STROBE_OK)
        return status;
    if (instrumented)
        return read_probe_capture(j, trace, head, truth, reconstruction, view);
    status = sim_real_read_session(j->session, j->scenario, head, job_is_managed(j), trace, reconstruction, j->error);
    if (status != STROBE_OK || !trace || on_mach(j)) /* the player on Mach has labelled its session */
        return status;
    status = sim_real_label_session(j->session, j->scenario, head->frames);
    return status == STROBE_OK ? status : job_fail(j, status, j->session, strerror(errno));
}

bool sim_real_has(const char *policy)
{
    return !strcmp(policy, "strobe") || !strcmp(policy, "netease") || sim_real_is_probe_policy(policy);
}

const char *sim_real_refuses(const char *policy, const char *runtime, bool is_virtual)
{
    bool mach = runtime && !strcmp(runtime, SIM_MACH_NAME);
    if (!strcmp(policy, "strobe") || (runtime && !strcmp(policy, "ideal")))
        return NULL;
    if (!strcmp(policy, "netease"))
        return runtime && !mach ? NULL : "suspends threads of an Android runtime: --runtime art11, or a fake";
    if (!sim_real_is_probe_policy(policy))
        return "plays in virtual time only, and in no runtime";
    return runtime || is_virtual ? "has its methods instrumented on real threads: --mode real without --runtime" : NULL;
}

const char *sim_real_file(const char *policy)
{
    static char name[64];
    if (!policy || !sim_real_is_probe_policy(policy))
        return "session.strobe";
    snprintf(name, sizeof name, "capture.%s", policy);
    return name;
}

static enum strobe_status check_job(const struct job *j)
{
    struct strobe_error error;
    if (job_is_managed(j))
        return STROBE_OK;
    if (!SIM_REAL_FRAMES)
        return job_fail(j, STROBE_UNSUPPORTED, "real mode", "not on this machine, expected x86-64 or aarch64");
    strobe_error_set(&error, "%u methods, expected at most %d in real mode", j->scenario->method_count,
                     SIM_REAL_METHODS);
    return j->scenario->method_count <= SIM_REAL_METHODS ? STROBE_OK
                                                         : job_fail(j, STROBE_BAD_INPUT, j->scenario->path, error.text);
}

static enum strobe_status write_costs(const struct job *j)
{
    FILE *out = fopen(j->costs, "wb");
    bool written = out && fwrite(j->options->costs, sizeof *j->options->costs, 1, out) == 1;
    if (out)
        written = fclose(out) == 0 && written;
    return written ? STROBE_OK : job_fail(j, STROBE_IO, j->costs, strerror(errno));
}

static enum strobe_status open_job(struct job *j)
{
    const char *folder = j->options->folder;
    if (!strobe_library_find(player_name(j), j->player, sizeof j->player))
        return job_fail(j, STROBE_IO, player_name(j), "not found beside the command nor in ../libexec/strobe");
    const char *temporary = getenv("TMPDIR");
    snprintf(j->folder, sizeof j->folder, "%s/strobe-real-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(j->folder)) {
        enum strobe_status status = job_fail(j, STROBE_IO, j->folder, strerror(errno));
        j->folder[0] = '\0';
        return status;
    }
    snprintf(j->text, sizeof j->text, "%s/scenario", j->folder);
    snprintf(j->notes, sizeof j->notes, "%s/notes", j->folder);
    snprintf(j->costs, sizeof j->costs, "%s/costs", j->folder);
    char *whole = realpath(folder ? folder : j->folder, NULL);
    if (!whole)
        return job_fail(j, STROBE_IO, folder, strerror(errno));
    int n = snprintf(j->session, sizeof j->session, "%s/%s", whole, sim_real_file(j->options->policy));
    free(whole);
    if (n >= (int)sizeof j->session)
        return job_fail(j, STROBE_IO, folder, strerror(ENAMETOOLONG));
    enum strobe_status status = write_scenario(j);
    return status == STROBE_OK && j->options->is_virtual ? write_costs(j) : status;
}

static void close_job(const struct job *j, bool keeps_session)
{
    if (!j->folder[0])
        return;
    unlink(j->text);
    unlink(j->notes);
    unlink(j->costs);
    if (!keeps_session)
        unlink(j->session);
    rmdir(j->folder);
}

enum strobe_status sim_real_run(const struct sim_scenario *scenario, const struct sim_real_options *options,
                                struct sim_tracks *truth, struct sim_tracks *reconstruction, struct sim_view *view,
                                struct sim_run_cpu *cpu, struct strobe_error *error)
{
    struct job j = {.scenario = scenario, .options = options, .turns_per_ms = 1, .error = error};
    const char *folder = options->folder;
    struct sim_notes_head alone, traced;
    char trace[PATH_MAX];
    sim_tracks_open(truth);
    sim_tracks_open(reconstruction);
    *cpu = (struct sim_run_cpu){0};
    *view = (struct sim_view){0};
    snprintf(trace, sizeof trace, "%s/trace.pftrace", folder ? folder : "");
    enum strobe_status status = check_job(&j);
    if (status != STROBE_OK)
        return status;
    if (!sim_work_begin() && !options->is_virtual)
        return job_fail(&j, STROBE_IO, "mq_open", strerror(errno));
    if (!options->is_virtual)
        j.turns_per_ms = sim_work_calibrate();
    status = open_job(&j);
    pid_t others = 0;
    if (status == STROBE_OK && !options->is_virtual) {
        others = sim_real_others_start(scenario->busy, scenario->cores);
        if (others < 0)
            status = job_fail(&j, STROBE_IO, "fork", strerror(errno));
    }
    if (status == STROBE_OK && !options->is_virtual)
        status = play_alone(&j, &alone);
    if (status == STROBE_OK)
        status = play_traced(&j, folder ? trace : NULL, truth, reconstruction, view, &traced);
    sim_real_others_end(others);
    if (status == STROBE_OK)
        *cpu = options->is_virtual ? (struct sim_run_cpu){.app_ns = traced.process_cpu_ns - traced.charged_ns,
                                                          .tracer_ns = traced.charged_ns,
                                                          .work_ns = traced.work_ns}
                                   : divide_cpu(&alone, &traced);
    close_job(&j, folder != NULL);
    return status;
}
