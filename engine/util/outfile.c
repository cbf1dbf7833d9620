#include "engine/util/outfile.h"

#include "engine/util/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16, UNFINISHED_MAX = 8 };

/* Temporary names of files under way, for strobe_outfile_abandon; those beyond are not in the list. */
static char *volatile unfinished_files[UNFINISHED_MAX];

static void outfile_replace_unfinished(char *from, char *to)
{
    for (unsigned i = 0; i < UNFINISHED_MAX; i++) {
        if (unfinished_files[i] == from) {
            unfinished_files[i] = to;
            return;
        }
    }
}

void strobe_outfile_abandon(void)
{
    for (unsigned i = 0; i < UNFINISHED_MAX; i++)
        if (unfinished_files[i])
            unlink(unfinished_files[i]);
}

static void outfile_set_error(struct strobe_outfile *out, int error)
{
    if (out->status == STROBE_OK) {
        out->status = STROBE_IO;
        out->error = error;
    }
}

static enum strobe_status outfile_release(struct strobe_outfile *out, enum strobe_status status, int error)
{
    if (out->temporary)
        outfile_replace_unfinished(out->temporary, NULL);
    free(out->target);
    free(out->temporary);
    free(out->buffer);
    memset(out, 0, sizeof *out);
    out->fd = -1;
    errno = error;
    return status;
}

/* Opens a file beside the target under a name that is not taken. */
static int outfile_open_temporary(struct strobe_outfile *out)
{
    size_t room = strlen(out->target) + 32;
    out->temporary = malloc(room);
    if (!out->temporary)
        return -1;
    /* Listed before the file is there: a signal may come as soon as it is. No other process has names with our id. */
    out->temporary[0] = '\0';
    outfile_replace_unfinished(NULL, out->temporary);
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        snprintf(out->temporary, room, "%s.part-%ld-%u", out->target, (long)getpid(), attempt);
        int fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

enum strobe_status strobe_outfile_open(struct strobe_outfile *out, const char *path, int replace)
{
    struct stat st;
    memset(out, 0, sizeof *out);
    out->fd = -1;
    int to_stdout = !strcmp(path, "-");
    int exists = !to_stdout && (stat(path, &st) == 0 || lstat(path, &st) == 0); /* a link to nowhere is there, too */
    int direct = to_stdout || (exists && !S_ISREG(st.st_mode));
    if (exists && !direct && !replace)
        return STROBE_EXISTS;
    out->target = exists && !direct ? realpath(path, NULL) : strdup(path);
    out->buffer = malloc(BUFFER_BYTES);
    if (!out->target || !out->buffer)
        return outfile_release(out, STROBE_IO, errno);
    out->fd = to_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
              : direct  ? open(path, O_WRONLY | O_CLOEXEC)
                        : outfile_open_temporary(out);
    if (out->fd < 0)
        return outfile_release(out, STROBE_IO, errno);
    return STROBE_OK;
}

static void outfile_write_through(struct strobe_outfile *out, const char *data, size_t bytes)
{
    while (bytes && out->status == STROBE_OK) {
        ssize_t done = write(out->fd, data, bytes);
        if (done < 0 && errno != EINTR)
            outfile_set_error(out, errno);
        if (done <= 0)
            continue;
        data += done;
        bytes -= (size_t)done;
        out->bytes += (uint64_t)done;
    }
}

enum strobe_status strobe_outfile_flush(struct strobe_outfile *out)
{
    outfile_write_through(out, out->buffer, out->used);
    out->used = 0;
    if (out->status != STROBE_OK)
        errno = out->error;
    return out->status;
}

void strobe_outfile_write(struct strobe_outfile *out, const void *data, size_t bytes)
{
    if (bytes > BUFFER_BYTES - out->used)
        strobe_outfile_flush(out);
    if (bytes > BUFFER_BYTES / 2) {
        strobe_outfile_flush(out);
        outfile_write_through(out, data, bytes);
        return;
    }
    memcpy(out->buffer + out->used, data, bytes);
    out->used += bytes;
}

void strobe_outfile_text(struct strobe_outfile *out, const char *text)
{
    strobe_outfile_write(out, text, strlen(text));
}

void strobe_outfile_number(struct strobe_outfile *out, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    strobe_outfile_write(out, digits + at, sizeof digits - at);
}

void strobe_outfile_us(struct strobe_outfile *out, uint64_t ns)
{
    unsigned rest = (unsigned)(ns % 1000);
    char decimals[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
    strobe_outfile_number(out, ns / 1000);
    strobe_outfile_write(out, decimals, sizeof decimals);
}

void strobe_outfile_json(struct strobe_outfile *out, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t bytes = strobe_utf8_bytes(s, 4);
        if (!bytes) {
            strobe_outfile_text(out, "\\ufffd");
            s++;
        } else if (*s < 0x20) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", *s++);
            strobe_outfile_text(out, escape);
        } else {
            if (*s == '"' || *s == '\\')
                strobe_outfile_text(out, "\\");
            strobe_outfile_write(out, s, bytes);
            s += bytes;
        }
    }
}

enum strobe_status strobe_outfile_finish(struct strobe_outfile *out, int give_up)
{
    if (out->fd < 0)
        return STROBE_OK;
    if (!give_up)
        strobe_outfile_flush(out);
    if (close(out->fd) != 0 && errno != EINTR)
        outfile_set_error(out, errno);
    int keep = out->status == STROBE_OK && !give_up;
    if (out->temporary && keep && rename(out->temporary, out->target) != 0) {
        outfile_set_error(out, errno);
        keep = 0;
    }
    if (out->temporary && !keep)
        unlink(out->temporary);
    return outfile_release(out, give_up ? STROBE_OK : out->status, out->error);
}
