#include "engine/base/error_format.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/outputs.h"
#include "sim/cmd/commands.h"
#include "sim/cmd/comparison.h"
#include "sim/cmd/comparison_page.h"
#include "sim/cmd/lab.h"
#include "sim/player/real.h"

#include <getopt.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

const char strobe_usage_compare[] =
    "usage: strobe compare SCENARIO... [OPTIONS]\n"
    "       strobe compare --runtime NAME [SCENARIO...] [OPTIONS]\n"
    "\n"
    "Plays each scenario under every capture policy and prints one table: accuracy, overhead,\n"
    "bytes, losses. Several seeds give medians, with the spread.\n"
    "\n"
    "With --runtime, it plays them on each backend under `strobe`, beside `ideal` with as many\n"
    "samples, and prints a table for each backend; without SCENARIO, those of fixtures/scenarios.\n"
    "A scenario that a backend cannot express has the reason in the table.\n"
    "\n"
    "  --runtime NAME     host (simulated), mach, fake24 to fake36, art11 or art14 (on real\n"
    "                     threads); virtual: host, fake24, fake28, fake30, fake34, fake36, mach;\n"
    "                     all: these and art11. May be given several times\n"
    "  --brief            with --runtime: one table of exact agreement, a column for each backend\n"
    "  --seeds A..B       seeds to play (1)\n"
    "  --policy P         only this policy; may be given several times\n"
    "  --costs FILE       what the tracer's work costs (fixtures/costs/x86-64.json, built in)\n"
    "  -j, --jobs N       processes (1)\n"
    "  -o, --output DIR   leave there: results.jsonl, report.html; and for the first seed of each\n"
    "                     scenario and policy the traces, in DIR/SCENARIO/POLICY/; with --runtime\n"
    "                     all that in DIR/NAME/\n"
    "  --html OUT         also write a page for a browser: a matrix of policy by scenario\n"
    "  --json             print JSON: an array of summaries\n"
    "  -f, --force        overwrite what is in DIR, and OUT\n"
    "\n"
    "Exit status: 0 fine, 1 an invariant was broken, 2 bad use or bad input.\n";

enum { SEEDS = 256, POLICY, COSTS, JSON, RUNTIME, BRIEF, HTML, POLICIES_MAX = 16 };

struct request {
    struct strobe_seeds seeds;
    struct sim_costs costs;
    const struct sim_costs *chosen_costs;
    struct sim_backends backends; /* without --runtime: the simulated host */
    const char *policies[POLICIES_MAX];
    uint32_t policy_count, jobs;
    const char *folder, *costs_path, *page;
    bool in_runtimes, json, brief, replace;
};

/* The whole comparison: cells of one backend, scenario and policy, seeds in each; cell by cell. */
struct comparison {
    const struct request *q;
    struct sim_scenario **scenarios;
    const char **names;
    char **paths; /* of the scenarios */
    uint32_t scenario_count;
    uint64_t seeds;
    struct sim_cells table;
    struct strobe_results results[SIM_BACKENDS_MAX];
    uint64_t *places; /* cells to play now */
    bool is_broken;
    enum strobe_status status;
    struct strobe_error error;
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
    case RUNTIME:
        q->in_runtimes = true;
        return sim_backends_add(&q->backends, optarg)
                   ? 0
                   : strobe_complain("compare: --runtime %s: expected %s", optarg, sim_backend_names);
    case BRIEF: q->brief = true; return 0;
    case HTML:
        q->page = optarg;
        return *optarg && strcmp(optarg, "-") != 0 ? 0 : strobe_complain("compare: --html: expected a file name");
    case COSTS:
        q->chosen_costs = &q->costs;
        q->costs_path = optarg;
        return strobe_read_costs(optarg, &q->costs);
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

/* Returns the folder of a backend, valid until the next call. NULL: the path is too long. */
static const char *backend_folder(const struct comparison *c, uint32_t backend)
{
    static char folder[4096];
    const char *path = c->q->folder;
    if (c->q->in_runtimes)
        path = strobe_path_in(c->q->folder, c->q->backends.list[backend].name);
    int n = path ? snprintf(folder, sizeof folder, "%s", path) : -1;
    return n >= 0 && (size_t)n < sizeof folder ? folder : NULL;
}

/* NULL: the path is too long. */
static const char *comparison_folder(const struct comparison *c, uint32_t backend, const char *scenario,
                                     const char *policy)
{
    static char folder[4096];
    const char *parent = backend_folder(c, backend);
    int n = parent ? snprintf(folder, sizeof folder, "%s/%s/%s", parent, scenario, policy) : -1;
    return n >= 0 && (size_t)n < sizeof folder ? folder : NULL;
}

static uint64_t cells_of_backend(const struct comparison *c)
{
    return (uint64_t)c->scenario_count * c->q->policy_count;
}

static struct sim_cell *cell_at_place(const struct comparison *c, uint64_t place)
{
    return &c->table.cells[c->places[place / c->seeds]];
}

static uint32_t backend_at_place(const struct comparison *c, uint64_t place)
{
    return (uint32_t)(c->places[place / c->seeds] / cells_of_backend(c));
}

/* Traces are left of each cell's first seed. */
static void comparison_trial_at(void *ctx, uint64_t place, struct sim_swarm_trial *out)
{
    const struct comparison *c = ctx;
    const struct request *q = c->q;
    uint64_t cell = c->places[place / c->seeds], seed = place % c->seeds;
    uint32_t backend = backend_at_place(c, place);
    out->scenario = c->scenarios[cell % cells_of_backend(c) / q->policy_count];
    out->options = (struct sim_trial_options){.policy = q->policies[cell % q->policy_count],
                                              .costs = q->chosen_costs,
                                              .seed = q->seeds.first + seed,
                                              .replace = q->replace};
    sim_backend_choose(&q->backends.list[backend], &out->options);
    if (q->folder && seed == 0)
        out->options.folder = comparison_folder(c, backend, out->scenario->name, out->options.policy);
}

static void comparison_take_result(void *ctx, uint64_t place, const struct sim_result *result, const char *line)
{
    struct comparison *c = ctx;
    uint32_t backend = backend_at_place(c, place);
    if (c->status == STROBE_OK)
        c->status = sim_summary_add(&cell_at_place(c, place)->summary, result);
    if (c->q->folder)
        strobe_results_add(&c->results[backend], line, place % c->seeds == 0);
    if (result->violation[0])
        strobe_complain("%s: %s%spolicy %s, seed %llu: %s", result->scenario,
                        c->q->in_runtimes ? c->q->backends.list[backend].name : "", c->q->in_runtimes ? ", " : "",
                        result->policy, (unsigned long long)result->seed, result->violation);
}

/* A runtime that cannot express a scenario refuses it. Everything else is a failure of the lab. */
static void comparison_take_refusal(void *ctx, uint64_t place, enum strobe_status status, const char *why)
{
    struct comparison *c = ctx;
    struct sim_cell *cell = cell_at_place(c, place);
    bool refused = status == STROBE_BAD_INPUT || status == STROBE_UNSUPPORTED || status == STROBE_NO_ENTRY;
    if (status == STROBE_EXISTS && c->status == STROBE_OK) {
        c->status = status;
        strobe_error_set(&c->error, "%s", why);
    }
    c->is_broken |= !refused;
    cell->is_failed |= !refused;
    if (!cell->refused[0])
        snprintf(cell->refused, sizeof cell->refused, "%s", why[0] ? why : strobe_status_text(status));
}

/* Folders are made beforehand, so that a name that can't be had is known before anything is played. */
static int make_backend_folders(const struct comparison *c, uint32_t backend)
{
    const char *folder = backend_folder(c, backend);
    if (!folder || (c->q->in_runtimes && strobe_make_folder(folder)))
        return STROBE_EXIT_BAD;
    for (uint32_t i = 0; i < c->scenario_count; i++) {
        for (uint32_t p = 0; p < c->q->policy_count; p++) {
            folder = comparison_folder(c, backend, c->names[i], c->q->policies[p]);
            if (!folder || strobe_make_folder(folder))
                return folder ? STROBE_EXIT_BAD : strobe_complain("%s: path too long", c->q->folder);
        }
    }
    return 0;
}

static int make_folders(struct comparison *c)
{
    int bad = strobe_make_folder(c->q->folder);
    for (uint32_t b = 0; !bad && b < c->q->backends.count; b++) {
        bad = make_backend_folders(c, b);
        if (!bad)
            bad = strobe_results_open(&c->results[b]);
    }
    return bad;
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
        c->names[c->scenario_count] = s->name;
        c->scenarios[c->scenario_count++] = s;
    }
    return c->q->folder ? make_folders(c) : 0;
}

/* Plays the cells of all backends in virtual time, or of those on real threads: these are played one after the other,
 * because they share the processors. */
static int comparison_play(struct comparison *c, bool is_virtual)
{
    struct strobe_progress progress;
    struct sim_swarm_outcome outcome;
    uint64_t cells = 0, of_backend = cells_of_backend(c);
    for (uint64_t i = 0; i < c->q->backends.count * of_backend; i++)
        if (c->q->backends.list[i / of_backend].is_virtual == is_virtual)
            c->places[cells++] = i;
    struct sim_swarm_options o = {.count = cells * c->seeds,
                                  .jobs = is_virtual ? c->q->jobs : 1,
                                  .line_parts = 64,
                                  .go_on = true,
                                  .trial = comparison_trial_at,
                                  .each = comparison_take_result,
                                  .refused = c->q->in_runtimes ? comparison_take_refusal : NULL,
                                  .ctx = c,
                                  .progress = strobe_progress_step,
                                  .progress_ctx = &progress};
    if (!cells)
        return 0;
    strobe_progress_begin(&progress, "comparing");
    enum strobe_status status = sim_swarm_run(&o, &outcome, &c->error);
    strobe_progress_end(&progress);
    if (status == STROBE_OK)
        status = c->status;
    if (status != STROBE_OK)
        return strobe_trial_complaint(status, c->error.text);
    if (outcome.played < o.count)
        strobe_complain("trial %llu of %llu: %s", (unsigned long long)outcome.place + 1, (unsigned long long)o.count,
                        outcome.violation);
    c->is_broken |= outcome.broken;
    return 0;
}

static void comparison_print(const struct comparison *c)
{
    if (c->q->json)
        sim_cells_print_json(&c->table, c->q->in_runtimes, stdout);
    else if (c->q->brief)
        sim_cells_print_brief(&c->table, stdout);
    else if (c->q->in_runtimes)
        sim_cells_print(&c->table, stdout);
    else
        sim_cells_print_policies(&c->table, stdout);
}

static int comparison_report(struct comparison *c)
{
    for (uint32_t b = 0; c->q->folder && b < c->q->backends.count; b++) {
        const char *folder = backend_folder(c, b);
        int bad = folder ? strobe_results_leave(&c->results[b], folder, c->q->replace) : STROBE_EXIT_BAD;
        if (bad)
            return bad;
    }
    if (c->q->page) {
        struct sim_cells_page page = {.cells = &c->table,
                                      .paths = c->paths,
                                      .first_seed = c->q->seeds.first,
                                      .seeds = c->seeds,
                                      .costs_path = c->q->costs_path,
                                      .names_backends = c->q->in_runtimes};
        if (strobe_leave_html(c->q->page, c->q->replace, sim_cells_page_write, &page))
            return STROBE_EXIT_BAD;
    }
    comparison_print(c);
    return c->is_broken ? STROBE_EXIT_CHECK : STROBE_EXIT_OK;
}

static void comparison_close(struct comparison *c)
{
    for (uint64_t i = 0; c->table.cells && i < c->q->backends.count * cells_of_backend(c); i++)
        sim_summary_close(&c->table.cells[i].summary);
    for (uint32_t i = 0; i < c->scenario_count; i++)
        sim_scenario_free(c->scenarios[i]);
    for (uint32_t b = 0; b < c->q->backends.count; b++)
        strobe_results_close(&c->results[b]);
    free(c->table.cells);
    free(c->scenarios);
    free(c->names);
    free(c->places);
}

static bool comparison_open(struct comparison *c, int count)
{
    const struct request *q = c->q;
    size_t cells = (size_t)count * q->policy_count * q->backends.count;
    c->scenarios = calloc((size_t)count, sizeof(struct sim_scenario *));
    c->names = calloc((size_t)count, sizeof *c->names);
    c->places = calloc(cells, sizeof *c->places);
    c->table = (struct sim_cells){.backends = q->backends.list,
                                  .policies = q->policies,
                                  .scenarios = c->names,
                                  .backend_count = q->backends.count,
                                  .policy_count = q->policy_count,
                                  .cells = calloc(cells, sizeof *c->table.cells)};
    for (size_t i = 0; c->table.cells && i < cells; i++)
        sim_summary_open(&c->table.cells[i].summary);
    return c->scenarios && c->names && c->places && c->table.cells;
}

static int compare_scenarios(const struct request *q, int count, char **paths)
{
    struct comparison c = {.q = q, .paths = paths, .seeds = q->seeds.last - q->seeds.first + 1};
    strobe_output_begin();
    int status = comparison_open(&c, count) ? comparison_read_scenarios(&c, count, paths)
                                            : strobe_complain("compare: out of memory");
    c.table.scenario_count = c.scenario_count;
    if (!status)
        status = comparison_play(&c, true);
    if (!status)
        status = comparison_play(&c, false);
    if (!status)
        status = comparison_report(&c);
    comparison_close(&c);
    return strobe_output_end(status);
}

/* ---- command ---- */

static const char *policy_refused_in_runtimes(const struct request *q)
{
    for (uint32_t b = 0; b < q->backends.count; b++)
        for (uint32_t p = 0; q->backends.list[b].runtime && p < q->policy_count; p++)
            if (sim_real_refuses(q->policies[p], q->backends.list[b].runtime, q->backends.list[b].is_virtual))
                return q->policies[p];
    return NULL;
}

static void choose_policies(struct request *q)
{
    static const char *const beside_ideal[] = {"strobe", "ideal", NULL}, *const alone[] = {"strobe", NULL};
    const char *const *names = q->brief ? alone : q->in_runtimes ? beside_ideal : sim_policy_names;
    for (; names[q->policy_count]; q->policy_count++)
        q->policies[q->policy_count] = names[q->policy_count];
}

/* Plays the scenarios of fixtures/scenarios. */
static int compare_fixtures(const struct request *q)
{
    glob_t found;
    if (glob("fixtures/scenarios/*.scn", 0, NULL, &found) != 0)
        return strobe_complain("compare: which scenarios? There is no fixtures/scenarios here");
    int status = compare_scenarios(q, (int)found.gl_pathc, found.gl_pathv);
    globfree(&found);
    return status;
}

int strobe_cmd_compare(int argc, char **argv)
{
    static const struct option options[] = {
        {"seeds", required_argument, NULL, SEEDS},
        {"policy", required_argument, NULL, POLICY},
        {"runtime", required_argument, NULL, RUNTIME},
        {"brief", no_argument, NULL, BRIEF},
        {"costs", required_argument, NULL, COSTS},
        {"output", required_argument, NULL, 'o'},
        {"jobs", required_argument, NULL, 'j'},
        {"html", required_argument, NULL, HTML},
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
    if (optind == argc && !q.in_runtimes)
        return strobe_complain("compare: which scenarios? strobe-lab compare SCENARIO...");
    if (q.brief && !q.in_runtimes)
        return strobe_complain("compare: --brief is for --runtime");
    if (!q.in_runtimes)
        sim_backends_add(&q.backends, "host");
    if (!q.policy_count)
        choose_policies(&q);
    const char *refused = policy_refused_in_runtimes(&q);
    if (refused)
        return strobe_complain("compare: --policy %s is not for --runtime", refused);
    if (q.page && strobe_check_html(q.page, q.replace))
        return STROBE_EXIT_BAD;
    return optind == argc ? compare_fixtures(&q) : compare_scenarios(&q, argc - optind, argv + optind);
}
