#include "sim/cmd/cmd.h"

#include "engine/trace/dsym.h"
#include "engine/trace/symbolize.h"

#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

const char strobe_usage_symbolize[] =
    "usage: strobe symbolize --mapping FILE SESSION -o OUT\n"
    "       strobe symbolize --dsym PATH ... SESSION -o OUT\n"
    "\n"
    "Makes a session whose managed methods have the names that they had before a shrinker\n"
    "renamed them, or whose Mach-O images are found on this machine, by their UUIDs: then\n"
    "convert and report have functions, inlined ones and lines from there. All else is as\n"
    "it was in SESSION.\n"
    "\n"
    "  --mapping FILE     mapping.txt of ProGuard or R8, of the very build that was captured\n"
    "  --dsym PATH        a .dSYM bundle, the DWARF file in it, a program or library, or a\n"
    "                     folder that is searched for them; can be given again\n"
    "  -o, --output OUT   the session to make\n"
    "  -f, --force        overwrite OUT, also when that is SESSION\n"
    "  -q, --quiet        do not say what was renamed or found\n"
    "\n"
    "Exit status: 0 fine, 2 bad use or bad input.\n";

enum { MAPPING = 256, DSYM, DSYMS_MAX = 256 };

struct request {
    const char *mapping, *session, *output;
    const char *dsyms[DSYMS_MAX];
    size_t dsym_count;
    int replace, quiet;
};

static int find_images(const struct request *q)
{
    char why[1024] = "";
    struct strobe_dsym_found found;
    strobe_output_begin();
    enum strobe_status status = strobe_dsym(q->session, q->output, q->dsyms, q->dsym_count, q->replace, &found, why,
                                            sizeof why);
    if (status != STROBE_OK)
        return strobe_complain("%s", why);
    if (!q->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: %u of %u images found, %u with debug information\n", q->output, found.found, found.images,
                found.with_dwarf);
    if (!q->quiet && found.damaged)
        fprintf(stderr, "%u damaged Mach-O files were passed over\n", found.damaged);
    return STROBE_EXIT_OK;
}

static int symbolize(const struct request *q)
{
    char why[1024] = "";
    struct strobe_mapping *mapping;
    struct strobe_symbolized made;
    strobe_output_begin();
    if (strobe_mapping_read(q->mapping, &mapping, why, sizeof why) != STROBE_OK)
        return strobe_complain("%s", why);
    enum strobe_status status = strobe_symbolize(q->session, q->output, mapping, q->replace, &made, why, sizeof why);
    strobe_mapping_free(mapping);
    if (status != STROBE_OK)
        return strobe_complain("%s", why[0] ? why : strobe_status_text(status));
    if (!q->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: %llu of %llu methods renamed\n", q->output, (unsigned long long)made.changed,
                (unsigned long long)made.names);
    return STROBE_EXIT_OK;
}

int strobe_cmd_symbolize(int argc, char **argv)
{
    static const struct option options[] = {
        {"mapping", required_argument, NULL, MAPPING}, {"output", required_argument, NULL, 'o'},
        {"force", no_argument, NULL, 'f'},             {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},              {"dsym", required_argument, NULL, DSYM},
        {NULL, 0, NULL, 0},
    };
    struct request q = {0};
    for (int c; (c = strobe_any_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 'h': return strobe_print_usage(strobe_usage_symbolize);
        case MAPPING: q.mapping = optarg; break;
        case DSYM:
            if (q.dsym_count == DSYMS_MAX)
                return strobe_complain("symbolize: at most %d times --dsym; it takes folders, too", DSYMS_MAX);
            q.dsyms[q.dsym_count++] = optarg;
            break;
        case 'o': q.output = optarg; break;
        case 'f': q.replace = 1; break;
        case 'q': q.quiet = 1; break;
        default: return STROBE_EXIT_BAD;
        }
    }
    if (optind == argc || !q.output || (!q.mapping && !q.dsym_count))
        return strobe_complain("symbolize: %s strobe symbolize --mapping FILE|--dsym PATH SESSION -o OUT",
                               optind == argc ? "which session?" : q.output ? "which mapping or dSYM?" : "where to?");
    if (q.mapping && q.dsym_count)
        return strobe_complain("symbolize: --mapping is for Android's sessions and --dsym for Apple's: one of them");
    if (argc - optind > 1)
        return strobe_complain("symbolize: one session at a time, not %s too", argv[optind + 1]);
    q.session = argv[optind];
    return q.dsym_count ? find_images(&q) : symbolize(&q);
}
