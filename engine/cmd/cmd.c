#include "engine/cmd/cmd.h"

#include "engine/cmd/guess.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct strobe_cmd *strobe_cmd_find(const char *name)
{
    for (const struct strobe_cmd *c = strobe_cmds; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

/* When a standard stream is closed, the next file that is opened would get its number, and output would go into that
 * file. The replacement fails on use, like a closed stream. A program that is executed finds the stream closed. */
static void hold_closed_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

bool strobe_lists_words(void)
{
    return getenv("STROBE_COMPLETE") != NULL;
}

void strobe_list_word(const char *word, const char *meaning)
{
    printf("%s\t%s\n", word, meaning);
}

static int list_command_words(void)
{
    strobe_output_begin();
    for (const struct strobe_cmd *c = strobe_cmds; c->name; c++)
        strobe_list_word(c->name, c->summary);
    return strobe_output_end(STROBE_EXIT_OK);
}

int strobe_main(int argc, char **argv)
{
    hold_closed_streams();
    if (argc < 2 && strobe_lists_words())
        return list_command_words();
    if (argc < 2)
        return strobe_complain("which command? `%s help` lists them", strobe_program);
    const char *name = argv[1];
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        strobe_output_begin();
        printf("%s %s\n", strobe_program, STROBE_VERSION);
        return strobe_output_end(STROBE_EXIT_OK);
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        name = "help";
    const struct strobe_cmd *c = strobe_cmd_find(name);
    if (!c)
        return strobe_no_such_command(name);
    return c->run(argc - 1, argv + 1);
}

int strobe_complain(const char *format, ...)
{
    char line[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    /* A path may contain a newline or control characters for a terminal. The complaint stays one plain line. */
    for (unsigned char *p = (unsigned char *)line; *p; p++)
        if (*p < ' ' || *p == 0x7f)
            *p = '?';
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", strobe_program, line);
    return STROBE_EXIT_BAD;
}

void strobe_output_begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

/* Returns true when the descriptor is a pipe whose reader has ended. */
static bool reader_has_ended(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

int strobe_end_of_pipe(void)
{
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    return 128 + SIGPIPE;
}

/* Returns why standard output cannot be written. The reason of a write that failed earlier is lost, so one more byte is
 * written after the output, which is incomplete in any case. */
static const char *why_output_fails(int at_the_end)
{
    errno = at_the_end;
    if (!errno) {
        clearerr(stdout);
        if (putchar('\n') != EOF && !fflush(stdout))
            return "an earlier write failed";
    }
    return strerror(errno);
}

int strobe_output_end(int status)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    int at_the_end = errno;
    if (at_the_end == EPIPE || (!at_the_end && reader_has_ended(STDOUT_FILENO)))
        return strobe_end_of_pipe();
    return strobe_complain("standard output: cannot write: %s", why_output_fails(at_the_end));
}

int strobe_no_such_command(const char *name)
{
    struct strobe_guess guess = strobe_guess_begin(name);
    for (const struct strobe_cmd *c = strobe_cmds; c->name; c++)
        strobe_guess_consider(&guess, c->name);
    if (guess.best)
        return strobe_complain("no such command: %s; did you mean %s? `%s help` lists them", name, guess.best,
                               strobe_program);
    return strobe_complain("no such command: %s; `%s help` lists them", name, strobe_program);
}

static void complain_of_option(const char *command, const char *word, const struct option *options)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    struct strobe_guess guess = strobe_guess_begin(name);
    for (const struct option *o = options; o->name; o++)
        strobe_guess_consider(&guess, o->name);
    if (guess.best)
        strobe_complain("%s: no such option: %s; did you mean --%s? `%s help %s` lists them", command, word, guess.best,
                        strobe_program, command);
    else
        strobe_complain("%s: no such option: %s; `%s help %s` lists them", command, word, strobe_program, command);
}

_Noreturn static void list_option_words(const struct option *options)
{
    char word[64];
    strobe_output_begin();
    for (const struct option *o = options; o->name; o++) {
        snprintf(word, sizeof word, "--%s%s", o->name, o->has_arg == required_argument ? "=" : "");
        strobe_list_word(word, "");
        if (o->val > ' ' && o->val <= '~') {
            snprintf(word, sizeof word, "-%c%s", o->val, o->has_arg == required_argument ? "=" : "");
            strobe_list_word(word, "");
        }
    }
    exit(strobe_output_end(STROBE_EXIT_OK));
}

/* `order`: how getopt handles arguments between options; see getopt(3). */
static int next_option(int argc, char **argv, const struct option *options, const char *order)
{
    char letters[128];
    if (strobe_lists_words())
        list_option_words(options);
    size_t n = (size_t)snprintf(letters, sizeof letters, "%s:", order); /* ':': this function complains, not getopt */
    for (const struct option *o = options; o->name; o++) {
        if (o->val <= ' ' || o->val > '~' || n + 2 >= sizeof letters)
            continue;
        letters[n++] = (char)o->val;
        if (o->has_arg == required_argument)
            letters[n++] = ':';
    }
    letters[n] = 0;
    opterr = 0;
    int c = getopt_long(argc, argv, letters, options, NULL);
    if (c != '?' && c != ':')
        return c;
    const char *word = argv[optind - 1]; /* getopt has advanced past a long option that it refuses */
    int is_long = !strncmp(word, "--", 2);
    if (c == ':')
        strobe_complain("%s: option %s needs a value", argv[0], word);
    else if (is_long && optopt)
        strobe_complain("%s: option %.*s takes no value", argv[0], (int)strcspn(word, "="), word);
    else if (!is_long || optopt)
        strobe_complain("%s: no such option: -%c; `%s help %s` lists them", argv[0], optopt, strobe_program, argv[0]);
    else
        complain_of_option(argv[0], word, options);
    return '?';
}

int strobe_next_option(int argc, char **argv, const struct option *options)
{
    return next_option(argc, argv, options, "+");
}

int strobe_any_option(int argc, char **argv, const struct option *options)
{
    return next_option(argc, argv, options, "");
}

int strobe_print_usage(const char *usage)
{
    strobe_output_begin();
    fputs(usage, stdout);
    return strobe_output_end(STROBE_EXIT_OK);
}
