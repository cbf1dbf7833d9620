#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/util/array.h"
#include "sim/cmd/commands.h"
#include "sim/cmd/explore.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char strobe_usage_explore[] =
    "usage: strobe explore [--list]\n"
    "       strobe explore NAME... | --all [OPTIONS]\n"
    "       strobe explore --replay FILE [TEST.litmus...]\n"
    "\n"
    "Runs small concurrent programs in every order that a memory model allows, and says what\n"
    "fails. NAME is a program (ring/lap), a group of them (ring), or a file with a litmus test in\n"
    "C (SB.litmus). A failure that was not expected is shown step by step.\n"
    "\n"
    "  --list             the groups and programs, with what they show (also without any NAME)\n"
    "  --all              all programs\n"
    "  --memory M         c11 (default, the C11 model as corrected by RC11: what phones may do),\n"
    "                     tso (x86), sc (one order of all operations), or all: one after the other\n"
    "  --strategy S       exhaustive (default): each execution once; bounded: those with few\n"
    "                     preemptions; random; pct: random priorities\n"
    "  --preemptions N    most preemptions of strategy bounded (2)\n"
    "  --depth N          of the bugs that strategy pct looks for (3)\n"
    "  --seed N           of random and pct (1)\n"
    "  --executions N     end after so many (random and pct: 10000; the others: no limit)\n"
    "  --seconds N        end each program after so many\n"
    "  --size N           size of the programs, at most what they call nightly; or nightly (quick)\n"
    "  --spurious         weak compare-exchanges also fail for no reason\n"
    "  --show             show expected failures step by step, too\n"
    "  -q, --quiet        only the table, and failures that were not expected\n"
    "  --save FILE        leave the failure in FILE; for one program in one memory model\n"
    "  --replay FILE      run the execution in FILE again, and show it; in a debugger, too. That\n"
    "                     of a litmus test needs the test's file besides\n"
    "  -j, --jobs N       processes (1)\n"
    "  --json             print JSON: an array of results\n"
    "  -f, --force        overwrite FILE\n"
    "\n"
    "Exit status: 0 all is as expected, 1 something is not, 2 bad use or bad input.\n";

enum {
    LIST = 256,
    ALL,
    MEMORY,
    STRATEGY,
    PREEMPTIONS,
    DEPTH,
    SEED,
    EXECUTIONS,
    SECONDS,
    SIZE,
    SPURIOUS,
    SHOW,
    SAVE,
    REPLAY,
    JSON,
};

struct command {
    struct strobe_explore_request q;
    bool list, all, every_memory;
    const char *replay;
    uint32_t room;
};

/* ---- options */

static int take_memory(struct command *c, const char *text)
{
    c->every_memory = !strcmp(text, "all");
    for (unsigned m = 0; m < EXPLORE_MEMORIES; m++)
        if (!strcmp(text, explore_memory_name((enum explore_memory)m))) {
            c->q.options.memory = (enum explore_memory)m;
            return 0;
        }
    return c->every_memory ? 0 : strobe_complain("explore: --memory %s: expected sc, tso, c11 or all", text);
}

static int take_strategy(struct command *c, const char *text)
{
    for (unsigned s = 0; s < EXPLORE_STRATEGIES; s++)
        if (!strcmp(text, explore_strategy_name((enum explore_strategy)s))) {
            c->q.options.strategy = (enum explore_strategy)s;
            return 0;
        }
    return strobe_complain("explore: --strategy %s: expected exhaustive, bounded, random or pct", text);
}

static int take_size(struct command *c, const char *text)
{
    if (!strcmp(text, "nightly")) {
        c->q.size = STROBE_EXPLORE_NIGHTLY;
        return 0;
    }
    return strobe_parse_count(text, 1, 1000000, &c->q.size)
               ? 0
               : strobe_complain("explore: --size %s: expected nightly, or a number from 1 to 1000000", text);
}

static int take_count(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *out)
{
    return strobe_parse_count(text, low, high, out)
               ? 0
               : strobe_complain("explore: %s %s: expected a number from %u to %u", option, text, low, high);
}

static int explore_take_number(const char *option, const char *text, uint64_t *out)
{
    return strobe_parse_number(text, UINT64_MAX, out)
               ? 0
               : strobe_complain("explore: %s %s: expected a whole number", option, text);
}

static int explore_take_option(struct command *c, int option)
{
    struct strobe_explore_request *q = &c->q;
    uint32_t seconds = 0;
    int bad;
    switch (option) {
    case LIST: c->list = true; return 0;
    case ALL: c->all = true; return 0;
    case MEMORY: return take_memory(c, optarg);
    case STRATEGY: return take_strategy(c, optarg);
    case PREEMPTIONS: return take_count("--preemptions", optarg, 0, 1000, &q->options.preemptions);
    case DEPTH: return take_count("--depth", optarg, 1, 1000, &q->options.depth);
    case SEED: return explore_take_number("--seed", optarg, &q->options.seed);
    case EXECUTIONS:
        bad = explore_take_number("--executions", optarg, &q->options.executions_max);
        return bad || q->options.executions_max ? bad : strobe_complain("explore: --executions 0: expected at least 1");
    case SECONDS:
        bad = take_count("--seconds", optarg, 1, 1000000, &seconds);
        q->options.seconds_max = seconds;
        return bad;
    case SIZE: return take_size(c, optarg);
    case 'j': return take_count("-j", optarg, 1, 1024, &q->processes);
    case SPURIOUS: q->options.spurious = true; return 0;
    case SHOW: q->show = true; return 0;
    case SAVE: q->save = optarg; return 0;
    case REPLAY: c->replay = optarg; return 0;
    case JSON: q->json = true; return 0;
    case 'f': q->force = true; return 0;
    case 'q': q->quiet = true; return 0;
    default: return STROBE_EXIT_BAD;
    }
}

/* ---- which programs */

static int explore_add_job(struct command *c, struct strobe_explore_job job)
{
    struct strobe_explore_request *q = &c->q;
    unsigned first = c->every_memory ? 0 : (unsigned)q->options.memory;
    unsigned last = c->every_memory ? EXPLORE_MEMORIES - 1 : first;
    for (unsigned m = first; m <= last; m++) {
        if (!strobe_array_reserve(&q->job, &c->room, q->job_count + 1))
            return strobe_complain("explore: out of memory");
        job.memory = (enum explore_memory)m;
        q->job[q->job_count++] = job;
    }
    return 0;
}

static int add_group(struct command *c, const struct explore_group *g)
{
    int bad = 0;
    for (const struct explore_program *const *p = g->program; *p && !bad; p++)
        bad = explore_add_job(c, (struct strobe_explore_job){.program = *p});
    return bad;
}

static const struct explore_program *program_of(const char *name)
{
    for (const struct explore_group *g = explore_groups; g->name; g++)
        for (const struct explore_program *const *p = g->program; *p; p++)
            if (!strcmp((*p)->name, name))
                return *p;
    return NULL;
}

static int add_litmus(struct command *c, const char *path)
{
    struct strobe_error error = {""};
    struct strobe_explore_job job = {.path = path};
    enum strobe_status status = explore_litmus_read(path, &job.litmus, &error);
    if (status != STROBE_OK)
        return strobe_complain("%s%s%s", error.text[0] ? error.text : path, error.text[0] ? "" : ": ",
                               error.text[0] ? "" : strobe_status_text(status));
    job.program = explore_litmus_program(job.litmus);
    return job.program ? explore_add_job(c, job) : strobe_complain("%s: out of memory", path);
}

static bool is_litmus(const char *name)
{
    static const char ending[] = ".litmus";
    size_t n = strlen(name);
    return n >= sizeof ending && !strcmp(name + n - (sizeof ending - 1), ending);
}

static int add_named(struct command *c, const char *name)
{
    const struct explore_program *program = program_of(name);
    if (program)
        return explore_add_job(c, (struct strobe_explore_job){.program = program});
    for (const struct explore_group *g = explore_groups; g->name; g++)
        if (!strcmp(g->name, name))
            return add_group(c, g);
    if (is_litmus(name) || !access(name, F_OK))
        return add_litmus(c, name);
    return strobe_complain("explore: %s: expected a program, a group or a file; `strobe-lab explore --list` lists them",
                           name);
}

/* ---- list */

static void explore_list_programs(void)
{
    if (!explore_groups[0].name)
        puts("This build holds no programs.");
    for (const struct explore_group *g = explore_groups; g->name; g++) {
        printf("%s%s\n", g == explore_groups ? "" : "\n", g->name);
        for (const struct explore_program *const *p = g->program; *p; p++) {
            printf("  %-28s %u threads, size %u", (*p)->name, (*p)->thread_count, (*p)->quick);
            if ((*p)->nightly && (*p)->nightly != (*p)->quick)
                printf(" (nightly %u)", (*p)->nightly);
            printf("\n      %s\n", (*p)->what);
            if ((*p)->source)
                printf("      from: %s\n", (*p)->source);
        }
    }
}

/* ---- replay */

static const struct command *replaying; /* explore_replay's find has no argument for it */

static const struct explore_program *explore_find_program(const char *name)
{
    const struct strobe_explore_request *q = &replaying->q;
    for (uint32_t i = 0; i < q->job_count; i++)
        if (q->job[i].litmus && !strcmp(explore_litmus_name(q->job[i].litmus), name))
            return explore_litmus_program(q->job[i].litmus);
    return program_of(name);
}

static int explore_replay_file(const struct command *c)
{
    struct strobe_error error = {""};
    struct explore_result result;
    replaying = c;
    enum strobe_status status = explore_replay(c->replay, explore_find_program, &result, &error);
    if (status != STROBE_OK)
        return strobe_complain("%s%s%s", error.text[0] ? error.text : c->replay, error.text[0] ? "" : ": ",
                               error.text[0] ? "" : strobe_status_text(status));
    bool failed = result.failure.fault != EXPLORE_FINE;
    if (failed)
        explore_print_failure(stdout, &result.failure);
    else
        printf("%s: this execution ends without a failure\n", c->replay);
    explore_result_free(&result);
    return strobe_output_end(failed ? STROBE_EXIT_CHECK : STROBE_EXIT_OK);
}

/* ---- command */

static int explore_check_options(const struct command *c, int words)
{
    const struct strobe_explore_request *q = &c->q;
    if (c->all && words)
        return strobe_complain("explore: names or --all, not both");
    if (c->replay && (c->all || q->save))
        return strobe_complain("explore: --replay runs the one execution of its file");
    if (c->list && (c->all || words || c->replay))
        return strobe_complain("explore: --list explores nothing");
    return 0;
}

/* After programs are known, before any is explored. */
static int check_save(const struct strobe_explore_request *q)
{
    if (!q->save)
        return 0;
    if (q->job_count != 1)
        return strobe_complain("explore: --save is for one program in one memory model, not %u", q->job_count);
    if (!q->force && !access(q->save, F_OK))
        return strobe_complain("%s: exists already; --force overwrites it", q->save);
    return 0;
}

static int explore_run_jobs(struct command *c, int words, char **word)
{
    int bad = explore_check_options(c, words);
    strobe_output_begin();
    for (const struct explore_group *g = explore_groups; c->all && g->name && !bad; g++)
        bad = add_group(c, g);
    for (int i = 0; i < words && !bad; i++)
        bad = add_named(c, word[i]);
    if (bad)
        return bad;
    if (c->replay)
        return explore_replay_file(c);
    if (!c->q.job_count) {
        if (c->q.save)
            return strobe_complain("explore: --save is for one program in one memory model, and no program is named");
        explore_list_programs();
        return strobe_output_end(STROBE_EXIT_OK);
    }
    bad = check_save(&c->q);
    return bad ? bad : strobe_explore_all(&c->q);
}

int strobe_cmd_explore(int argc, char **argv)
{
    static const struct option options[] = {
        {"list", no_argument, NULL, LIST},
        {"all", no_argument, NULL, ALL},
        {"memory", required_argument, NULL, MEMORY},
        {"strategy", required_argument, NULL, STRATEGY},
        {"preemptions", required_argument, NULL, PREEMPTIONS},
        {"depth", required_argument, NULL, DEPTH},
        {"seed", required_argument, NULL, SEED},
        {"executions", required_argument, NULL, EXECUTIONS},
        {"seconds", required_argument, NULL, SECONDS},
        {"size", required_argument, NULL, SIZE},
        {"spurious", no_argument, NULL, SPURIOUS},
        {"show", no_argument, NULL, SHOW},
        {"save", required_argument, NULL, SAVE},
        {"replay", required_argument, NULL, REPLAY},
        {"jobs", required_argument, NULL, 'j'},
        {"json", no_argument, NULL, JSON},
        {"force", no_argument, NULL, 'f'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct command c = {.q = {.processes = 1}};
    explore_options_default(&c.q.options);
    for (int o; (o = strobe_any_option(argc, argv, options)) != -1;) {
        if (o == 'h')
            return strobe_print_usage(strobe_usage_explore);
        int bad = explore_take_option(&c, o);
        if (bad)
            return bad;
    }
    int status = explore_run_jobs(&c, argc - optind, argv + optind);
    for (uint32_t i = 0; i < c.q.job_count; i++)
        if (c.q.job[i].litmus && (i == 0 || c.q.job[i].litmus != c.q.job[i - 1].litmus))
            explore_litmus_free(c.q.job[i].litmus);
    free(c.q.job);
    return status;
}
