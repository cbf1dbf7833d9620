#include "engine/base/error.h"
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/outputs.h"
#include "sim/cmd/commands.h"
#include "sim/cmd/lab.h"
#include "sim/learn/calls/capture.h"
#include "sim/learn/learn.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

const char strobe_usage_learn[] =
    "usage: strobe learn CAPTURE... -o FILE.scn [OPTIONS]\n"
    "\n"
    "Derives a scenario from captures of an app, so that `strobe compare FILE.scn` shows which\n"
    "policy and interval would have shown what. A CAPTURE is a session, or a Perfetto trace that\n"
    "`strobe convert` or the lab wrote. Several captures of one app give one scenario.\n"
    "\n"
    "The scenario has the capture's threads, calls, loops, messages, locks and waits, with their\n"
    "durations as distributions. The command then replays it in virtual time, and prints how far\n"
    "the replay is from the captures: shares of methods, waits, percentiles of messages, durations.\n"
    "It also prints what it left out.\n"
    "\n"
    "  -o, --output FILE  the scenario\n"
    "      --name NAME    its name (the file's, without the ending)\n"
    "      --cores N      processors of the machine (those of the capture when it has them, or 4)\n"
    "      --lines N      about at most N lines, 40 or more: methods with little time of their own become\n"
    "                     part of their callers, distributions get fewer values\n"
    "      --check FILE   write nothing: replay the scenario FILE, and compare it with the captures\n"
    "      --replays N    seeds that each replay plays (3); 0: write, without replay and tuning\n"
    "  -f, --force        overwrite FILE\n"
    "\n"
    "Exit status: 0 fine, 2 bad use or bad input.\n";

enum {
    LEARN_NAME = 256,
    LEARN_CORES,
    LEARN_REPLAYS,
    LEARN_LINES,
    LEARN_CHECK,
    LEARN_REPLAYS_DEFAULT = 3,
    LEARN_CAPTURES_MAX = 64
};

struct learn_request {
    struct sim_learn_options options;
    const char *output, *check;
    bool replace;
};

static int learn_take_option(struct learn_request *q, int c)
{
    switch (c) {
    case 'o': q->output = optarg; return 0;
    case 'f': q->replace = true; return 0;
    case LEARN_NAME: q->options.name = optarg; return 0;
    case LEARN_CORES:
        return strobe_parse_count(optarg, 1, 64, &q->options.cores)
                   ? 0
                   : strobe_complain("learn: --cores %s: expected a number from 1 to 64", optarg);
    case LEARN_CHECK: q->check = optarg; return 0;
    case LEARN_LINES:
        return strobe_parse_count(optarg, 40, 1000000, &q->options.lines)
                   ? 0
                   : strobe_complain("learn: --lines %s: expected a number from 40 to 1000000", optarg);
    case LEARN_REPLAYS:
        return strobe_parse_count(optarg, 0, 100, &q->options.replays)
                   ? 0
                   : strobe_complain("learn: --replays %s: expected a number from 0 to 100", optarg);
    default: return STROBE_EXIT_BAD;
    }
}

/* Makes a word of the language from the output's file name. */
static void name_of_file(const char *path, char *out, size_t bytes)
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    size_t n = 0;
    for (; *from && n + 1 < bytes && strcmp(from, ".scn") != 0; from++) {
        bool letter = (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z');
        bool other = (*from >= '0' && *from <= '9') || *from == '-' || *from == '.';
        out[n] = letter || (other && n) ? *from : '_';
        n++;
    }
    out[n] = 0;
    if (!n)
        memcpy(out, "learnt", sizeof "learnt");
}

static bool is_scenario_name(const char *name)
{
    char word[256];
    name_of_file(name, word, sizeof word);
    return name[0] && !strcmp(word, name);
}

static void learn_print_text(void *text, FILE *out)
{
    fputs(text, out);
}

static int learn_write(const struct learn_request *q, const struct sim_learnt *learnt)
{
    int bad = q->check ? 0 : strobe_write_file(q->output, q->replace, learn_print_text, learnt->text);
    if (bad)
        return bad;
    if (!q->check)
        printf("%s\n", q->output);
    sim_learnt_print(learnt, stdout);
    return 0;
}

static int learn_from(const struct learn_request *q, char **paths, uint32_t count)
{
    struct sim_tracks captures[LEARN_CAPTURES_MAX];
    struct strobe_error error = {""};
    struct sim_scenario *checked = NULL;
    struct sim_learnt learnt = {0};
    enum strobe_status status = STROBE_OK;
    uint32_t read = 0;
    while (read < count && status == STROBE_OK) {
        status = sim_learn_read(paths[read], &captures[read], &error);
        read += status == STROBE_OK;
    }
    if (status == STROBE_OK && q->check)
        status = sim_scenario_read(q->check, &checked, &error);
    if (status == STROBE_OK && q->check)
        status = sim_learn_check(captures, count, checked, q->options.replays, &learnt, &error);
    else if (status == STROBE_OK)
        status = sim_learn(captures, count, &q->options, &learnt, &error);
    int bad = status == STROBE_OK ? learn_write(q, &learnt)
                                  : strobe_complain("%s", error.text[0] ? error.text : strobe_status_text(status));
    sim_scenario_free(checked);
    sim_learnt_free(&learnt);
    for (uint32_t i = 0; i < read; i++)
        sim_tracks_close(&captures[i]);
    return strobe_output_end(bad);
}

int strobe_cmd_learn(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"force", no_argument, NULL, 'f'},
                                            {"name", required_argument, NULL, LEARN_NAME},
                                            {"cores", required_argument, NULL, LEARN_CORES},
                                            {"replays", required_argument, NULL, LEARN_REPLAYS},
                                            {"lines", required_argument, NULL, LEARN_LINES},
                                            {"check", required_argument, NULL, LEARN_CHECK},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct learn_request q = {.options = {.replays = LEARN_REPLAYS_DEFAULT}};
    char name[128];
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        if (c == 'h')
            return strobe_print_usage(strobe_usage_learn);
        if (learn_take_option(&q, c))
            return STROBE_EXIT_BAD;
    }
    int count = argc - optind;
    if (count < 1)
        return strobe_complain("learn: expected a capture: a session or a Perfetto trace");
    if (count > LEARN_CAPTURES_MAX)
        return strobe_complain("learn: expected at most %d captures, found %d", LEARN_CAPTURES_MAX, count);
    if (q.check && q.output)
        return strobe_complain("learn: --check writes no scenario, so it takes no -o");
    if (q.check && !q.options.replays)
        return strobe_complain("learn: --check expects --replays of at least 1");
    if (!q.output && !q.check)
        return strobe_complain("learn: expected -o FILE, the scenario to write");
    if (q.options.name && !is_scenario_name(q.options.name))
        return strobe_complain("learn: --name %s: expected letters, digits, _ . and -, a letter or _ first",
                               q.options.name);
    name_of_file(q.output ? q.output : "", name, sizeof name);
    if (!q.options.name)
        q.options.name = name;
    strobe_output_begin();
    return learn_from(&q, argv + optind, (uint32_t)count);
}
