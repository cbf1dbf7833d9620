#include "tests/contract_art/contract.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct contract_case *const groups[] = {
    contract_cases_symbols,  contract_cases_stack,  contract_cases_suspend, contract_cases_monitor,
    contract_cases_handover, contract_cases_heap,   contract_cases_park,    contract_cases_thread,
    contract_cases_hook,     contract_cases_engine, contract_cases_waits,   contract_cases_life,
    contract_cases_stress,   contract_cases_without, contract_cases_dex,    contract_cases_code, contract_cases_jni,
    contract_cases_visitor,
};

enum { CASE_SECONDS = 60, SKIPPED = 77 };

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

/* In a process of its own. */
_Noreturn static void run_here(struct contract *c, const struct contract_case *k)
{
    char why[512];
    alarm(CASE_SECONDS);
    if (!(k->needs & CONTRACT_STOPPED)) {
        enum strobe_status status = sim_art_start(c->runtime, &c->options, &c->art, why, sizeof why);
        if (status == STROBE_OK)
            status = strobe_libart_open(c->art.library_name, c->art.api, &c->libart, why, sizeof why);
        if (status != STROBE_OK) {
            if (status == STROBE_UNSUPPORTED && !c->art.vm)
                contract_skip(c, why);
            fprintf(stderr, "%s\n", why);
            _exit(1);
        }
    }
    k->run(c);
    fflush(NULL);
    _exit(c->failures != 0);   /* a genuine runtime's own end is no matter of ours */
}

static int run_case(const struct contract *c, const struct contract_case *k)
{
    int ended;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct contract own = *c;
        run_here(&own, k);
    }
    if (child < 0 || waitpid(child, &ended, 0) != child)
        return 1;
    if (WIFSIGNALED(ended))
        fprintf(stderr, "%s\n", strsignal(WTERMSIG(ended)));
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
}

static bool wanted(const struct contract *c, const struct contract_case *k, char **names, int count)
{
    bool genuine = strncmp(c->runtime, "fake", 4) != 0;
    if ((genuine && k->needs & (CONTRACT_FAKE | CONTRACT_INLINED)) ||
        (c->options.interpreted && k->needs & CONTRACT_QUICK) ||
        (!c->options.inlined && k->needs & CONTRACT_INLINED))
        return false;
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], k->name))
            return true;
    return count == 0;
}

int main(int argc, char **argv)
{
    static const char *const workload[] = {"fixtures/art/contract.dex", NULL};
    struct contract c = {.runtime = argc > 2 ? argv[1] : "", .options.dex = workload};
    int api, passed = 0, failed = 0, skipped = 0;
    const char *mode = argc > 2 ? argv[2] : "";
    c.options.interpreted = !strcmp(mode, "interpreted");
    c.options.inlined = !strcmp(mode, "inlined");
    bool known_mode = c.options.interpreted || c.options.inlined || !strcmp(mode, "quick");
    if (!known_mode || !sim_art_known(c.runtime, &api)) {
        fprintf(stderr, "usage: contract_art RUNTIME interpreted|quick|inlined [CASE...]\n");
        return 2;
    }
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (const struct contract_case *k = groups[g]; k->name; k++) {
            if (!wanted(&c, k, argv + 3, argc - 3))
                continue;
            int status = run_case(&c, k);
            *(status == 0 ? &passed : status == SKIPPED ? &skipped : &failed) += 1;
            if (status)
                printf("%s %s %s %s\n", status == SKIPPED ? "SKIPPED" : "FAIL", c.runtime, mode, k->name);
        }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0;
}
