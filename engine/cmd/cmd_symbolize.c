#include "engine/base/error.h"
#include "engine/cmd/cmd.h"

#include "engine/trace/session/reader.h"
#include "engine/trace/symbols/dsym.h"
#include "engine/trace/symbols/jit_names.h"
#include "engine/trace/symbols/symbolize.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char strobe_usage_symbolize[] =
    "usage: strobe symbolize --mapping FILE SESSION -o OUT\n"
    "       strobe symbolize --dsym PATH ... SESSION -o OUT\n"
    "       strobe symbolize --symbols PATH ... SESSION -o OUT\n"
    "       strobe symbolize --jit FILE ... SESSION -o OUT\n"
    "\n"
    "Adds names to a session and writes a new session. Nothing else in it changes.\n"
    "With --mapping, managed methods get the names that they had before a shrinker renamed\n"
    "them. With --dsym, Mach-O images are found on this machine by their UUIDs, and with\n"
    "--symbols, libraries of Android by their build ids; convert and report then show their\n"
    "functions, inlined functions and lines. With --jit, code that the program generated gets\n"
    "the names in these files, as if `strobe record` had found them.\n"
    "\n"
    "  --mapping FILE     mapping.txt of ProGuard or R8, from the build that was captured\n"
    "  --dsym PATH        a .dSYM bundle, the DWARF file in it, a program or library, or a\n"
    "                     folder that is searched for them; can be given again\n"
    "  --symbols PATH     an unstripped library or program, or a folder that is searched for\n"
    "                     them; can be given again\n"
    "  --jit FILE         a perf map (perf-PID.map) or jitdump file (jit-PID.dump) of the\n"
    "                     recorded process; can be given again\n"
    "  -o, --output OUT   the session to make\n"
    "  -f, --force        overwrite OUT, also when it is SESSION\n"
    "  -q, --quiet        print errors only\n"
    "\n"
    "Exit status: 0 fine, 2 bad use or bad input.\n";

enum { MAPPING = 256, DSYM, SYMBOLS, JIT, DSYMS_MAX = 256, JITS_MAX = 16 };

struct request {
    const char *mapping, *session, *output;
    const char *dsyms[DSYMS_MAX];
    size_t dsym_count;
    const char *jits[JITS_MAX];
    size_t jit_count;
    int replace, quiet;
};

static int find_images(const struct request *q)
{
    struct strobe_error error = {""};
    struct strobe_dsym_found found;
    strobe_output_begin();
    enum strobe_status status = strobe_dsym(q->session, q->output, q->dsyms, q->dsym_count, q->replace, &found, &error);
    if (status != STROBE_OK)
        return strobe_complain("%s", error.text);
    if (!q->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: %u of %u images found, %u with debug information\n", q->output, found.found, found.images,
                found.with_dwarf);
    if (!q->quiet && found.damaged)
        fprintf(stderr, "%u damaged files were skipped\n", found.damaged);
    return STROBE_EXIT_OK;
}

static int symbolize_by_mapping(const struct request *q)
{
    struct strobe_error error = {""};
    struct strobe_mapping *mapping;
    struct strobe_symbolized made;
    strobe_output_begin();
    if (strobe_mapping_read(q->mapping, &mapping, &error) != STROBE_OK)
        return strobe_complain("%s", error.text);
    enum strobe_status status = strobe_symbolize(q->session, q->output, mapping, q->replace, &made, &error);
    strobe_mapping_free(mapping);
    if (status != STROBE_OK)
        return strobe_complain("%s", error.text[0] ? error.text : strobe_status_text(status));
    if (!q->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: %llu of %llu methods renamed\n", q->output, (unsigned long long)made.changed,
                (unsigned long long)made.names);
    return STROBE_EXIT_OK;
}

static int symbolize_code(const struct request *q)
{
    struct strobe_jit_names added;
    strobe_output_begin();
    enum strobe_status status = strobe_jit_names_add(q->session, q->output, q->replace, q->jits, q->jit_count, &added);
    if (status == STROBE_NO_ENTRY)
        return strobe_complain("%s: none of its %llu addresses of generated code has a name in these files", q->session,
                               (unsigned long long)added.addresses);
    if (status == STROBE_EXISTS)
        return strobe_complain("%s: exists already; --force overwrites it", q->output);
    if (status != STROBE_OK && added.unused[0])
        return strobe_complain("%s", added.unused);
    if (status != STROBE_OK) {
        struct strobe_error error;
        strobe_reader_say_status(q->session, status, &error);
        return strobe_complain("%s: %s", q->session, error.text);
    }
    if (!q->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: %llu of %llu addresses of generated code named\n", q->output,
                (unsigned long long)added.named, (unsigned long long)added.addresses);
    if (!q->quiet && added.bad)
        strobe_complain("%s: expected a name of generated code (%llu such places were left out)", added.first_bad,
                        (unsigned long long)added.bad);
    return STROBE_EXIT_OK;
}

/* Runs the kind of symbolization that the options select. */
static int run_symbolizer(const struct request *q)
{
    if ((q->mapping != NULL) + (q->dsym_count > 0) + (q->jit_count > 0) > 1)
        return strobe_complain("symbolize: --mapping is for Android's methods, --dsym and --symbols for images and "
                               "--jit for generated code: one of them");
    return q->jit_count ? symbolize_code(q) : q->dsym_count ? find_images(q) : symbolize_by_mapping(q);
}

int strobe_cmd_symbolize(int argc, char **argv)
{
    static const struct option options[] = {
        {"mapping", required_argument, NULL, MAPPING},
        {"output", required_argument, NULL, 'o'},
        {"force", no_argument, NULL, 'f'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {"dsym", required_argument, NULL, DSYM},
        {"symbols", required_argument, NULL, SYMBOLS},
        {"jit", required_argument, NULL, JIT},
        {NULL, 0, NULL, 0},
    };
    struct request q = {0};
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 'h': return strobe_print_usage(strobe_usage_symbolize);
        case MAPPING: q.mapping = optarg; break;
        case DSYM:
        case SYMBOLS:
            if (q.dsym_count == DSYMS_MAX)
                return strobe_complain("symbolize: at most %d times --dsym and --symbols; they take folders, too",
                                       DSYMS_MAX);
            q.dsyms[q.dsym_count++] = optarg;
            break;
        case JIT:
            if (q.jit_count == JITS_MAX)
                return strobe_complain("symbolize: at most %d times --jit", JITS_MAX);
            q.jits[q.jit_count++] = optarg;
            break;
        case 'o': q.output = optarg; break;
        case 'f': q.replace = 1; break;
        case 'q': q.quiet = 1; break;
        default: return STROBE_EXIT_BAD;
        }
    }
    if (optind == argc || !q.output || (!q.mapping && !q.dsym_count && !q.jit_count))
        return strobe_complain(
            "symbolize: %s strobe symbolize --mapping FILE|--dsym PATH|--symbols PATH|--jit FILE SESSION -o OUT",
            optind == argc ? "which session?"
            : q.output     ? "which mapping, dSYM or list of code?"
                           : "where to?");
    if (argc - optind > 1)
        return strobe_complain("symbolize: one session at a time, not %s too", argv[optind + 1]);
    q.session = argv[optind];
    return run_symbolizer(&q);
}
