#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/outputs.h"
#include "sim/cmd/against.h"
#include "sim/cmd/commands.h"
#include "sim/cmd/lab.h"
#include "sim/genuine/runtime.h"
#include "sim/page/run_page.h"
#include "sim/player/mach/loader.h"
#include "sim/player/real.h"
#include "sim/trial/shrink.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

const char strobe_usage_run[] =
    "usage: strobe run SCENARIO [OPTIONS]\n"
    "       strobe run --random SEED[..SEED] [OPTIONS]\n"
    "\n"
    "Plays an app described in a scenario with a tracer attached, and scores what the tracer\n"
    "claims against what happened. `strobe help scenario` describes the language.\n"
    "\n"
    "  --seed N           the seed that decides everything (1)\n"
    "  --seeds A..B       a swarm: all these seeds; says median, spread and bias. The first broken\n"
    "                     invariant ends it with its seed, the command that repeats it, and a\n"
    "                     smaller scenario that fails in the same way\n"
    "  --policy P         what captures: strobe (default), strobe-stops, btrace-android, btrace-ios,\n"
    "                     async-1ms, async-10ms, sync-only, matrix, rheatrace, rheatrace-main,\n"
    "                     btrace2, netease, ideal; or none\n"
    "  --against P        plays each seed of a swarm under this policy, too, and says how far the first\n"
    "                     is below it: in how many seeds, and in which ten most, with the causes\n"
    "  --mode MODE        virtual (default): threads and time are simulated; real: the same on\n"
    "                     real threads, captured by the real engine (policy strobe), or with\n"
    "                     real probes in methods (matrix, rheatrace, rheatrace-main, btrace2);\n"
    "                     with --runtime also by suspension alone (netease)\n"
    "  --runtime NAME     in an Android runtime: art11 (installed) and art14, in real mode, or the\n"
    "                     fakes, fake24 to fake36, in virtual mode unless --mode says real; methods\n"
    "                     are Java's, monitors, waits, parks and memory the runtime's own; or mach:\n"
    "                     an iOS app on the fake Mach, in virtual mode unless --mode says real\n"
    "  --cores N          on N processors, whatever the scenario says; real mode keeps the app and its\n"
    "                     tracer on as many of the machine's, and has no more than there are\n"
    "  --busy N           beside N threads of another program that compute all the time, whatever\n"
    "                     the scenario says\n"
    "  --schedule S       fair (default), or adversarial: every free choice is drawn from the seed\n"
    "  --random SEED      play a random scenario instead; SEED..SEED: one for each seed\n"
    "  --size N           operations of a random scenario, about (200)\n"
    "  --print            print the scenario and play nothing\n"
    "  --costs FILE       what the tracer's work costs (fixtures/costs/x86-64.json, built in)\n"
    "  -o, --output DIR   leave there: session.strobe, trace.pftrace, truth.pftrace, score.json,\n"
    "                     report.html; of a swarm: results.jsonl, report.html\n"
    "  --html OUT         of one seed: also write a page for a browser: truth and reconstruction\n"
    "                     above each other, differences marked, flame graphs, tables\n"
    "  -j, --jobs N       processes of a swarm (1)\n"
    "  --shard I/N        play the I-th of N equal parts of a swarm\n"
    "  --json             print JSON: one object; of a swarm a line for each seed\n"
    "  -f, --force        overwrite what is in DIR, and OUT\n"
    "\n"
    "Exit status: 0 fine, 1 an invariant was broken, 2 bad use or bad input.\n";

enum {
    SEED = 256,
    SEEDS,
    POLICY,
    AGAINST,
    MODE,
    RUNTIME,
    CORES,
    BUSY,
    SCHEDULE,
    RANDOM,
    SIZE,
    PRINT,
    COSTS,
    SHARD,
    JSON,
    HTML
};

struct request {
    struct sim_trial_options trial; /* its seed is that of the one trial, or none */
    struct strobe_seeds seeds;
    uint32_t jobs, shard, shards;
    struct sim_costs costs;
    const char *path, *folder, *costs_path, *against, *page;
    bool many, random, print, json, is_virtual, is_real;
    uint32_t size;
};

static int take_shard(struct request *q, const char *text)
{
    char part[16];
    const char *slash = strchr(text, '/');
    uint64_t i, n;
    if (slash && (size_t)(slash - text) < sizeof part) {
        memcpy(part, text, (size_t)(slash - text));
        part[slash - text] = 0;
        if (strobe_parse_number(part, 1000000, &i) && strobe_parse_number(slash + 1, 1000000, &n) && i && i <= n) {
            q->shard = (uint32_t)i;
            q->shards = (uint32_t)n;
            return 0;
        }
    }
    return strobe_complain("run: --shard %s: expected I/N, such as 2/8", text);
}

static int take_seeds(struct request *q, int c, const char *text)
{
    if (!strobe_parse_seeds(text, &q->seeds) || (c == SEED && q->seeds.first != q->seeds.last))
        return strobe_complain("run: --%s %s: expected %s",
                               c == SEED    ? "seed"
                               : c == SEEDS ? "seeds"
                                            : "random",
                               text,
                               c == SEED    ? "a whole number"
                               : c == SEEDS ? "A..B with A <= B, such as 1..100"
                                            : "SEED, or A..B with A <= B");
    q->random |= c == RANDOM;
    q->many = q->seeds.first != q->seeds.last;
    return 0;
}

static int run_take_option(struct request *q, int c)
{
    struct sim_trial_options *t = &q->trial;
    switch (c) {
    case SEED:
    case SEEDS:
    case RANDOM: return take_seeds(q, c, optarg);
    case POLICY:
        t->policy = optarg;
        return strobe_is_policy(optarg) || sim_real_has(optarg)
                   ? 0
                   : strobe_complain("run: --policy %s: expected one of %s", optarg, strobe_policy_list());
    case AGAINST:
        q->against = optarg;
        return strobe_is_policy(optarg)
                   ? 0
                   : strobe_complain("run: --against %s: expected one of %s", optarg, strobe_policy_list());
    case MODE:
        q->is_virtual = !strcmp(optarg, "virtual");
        q->is_real = !strcmp(optarg, "real");
        return q->is_virtual || q->is_real ? 0 : strobe_complain("run: --mode %s: expected virtual or real", optarg);
    case RUNTIME:
        t->runtime = optarg;
        return sim_art_known(optarg, &(int){0}) || !strcmp(optarg, SIM_MACH_NAME)
                   ? 0
                   : strobe_complain("run: --runtime %s: expected art11, art14, fake24 to fake36, or mach", optarg);
    case CORES:
        return strobe_parse_count(optarg, 1, 64, &t->cores)
                   ? 0
                   : strobe_complain("run: --cores %s: expected a number from 1 to 64", optarg);
    case BUSY:
        t->sets_busy = true;
        return strobe_parse_count(optarg, 0, 256, &t->busy)
                   ? 0
                   : strobe_complain("run: --busy %s: expected a number from 0 to 256", optarg);
    case SCHEDULE:
        return strobe_parse_schedule(optarg, &t->schedule)
                   ? 0
                   : strobe_complain("run: --schedule %s: expected fair or adversarial", optarg);
    case SIZE:
        return strobe_parse_count(optarg, 1, 100000, &q->size)
                   ? 0
                   : strobe_complain("run: --size %s: expected a number from 1 to 100000", optarg);
    case COSTS:
        t->costs = &q->costs;
        q->costs_path = optarg;
        return strobe_read_costs(optarg, &q->costs);
    case 'j':
        return strobe_parse_count(optarg, 1, 1024, &q->jobs)
                   ? 0
                   : strobe_complain("run: -j %s: expected a number from 1 to 1024", optarg);
    case SHARD: return take_shard(q, optarg);
    case PRINT: q->print = true; return 0;
    case JSON: q->json = true; return 0;
    case HTML:
        q->page = optarg;
        return *optarg && strcmp(optarg, "-") != 0 ? 0 : strobe_complain("run: --html: expected a file name");
    case 'o': q->folder = optarg; return 0;
    case 'f': t->replace = true; return 0;
    default: return STROBE_EXIT_BAD;
    }
}

/* ---- the report of a broken invariant ---- */

static void run_print_command(FILE *out, const struct request *q, const char *path, uint64_t seed)
{
    fputs("strobe-lab run ", out);
    if (path)
        strobe_print_word(out, path);
    if (path)
        fprintf(out, " --seed %llu", (unsigned long long)seed);
    else
        fprintf(out, "--random %llu --size %u", (unsigned long long)seed, q->size);
    fprintf(out, " --policy %s", q->trial.policy);
    if (q->trial.runtime)
        fprintf(out, " --runtime %s", q->trial.runtime);
    if (q->is_real)
        fputs(" --mode real", out);
    if (q->trial.cores)
        fprintf(out, " --cores %u", q->trial.cores);
    if (q->trial.sets_busy)
        fprintf(out, " --busy %u", q->trial.busy);
    if (q->trial.schedule == SIM_ADVERSARIAL)
        fputs(" --schedule adversarial", out);
    if (q->costs_path) {
        fputs(" --costs ", out);
        strobe_print_word(out, q->costs_path);
    }
    fputc('\n', out);
}

static void run_print_text(void *text, FILE *out)
{
    fputs(text, out);
}

static unsigned lines_of(const char *text)
{
    unsigned n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Makes the failing scenario small and leaves it beside the other outputs, or here. */
static void leave_shrunk(const struct request *q, const struct sim_scenario *s, uint64_t seed, const char *violation)
{
    struct strobe_progress progress;
    char name[512], *text;
    uint32_t tries;
    struct sim_shrink_options options = {.trial = q->trial, .violation = violation, .tries = 2000};
    options.trial.seed = seed;
    strobe_progress_begin(&progress, "shrinking");
    options.progress = strobe_progress_step;
    options.progress_ctx = &progress;
    enum strobe_status status = sim_shrink(s, &options, &text, &tries);
    strobe_progress_end(&progress);
    if (status != STROBE_OK)
        return;
    snprintf(name, sizeof name, "%s-seed-%llu.scn", s->name, (unsigned long long)seed);
    const char *path = strobe_path_in(q->folder ? q->folder : ".", name);
    if (path && !strobe_write_file(path, true, run_print_text, text)) {
        fprintf(stderr, "shrunk:  %s (%u lines, %u tries)\n         ", path, lines_of(text), tries);
        run_print_command(stderr, q, path, seed);
    }
    free(text);
}

static int say_broken(const struct request *q, const struct sim_scenario *s, uint64_t seed, const char *violation)
{
    strobe_complain("seed %llu: %s", (unsigned long long)seed, violation);
    fputs("replay:  ", stderr);
    run_print_command(stderr, q, q->path, seed);
    struct sim_scenario *random = s ? NULL : sim_scenario_random(seed, q->size, false);
    if (s || random)
        leave_shrunk(q, s ? s : random, seed, violation);
    if (random)
        sim_scenario_free(random);
    return STROBE_EXIT_CHECK;
}

/* ---- a swarm ---- */

enum { PAGE_RESULTS = 200 }; /* more make a page slow, and no plot clearer */

struct swarm {
    const struct request *q;
    const struct sim_scenario *scenario;
    struct sim_summary summary;
    struct strobe_results results;
    struct strobe_against against;
    enum strobe_status status;
};

/* Trials a seed: under the policy, and under the one that it is held against. */
static uint32_t trials_a_seed(const struct request *q)
{
    return q->against ? 2 : 1;
}

/* Places of this shard: those of rank shard - 1, shard - 1 + shards, ... */
static uint64_t seed_at(const struct request *q, uint64_t place)
{
    return q->seeds.first + (q->shard - 1u) + place * q->shards;
}

static uint64_t places(const struct request *q)
{
    uint64_t all = q->seeds.last - q->seeds.first + 1, before = q->shard - 1u;
    return all > before ? (all - before - 1) / q->shards + 1 : 0;
}

static void swarm_trial_at(void *ctx, uint64_t place, struct sim_swarm_trial *out)
{
    const struct swarm *m = ctx;
    out->scenario = m->scenario;
    out->random_size = m->q->size;
    out->options = m->q->trial;
    out->options.seed = seed_at(m->q, place / trials_a_seed(m->q));
    if (place % trials_a_seed(m->q))
        out->options.policy = m->q->against;
}

static void swarm_take_result(void *ctx, uint64_t place, const struct sim_result *result, const char *line)
{
    struct swarm *m = ctx;
    bool judged = place % trials_a_seed(m->q) == 0;
    if (m->q->against && m->status == STROBE_OK)
        m->status = strobe_against_add(&m->against, judged, result);
    if (m->q->json)
        puts(line);
    else if (m->status == STROBE_OK && m->scenario && judged)
        m->status = sim_summary_add(&m->summary, result);
    if (m->q->folder)
        strobe_results_add(&m->results, line, m->results.count < PAGE_RESULTS);
}

/* What a swarm has to say when it has ended. */
static int swarm_report(const struct request *q, struct swarm *m, const struct sim_swarm_outcome *outcome)
{
    int bad = q->folder ? strobe_results_leave(&m->results, q->folder, q->trial.replace) : 0;
    if (bad)
        return bad;
    if (!q->json && m->scenario && outcome->played)
        sim_summary_print(&m->summary, stdout);
    if (outcome->broken)
        return say_broken(q, m->scenario, seed_at(q, outcome->place / trials_a_seed(q)), outcome->violation);
    if (!q->json)
        printf("%llu seeds, every invariant kept\n", (unsigned long long)outcome->played / trials_a_seed(q));
    if (!q->json)
        strobe_against_print(&m->against, q->trial.policy, q->against, stdout);
    return STROBE_EXIT_OK;
}

static int run_swarm(const struct request *q, const struct sim_scenario *s)
{
    struct strobe_progress progress;
    struct sim_swarm_outcome outcome;
    struct swarm m = {.q = q, .scenario = s};
    struct sim_swarm_options options = {.count = places(q) * trials_a_seed(q),
                                        .jobs = q->jobs,
                                        .line_parts = 4096,
                                        .trial = swarm_trial_at,
                                        .each = swarm_take_result,
                                        .ctx = &m,
                                        .progress = strobe_progress_step,
                                        .progress_ctx = &progress};
    struct strobe_error error = {""};
    if (q->folder && strobe_results_open(&m.results))
        return STROBE_EXIT_BAD;
    sim_summary_open(&m.summary);
    strobe_progress_begin(&progress, "playing");
    enum strobe_status status = sim_swarm_run(&options, &outcome, &error);
    strobe_progress_end(&progress);
    if (status == STROBE_OK)
        status = m.status;
    int exit_status = status == STROBE_OK ? swarm_report(q, &m, &outcome) : strobe_trial_complaint(status, error.text);
    sim_summary_close(&m.summary);
    strobe_results_close(&m.results);
    strobe_against_close(&m.against);
    return strobe_output_end(exit_status);
}

/* ---- one trial ---- */

static void run_print_json(void *result, FILE *out)
{
    sim_result_print_json(result, out);
}

static int leave_trial(const struct request *q, const struct sim_scenario *s, struct sim_result *result)
{
    bool replace = q->trial.replace;
    const char *path = strobe_path_in(q->folder, "score.json");
    int bad = path ? strobe_write_file(path, replace, run_print_json, result) : STROBE_EXIT_BAD;
    if (!bad)
        bad = strobe_leave_page(result, 1, q->folder, replace);
    if (bad || !q->random)
        return bad;
    char *text = sim_scenario_print(s);
    path = strobe_path_in(q->folder, "scenario.scn");
    bad = text && path ? strobe_write_file(path, replace, run_print_text, text) : STROBE_EXIT_BAD;
    free(text);
    return bad;
}

struct kept_run {
    struct sim_run_page *page;
    const struct sim_result *result;
};

static enum strobe_status write_kept_run(void *ctx, struct strobe_outfile *out)
{
    const struct kept_run *kept = ctx;
    return sim_run_page_write(kept->page, kept->result, out);
}

static int run_one(struct request *q, const struct sim_scenario *s)
{
    struct sim_run_page *page = q->page ? sim_run_page_open() : NULL;
    struct sim_trial trial;
    struct strobe_error error = {""};
    q->trial.seed = q->seeds.first;
    q->trial.folder = q->folder;
    q->trial.findings = q->folder;
    if (q->page && !page)
        return strobe_complain("run: out of memory");
    q->trial.keep = page ? sim_run_page_keep : NULL;
    q->trial.keep_ctx = page;
    enum strobe_status status = sim_trial_run(s, &q->trial, &trial, &error);
    if (status != STROBE_OK) {
        sim_run_page_close(page);
        return strobe_trial_complaint(status, error.text);
    }
    int exit_status = q->folder ? leave_trial(q, s, &trial.result) : 0;
    if (!exit_status && page)
        exit_status =
            strobe_leave_html(q->page, q->trial.replace, write_kept_run, &(struct kept_run){page, &trial.result});
    if (!exit_status && q->json)
        sim_result_print_json(&trial.result, stdout);
    else if (!exit_status)
        sim_result_print(&trial.result, stdout);
    if (!exit_status && trial.result.violation[0]) {
        strobe_complain("seed %llu: %s", (unsigned long long)q->seeds.first, trial.result.violation);
        exit_status = STROBE_EXIT_CHECK;
    }
    sim_run_page_close(page);
    sim_trial_free(&trial);
    return strobe_output_end(exit_status);
}

/* ---- command ---- */

static bool is_fake(const char *runtime)
{
    return !strncmp(runtime, "fake", 4) || !strcmp(runtime, SIM_MACH_NAME);
}

static int check_request(const struct request *q, int words, char **word)
{
    const struct sim_trial_options *t = &q->trial;
    if (words == 0 && !q->random)
        return strobe_complain("run: which scenario? strobe-lab run SCENARIO, or strobe-lab run --random SEED");
    if (words && q->random)
        return strobe_complain("run: a scenario or --random, not both");
    if (words > 1)
        return strobe_complain("run: one scenario at a time, not %s too; `strobe-lab compare` takes several", word[1]);
    const char *refused = t->real ? sim_real_refuses(t->policy, t->runtime, t->is_virtual) : NULL;
    if (refused)
        return strobe_complain("run: --policy %s %s", t->policy, refused);
    if (t->runtime && q->is_virtual && !is_fake(t->runtime))
        return strobe_complain("run: --runtime %s is for --mode real: only fakes play in virtual time", t->runtime);
    if (t->real && !t->is_virtual && t->schedule == SIM_ADVERSARIAL)
        return strobe_complain("run: --schedule adversarial is for --mode virtual");
    if (q->page && (q->many || q->print))
        return strobe_complain("run: --html is for one seed that is played");
    if (q->page && strobe_check_html(q->page, t->replace))
        return STROBE_EXIT_BAD;
    if (!q->many && q->shards > 1)
        return strobe_complain("run: --shard is for --seeds A..B");
    if (!q->many && q->against)
        return strobe_complain("run: --against is for --seeds A..B and --random A..B");
    if (t->real && q->against)
        return strobe_complain("run: --against is for virtual time, without --runtime");
    if (q->many && q->print)
        return strobe_complain("run: --print takes one scenario");
    return 0;
}

static int print_scenario(const struct sim_scenario *s)
{
    char *text = sim_scenario_print(s);
    if (!text)
        return strobe_complain("out of memory");
    fputs(text, stdout);
    free(text);
    return strobe_output_end(STROBE_EXIT_OK);
}

static int run_request(struct request *q)
{
    struct sim_scenario *s = NULL;
    strobe_output_begin();
    if (q->folder && strobe_make_folder(q->folder))
        return STROBE_EXIT_BAD;
    if (q->path && !(s = strobe_read_scenario(q->path)))
        return STROBE_EXIT_BAD;
    if (q->random && !q->many && !(s = sim_scenario_random(q->seeds.first, q->size, false)))
        return strobe_complain("out of memory");
    int status = q->print ? print_scenario(s) : q->many ? run_swarm(q, s) : run_one(q, s);
    if (s)
        sim_scenario_free(s);
    return status;
}

int strobe_cmd_run(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, SEED},
        {"seeds", required_argument, NULL, SEEDS},
        {"policy", required_argument, NULL, POLICY},
        {"against", required_argument, NULL, AGAINST},
        {"mode", required_argument, NULL, MODE},
        {"runtime", required_argument, NULL, RUNTIME},
        {"cores", required_argument, NULL, CORES},
        {"busy", required_argument, NULL, BUSY},
        {"schedule", required_argument, NULL, SCHEDULE},
        {"random", required_argument, NULL, RANDOM},
        {"size", required_argument, NULL, SIZE},
        {"print", no_argument, NULL, PRINT},
        {"costs", required_argument, NULL, COSTS},
        {"output", required_argument, NULL, 'o'},
        {"jobs", required_argument, NULL, 'j'},
        {"shard", required_argument, NULL, SHARD},
        {"json", no_argument, NULL, JSON},
        {"html", required_argument, NULL, HTML},
        {"force", no_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct request q = {.seeds = {1, 1}, .size = 200};
    q.trial.policy = "strobe";
    q.shard = q.shards = q.jobs = 1;
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_run);
        int bad = run_take_option(&q, c);
        if (bad)
            return bad;
    }
    q.trial.is_virtual = q.trial.runtime && is_fake(q.trial.runtime) && !q.is_real;
    q.trial.real = q.is_real || q.trial.runtime;
    int bad = check_request(&q, argc - optind, argv + optind);
    if (bad)
        return bad;
    q.path = argv[optind];
    return run_request(&q);
}
