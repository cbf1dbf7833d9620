#include "tests/contract_art/support/contract.h"
#include "engine/backend/linux/thread_state.h"
#include "engine/base/error.h"

#include "sim/genuine/genuine.h"
#include "tests/contract_art/support/window.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary.h"

#include <dirent.h>
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct contract_case *const groups[] = {
    contract_cases_symbols,  contract_cases_stack,   contract_cases_suspend,  contract_cases_monitor,
    contract_cases_handover, contract_cases_heap,    contract_cases_park,     contract_cases_thread,
    contract_cases_hook,     contract_cases_engine,  contract_cases_waits,    contract_cases_life,
    contract_cases_stress,   contract_cases_without, contract_cases_dex,      contract_cases_code,
    contract_cases_jni,      contract_cases_visitor, contract_cases_sampling, contract_cases_held,
    contract_cases_wakers,   contract_cases_order,   contract_cases_netease,  contract_cases_native,
    contract_cases_results,  contract_cases_frames,  contract_cases_whole,    contract_cases_starts,
    contract_cases_faults,   contract_cases_flight,
};

enum {
    CASE_SECONDS = 60,
    SKIPPED = 77,
    PLACES = 4,
    PLACES_MAX = 16,
    NAME_BYTES = 16,
    OWN_THREADS_TRIES = 10000,
    MAIN_STACK_BYTES = 1 << 20
};

bool contract_check(struct contract *c, bool holds, const char *file, int line, const char *what, const char *format,
                    ...)
{
    if (holds)
        return true;
    va_list more;
    c->failures++;
    fprintf(stderr, "%s:%d: expected %s: ", file, line, what);
    va_start(more, format);
    vfprintf(stderr, format, more);
    va_end(more);
    fputc('\n', stderr);
    return false;
}

void contract_skip(const struct contract *c, const char *why)
{
    fprintf(stderr, "%s: %s\n", c->runtime, why);
    fflush(NULL);
    _exit(c->failures ? 1 : SKIPPED);
}

/* Returns true when the other threads of this process have their own names and wait. */
static bool own_threads_wait(void)
{
    int nameless = THREAD_SANITIZER; /* the race detector has a thread of its own */
    DIR *tasks = opendir("/proc/self/task");
    char own[NAME_BYTES] = "", path[sizeof "/proc/self/task//comm" + NAME_MAX];
    bool wait = tasks;
    pthread_getname_np(pthread_self(), own, sizeof own);
    for (struct dirent *e; wait && (e = readdir(tasks));) {
        char name[NAME_BYTES + 1] = ""; /* and a line end */
        uint32_t tid = (uint32_t)strtoul(e->d_name, NULL, 10);
        if (!tid || tid == (uint32_t)gettid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *in = fopen(path, "r");
        bool has_name = in && fgets(name, sizeof name, in) && strncmp(name, own, strcspn(name, "\n")) != 0;
        wait = (has_name || nameless-- > 0) && strobe_linux_thread_state(tid) == 'S';
        if (in)
            fclose(in);
    }
    if (tasks)
        closedir(tasks);
    return wait;
}

/* Waits until the threads that a genuine runtime starts for itself have attached. JNI_CreateJavaVM returns before its
 * workers have: a thread that attaches takes an id, is added to the list of threads and reported to the callbacks, and
 * then cases that count these would count it. A thread has its creator's name until it has attached. */
static void await_own_threads(struct contract *c)
{
    int tries = 0;
    while (!own_threads_wait() && ++tries < OWN_THREADS_TRIES)
        usleep(1000);
    CHECK(c, tries < OWN_THREADS_TRIES, "a thread of the runtime has not started, or does not wait");
}

/* Runs a case. The caller has forked a process for it. */
_Noreturn static void run_here(struct contract *c, const struct contract_case *k)
{
    struct strobe_error error;
    alarm(CASE_SECONDS);
    if (!(k->needs & CONTRACT_STOPPED)) {
        enum strobe_status status = sim_art_start(c->runtime, &c->options, &c->art, &error);
        if (status == STROBE_OK)
            status = strobe_libart_open(c->art.library_name, c->art.api, &c->libart, &error);
        if (status != STROBE_OK) {
            if (status == STROBE_UNSUPPORTED && !c->art.vm)
                contract_skip(c, error.text);
            fprintf(stderr, "%s\n", error.text);
            _exit(1);
        }
        if (c->art.genuine)
            await_own_threads(c);
    }
    k->run(c);
    const char *offence = window_offence();
    CHECK(c, !offence, "%s was called while a thread was held", offence);
    fflush(NULL);
    _exit(c->failures != 0); /* the shutdown of a genuine runtime is not tested */
}

/* ---- cases in parallel ---- */

struct place {
    const struct contract_case *now;
    pid_t pid;
    FILE *said;
    char folder[TEMPORARY_BYTES]; /* the case's directory for temporary files */
};

struct table {
    const struct contract *contract;
    const char *mode;
    struct place places[PLACES_MAX];
    int passed, failed, skipped;
};

/* Removes what a case has left, also when it was killed. */
static void remove_folder(const char *folder)
{
    DIR *files = opendir(folder);
    for (const struct dirent *file; files && (file = readdir(files));)
        unlinkat(dirfd(files), file->d_name, 0);
    if (files)
        closedir(files);
    rmdir(folder);
}

static void begin_case(struct table *t, struct place *p, const struct contract_case *k)
{
    *p = (struct place){.now = k, .said = tmpfile()};
    if (!mkdtemp(temporary_path(p->folder, "strobe-contract-XXXXXX")))
        perror(p->folder);
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) {
        struct contract own = *t->contract;
        setenv("TMPDIR", p->folder, 1);
        if (p->said && dup2(fileno(p->said), STDOUT_FILENO) >= 0)
            dup2(fileno(p->said), STDERR_FILENO);
        run_here(&own, k);
    }
    if (p->pid < 0)
        perror("fork");
}

static void end_case(struct table *t, struct place *p, int ended)
{
    char line[1024];
    int status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
    remove_folder(p->folder);
    *(status == 0 ? &t->passed : status == SKIPPED ? &t->skipped : &t->failed) += 1;
    if (status)
        printf("%s %s %s %s\n", status == SKIPPED ? "SKIPPED" : "FAIL", t->contract->runtime, t->mode, p->now->name);
    if (WIFSIGNALED(ended))
        printf("%s\n", strsignal(WTERMSIG(ended)));
    if (p->said) {
        rewind(p->said);
        while (fgets(line, sizeof line, p->said))
            fputs(line, stdout);
        fclose(p->said);
    }
    *p = (struct place){0};
}

/* Returns true when a heavy case runs. Only one heavy case runs at a time. */
static bool heavy_runs(const struct table *t)
{
    for (int i = 0; i < PLACES_MAX; i++)
        if (t->places[i].now && t->places[i].now->needs & CONTRACT_HEAVY)
            return true;
    return false;
}

/* Waits until another case may run, and returns a free place for it. */
static struct place *free_place(struct table *t, int places, bool heavy)
{
    for (;;) {
        for (int i = 0; i < places; i++)
            if (!t->places[i].now && !(heavy && heavy_runs(t)))
                return &t->places[i];
        int ended = 1;
        pid_t pid = wait(&ended);
        for (int i = 0; i < places; i++)
            if (t->places[i].now && t->places[i].pid == pid)
                end_case(t, &t->places[i], ended);
    }
}

static void end_all(struct table *t, int places)
{
    for (int i = 0; i < places; i++)
        if (t->places[i].now) {
            int ended = 1;
            if (t->places[i].pid > 0)
                waitpid(t->places[i].pid, &ended, 0);
            end_case(t, &t->places[i], ended);
        }
}

static bool wanted(const struct contract *c, const struct contract_case *k, char **names, int count)
{
    bool genuine = strncmp(c->runtime, "fake", 4) != 0;
    if ((genuine && k->needs & (CONTRACT_FAKE | CONTRACT_INLINED)) ||
        (c->options.interpreted && k->needs & CONTRACT_QUICK) || (!c->options.inlined && k->needs & CONTRACT_INLINED))
        return false;
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], k->name))
            return true;
    return count == 0;
}

/* Loads the library of the runtime, so that the processes of cases need not load and link it. It stays unused here.
 * Does nothing when it is not installed; the cases report that. */
static void preload_runtime(const char *name, int api)
{
    struct strobe_error error;
    void *library;
    char path[PATH_MAX + 32], self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    snprintf(path, sizeof path, "%s/art/%d/libart.so", dirname(self), api);
    if (!strcmp(name, "art11"))
        sim_art_open_genuine(11, NULL, &library, &error);
    else if (!strncmp(name, "fake", 4))
        dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/* Makes the main thread's stack as large as that of a Java thread. A genuine runtime touches each page of it at its
 * start: 2,000 page faults for the usual 8 MiB, a third of the time of most cases. */
static void limit_main_stack(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur > MAIN_STACK_BYTES) {
        limit.rlim_cur = MAIN_STACK_BYTES;
        setrlimit(RLIMIT_STACK, &limit);
    }
}

/* Begins the wanted cases: those that start the runtime themselves, or the others. Heavy cases come first, because only
 * one of them runs at a time. */
static void begin_cases(struct table *t, unsigned stopped, bool light, int places, char **names, int count)
{
    static const unsigned heavy_first[] = {CONTRACT_HEAVY, 0};
    for (int pass = light; pass < 2; pass++)
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
            for (const struct contract_case *k = groups[g]; k->name; k++)
                if ((k->needs & (CONTRACT_HEAVY | CONTRACT_STOPPED)) == (heavy_first[pass] | stopped) &&
                    wanted(t->contract, k, names, count))
                    begin_case(t, free_place(t, places, !pass), k);
}

static int usage(void)
{
    fprintf(stderr, "usage: contract_art [-l] [-j JOBS] RUNTIME interpreted|quick|inlined [CASE...]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static const char *const workload[] = {"fixtures/art/contract.dex", NULL};
    bool light = false;
    int api, places = PLACES, option;
    while ((option = getopt(argc, argv, "lj:")) != -1) {
        if (option == '?')
            return usage();
        light = light || option == 'l';
        places = option == 'j' ? atoi(optarg) : places;
    }
    argc -= optind, argv += optind;
    if (argc < 2 || places < 1 || places > PLACES_MAX)
        return usage();
    struct contract c = {.runtime = argv[0], .options.dex = workload};
    struct table t = {.contract = &c, .mode = argv[1]};
    c.options.interpreted = !strcmp(t.mode, "interpreted");
    c.options.inlined = !strcmp(t.mode, "inlined");
    bool known_mode = c.options.interpreted || c.options.inlined || !strcmp(t.mode, "quick");
    if (!known_mode || !sim_art_known(c.runtime, &api))
        return usage();
    limit_main_stack();
    begin_cases(&t, CONTRACT_STOPPED, light, places, argv + 2, argc - 2);
    preload_runtime(c.runtime, api);
    begin_cases(&t, 0, light, places, argv + 2, argc - 2);
    end_all(&t, places);
    printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped);
    return t.failed != 0;
}
