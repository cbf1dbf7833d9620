#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/outputs.h"
#include "sim/cmd/commands.h"
#include "sim/cmd/lab.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

const char strobe_usage_compare[] =
    "usage: strobe compare SCENARIO... [OPTIONS]\n"
    "\n"
    "Plays each scenario under every capture policy and prints one table: accuracy, overhead,\n"
    "bytes, losses. Several seeds give medians, with the spread.\n"
    "\n"
    "  --seeds A..B       seeds to play (1)\n"
    "  --policy P         only this policy; may be given several times\n"
    "  --costs FILE       what the tracer's work costs (fixtures/costs/x86-64.json, built in)\n"
    "  -j, --jobs N       processes (1)\n"
    "  -o, --output DIR   leave there: results.jsonl, report.html; and for the first seed of each\n"
    "                     scenario and policy the traces, in DIR/SCENARIO/POLICY/\n"
    "  --json             print JSON: an array of summaries\n"
    "  -f, --force        overwrite what is in DIR\n"
    "\n"
    "Exit status: 0 fine, 1 an invariant was broken, 2 bad use or bad input.\n";

enum { SEEDS = 256, POLICY, COSTS, JSON, POLICIES_MAX = 16 };

struct request {
    struct strobe_seeds seeds;
    struct sim_costs costs;
    const struct sim_costs *chosen_costs;
    const char *policies[POLICIES_MAX];
    uint32_t policy_count, jobs;
    const char *folder;
    bool json, replace;
};

/* The whole comparison: cells of one scenario and policy, seeds in each; cell by cell. */
struct comparison {
    const struct request *q;
    struct sim_scenario **scenarios;
    uint32_t scenario_count;
    uint64_t seeds;
    struct sim_summary *cells;
    struct strobe_results results;
    enum strobe_status status;
};

static int compare_take_option(struct request *q, int c)
{
    switch (c) {
    case SEEDS:
        return strobe_parse_seeds(optarg, &q->seeds)
                   ? 0
                   : strobe_complain("compare: --seeds %s: expected A..B with A <= B, such as 1..20", optarg);
    case POLICY:
        if (!strobe_is_policy(optarg))
            return strobe_complain("compare: --policy %s: expected one of %s", optarg, strobe_policy_list());
        if (q->policy_count == POLICIES_MAX)
            return strobe_complain("compare: more than %d policies", POLICIES_MAX);
        q->policies[q->policy_count++] = optarg;
        return 0;
    case COSTS: q->chosen_costs = &q->costs; return strobe_read_costs(optarg, &q->costs);
    case 'j':
        return strobe_parse_count(optarg, 1, 1024, &q->jobs)
                   ? 0
                   : strobe_complain("compare: -j %s: expected a number from 1 to 1024", optarg);
    case JSON: q->json = true; return 0;
    case 'o': q->folder = optarg; return 0;
    case 'f': q->replace = true; return 0;
    default: return STROBE_EXIT_BAD;
    }
}

static const char *comparison_folder(const struct comparison *c, const struct sim_scenario *s, const char *policy)
{
    static char folder[4096];
    int n = snprintf(folder, sizeof folder, "%s/%s/%s", c->q->folder, s->name, policy);
    return n >= 0 && (size_t)n < sizeof folder ? folder : NULL;
}

/* Traces are left of each cell's first seed. */
static void comparison_trial_at(void *ctx, uint64_t place, struct sim_swarm_trial *out)
{
    const struct comparison *c = ctx;
    const struct request *q = c->q;
    uint64_t cell = place / c->seeds, seed = place % c->seeds;
    out->scenario = c->scenarios[cell / q->policy_count];
    out->options = (struct sim_trial_options){.policy = q->policies[cell % q->policy_count],
                                              .costs = q->chosen_costs,
                                              .seed = q->seeds.first + seed,
                                              .replace = q->replace};
    if (q->folder && seed == 0)
        out->options.folder = comparison_folder(c, out->scenario, out->options.policy);
}

static void comparison_take_result(void *ctx, uint64_t place, const struct sim_result *result, const char *line)
{
    struct comparison *c = ctx;
    if (c->status == STROBE_OK)
        c->status = sim_summary_add(&c->cells[place / c->seeds], result);
    if (c->q->folder)
        strobe_results_add(&c->results, line, place % c->seeds == 0);
    if (result->violation[0])
        strobe_complain("%s: policy %s, seed %llu: %s", result->scenario, result->policy,
                        (unsigned long long)result->seed, result->violation);
}

/* Folders are made beforehand, so that a name that can't be had is known before anything is played. */
static int make_folders(const struct comparison *c)
{
    if (strobe_make_folder(c->q->folder))
        return STROBE_EXIT_BAD;
    for (uint32_t i = 0; i < c->scenario_count; i++) {
        for (uint32_t p = 0; p < c->q->policy_count; p++) {
            const char *folder = comparison_folder(c, c->scenarios[i], c->q->policies[p]);
            if (!folder || strobe_make_folder(folder))
                return folder ? STROBE_EXIT_BAD : strobe_complain("%s: path too long", c->q->folder);
        }
    }
    return 0;
}

static int comparison_read_scenarios(struct comparison *c, int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        struct sim_scenario *s = strobe_read_scenario(paths[i]);
        if (!s)
            return STROBE_EXIT_BAD;
        for (uint32_t k = 0; k < c->scenario_count; k++)
            if (!strcmp(c->scenarios[k]->name, s->name)) {
                sim_scenario_free(s);
                return strobe_complain("%s: a scenario of the same name as %s", paths[i], paths[k]);
            }
        c->scenarios[c->scenario_count++] = s;
    }
    return c->q->folder ? make_folders(c) : 0;
}

static int comparison_play(struct comparison *c)
{
    struct strobe_error error = {""};
    struct strobe_progress progress;
    struct sim_swarm_outcome outcome;
    uint64_t cells = (uint64_t)c->scenario_count * c->q->policy_count;
    struct sim_swarm_options o = {.count = cells * c->seeds,
                                  .jobs = c->q->jobs,
                                  .line_parts = 64,
                                  .go_on = true,
                                  .trial = comparison_trial_at,
                                  .each = comparison_take_result,
                                  .ctx = c,
                                  .progress = strobe_progress_step,
                                  .progress_ctx = &progress};
    for (uint64_t i = 0; i < cells; i++)
        sim_summary_open(&c->cells[i]);
    strobe_progress_begin(&progress, "comparing");
    enum strobe_status status = sim_swarm_run(&o, &outcome, &error);
    strobe_progress_end(&progress);
    if (status == STROBE_OK)
        status = c->status;
    if (status != STROBE_OK)
        return strobe_trial_complaint(status, error.text);
    if (outcome.played < o.count)
        strobe_complain("trial %llu of %llu: %s", (unsigned long long)outcome.place + 1, (unsigned long long)o.count,
                        outcome.violation);
    return outcome.broken ? STROBE_EXIT_CHECK : STROBE_EXIT_OK;
}

static void comparison_print(const struct comparison *c)
{
    size_t cells = (size_t)c->scenario_count * c->q->policy_count;
    if (!c->q->json) {
        sim_summary_print_table(c->cells, cells, stdout);
        return;
    }
    putchar('[');
    for (size_t i = 0; i < cells; i++) {
        fputs(i ? ",\n" : "\n", stdout);
        sim_summary_print_json(&c->cells[i], stdout);
    }
    puts("]");
}

static int comparison_report(struct comparison *c, int status)
{
    int bad = c->q->folder ? strobe_results_leave(&c->results, c->q->folder, c->q->replace) : 0;
    if (!bad)
        comparison_print(c);
    return bad ? bad : status;
}

static void comparison_close(struct comparison *c)
{
    for (size_t i = 0; i < (size_t)c->scenario_count * c->q->policy_count; i++)
        sim_summary_close(&c->cells[i]);
    for (uint32_t i = 0; i < c->scenario_count; i++)
        sim_scenario_free(c->scenarios[i]);
    free(c->cells);
    free(c->scenarios);
    strobe_results_close(&c->results);
}

static int compare_scenarios(const struct request *q, int count, char **paths)
{
    struct comparison c = {.q = q, .seeds = q->seeds.last - q->seeds.first + 1};
    strobe_output_begin();
    if (q->folder && strobe_results_open(&c.results))
        return STROBE_EXIT_BAD;
    c.scenarios = calloc((size_t)count, sizeof(struct sim_scenario *));
    c.cells = calloc((size_t)count * q->policy_count, sizeof *c.cells);
    int status = c.scenarios && c.cells ? comparison_read_scenarios(&c, count, paths)
                                        : strobe_complain("compare: out of memory");
    if (!status) {
        status = comparison_play(&c);
        if (status != STROBE_EXIT_BAD)
            status = comparison_report(&c, status);
    }
    comparison_close(&c);
    return strobe_output_end(status);
}

int strobe_cmd_compare(int argc, char **argv)
{
    static const struct option options[] = {
        {"seeds", required_argument, NULL, SEEDS},
        {"policy", required_argument, NULL, POLICY},
        {"costs", required_argument, NULL, COSTS},
        {"output", required_argument, NULL, 'o'},
        {"jobs", required_argument, NULL, 'j'},
        {"json", no_argument, NULL, JSON},
        {"force", no_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct request q = {.seeds = {1, 1}, .jobs = 1};
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_compare);
        int bad = compare_take_option(&q, c);
        if (bad)
            return bad;
    }
    if (optind == argc)
        return strobe_complain("compare: which scenarios? strobe-lab compare SCENARIO...");
    if (!q.policy_count)
        for (; sim_policy_names[q.policy_count]; q.policy_count++)
            q.policies[q.policy_count] = sim_policy_names[q.policy_count];
    return compare_scenarios(&q, argc - optind, argv + optind);
}
