#include "engine/backend/common/embed/capture_api.h"

#include "engine/base/error.h"
#include "engine/capture/annotate.h"
#include "engine/capture/engine.h"
#include "engine/control/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- start ---- */

enum { PATH_BYTES = 1024, PIN_STEP_NS = 200 * 1000, PORT_MOST = 65535 };
enum { INTERVAL_NS_LEAST = 50000, FLIGHT_INTERVAL_NS = 10000000, RECORDS_LEAST = 1024, RECORDS_MOST = 1 << 28 };

static enum strobe_status refuse_option(struct strobe_error *error, const char *reason)
{
    strobe_error_join(error, "", reason);
    return STROBE_BAD_INPUT;
}

enum strobe_status strobe_capture_config(const struct strobe_capture_options *o, struct strobe_config *config,
                                         struct strobe_error *error)
{
    if (!o)
        return refuse_option(error, "options: expected a path of a session");
    if (o->session_path ? !o->session_path[0] : !o->flight)
        return refuse_option(error, "session_path: expected the path of a file");
    if (o->interval_ns && o->interval_ns < INTERVAL_NS_LEAST)
        return refuse_option(error, "interval_ns: expected 0, or at least 50000");
    if (o->records_max && (o->records_max < RECORDS_LEAST || o->records_max > RECORDS_MOST))
        return refuse_option(error, "records_max: expected 0, or a number from 1024 to 268435456");
    if (o->control && (!o->control[0] || strlen(o->control) >= STROBE_CONTROL_NAME_BYTES))
        return refuse_option(error, "control: expected a name of 1 to 99 bytes");
    if (o->control_port < -1 || o->control_port > PORT_MOST || (o->control && o->control_port))
        return refuse_option(error, "control_port: expected -1 or a port, and no other server");
    if (o->control_port && !o->session_path)
        return refuse_option(error, "control_port: expected a session_path, beside which the token is stored");
    if (o->flight && o->keep_oldest)
        return refuse_option(error, "flight: expected no keep_oldest");
    strobe_config_default(config);
    config->ring_mode = o->keep_oldest ? STROBE_KEEP_OLDEST : STROBE_KEEP_NEWEST;
    uint64_t interval_ns = o->interval_ns || !o->flight ? o->interval_ns : FLIGHT_INTERVAL_NS;
    if (interval_ns)
        config->interval_main_ns = config->interval_other_ns = config->async_interval_ns = interval_ns;
    if (o->records_max)
        config->ring_slots = o->records_max;
    return STROBE_OK;
}

static const char *describe_failure(enum strobe_status status, int error)
{
    if (status != STROBE_IO)
        return strobe_status_text(status);
    switch (error) {
    case EACCES: return "permission denied";
    case ENOENT: return "there is no such folder";
    case ENOSPC: return "no space left on the device";
    case ENOTDIR: return "a part of the path is no folder";
    case EROFS: return "the file system is read-only";
    default: return strobe_status_text(status);
    }
}

/* Sets "cannot make a session of N MiB there: WHY". Without stdio, which the library for Mach does not use. */
static void describe_size(struct strobe_error *out, uint64_t bytes, const char *why)
{
    static const char head[] = "cannot make a session of ";
    char text[sizeof head + 20 + sizeof " MiB there"];
    char *at = text + sizeof text - sizeof " MiB there";
    memcpy(at, " MiB there", sizeof " MiB there");
    for (uint64_t mib = bytes >> 20, first = 1; mib || first; mib /= 10, first = 0)
        *--at = (char)('0' + mib % 10);
    at -= sizeof head - 1;
    memcpy(at, head, sizeof head - 1);
    strobe_error_join(out, at, why);
}

/* Makes the session in memory of the process. Only pages that are used are touched. */
static enum strobe_status create_in_memory(const struct strobe_config *config, const char *command,
                                           struct strobe_session *out, struct strobe_error *error)
{
    uint64_t bytes = strobe_session_file_bytes(config);
    void *memory =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    enum strobe_status status =
        memory == MAP_FAILED ? STROBE_NO_MEMORY : strobe_session_create_at(memory, config, command, out);
    if (status == STROBE_OK)
        return strobe_session_begin(out, (uint32_t)getpid());
    if (memory != MAP_FAILED)
        munmap(memory, (size_t)bytes);
    *out = (struct strobe_session){.fd = -1};
    strobe_error_join(error, "the session in memory", strobe_status_text(status));
    return status;
}

enum strobe_status strobe_capture_create(const struct strobe_capture_options *o, const struct strobe_config *config,
                                         const char *command, struct strobe_session *in_memory,
                                         struct strobe_error *error)
{
    struct strobe_session made;
    struct strobe_error why;
    *in_memory = (struct strobe_session){.fd = -1};
    if (!o->session_path)
        return create_in_memory(config, command, in_memory, error);
    enum strobe_status status = strobe_session_create(o->session_path, config, command, o->replace, &made);
    if (status == STROBE_OK) {
        strobe_session_unmap(&made);
    } else if (status == STROBE_EXISTS) {
        strobe_error_join(error, o->session_path, "exists already");
    } else {
        describe_size(&why, strobe_session_file_bytes(config), describe_failure(status, errno));
        strobe_error_join(error, o->session_path, why.text);
    }
    return status;
}

void strobe_capture_discard(const struct strobe_capture_options *o)
{
    if (o->session_path)
        unlink(o->session_path);
}

/* ---- pause and resume ---- */

static enum strobe_status change_switch(uint32_t from, uint32_t to)
{
    uint32_t before = from;
    if (strobe_cas_acq_rel(strobe_switch, &before, to) || before == to)
        return STROBE_OK;
    return STROBE_NO_ENTRY;
}

enum strobe_status strobe_pause(void)
{
    return change_switch(STROBE_ON, STROBE_PAUSED);
}

enum strobe_status strobe_resume(void)
{
    return change_switch(STROBE_PAUSED, STROBE_ON);
}

/* ---- status ---- */

static struct strobe_session views[2];
static char view_paths[2][PATH_BYTES];
static strobe_a32 view_number; /* 0: no session is published; else view_number % 2 is its view */
static strobe_a32 pinned;      /* number of readers */

void strobe_capture_publish(const struct strobe_session *session, const char *path)
{
    static uint32_t published;
    if (session) {
        published = published == UINT32_MAX ? 1 : published + 1;
        views[published % 2] = *session;
        size_t n = strnlen(path, PATH_BYTES - 1);
        memcpy(view_paths[published % 2], path, n);
        view_paths[published % 2][n] = '\0';
    }
    strobe_store_seq_cst(&view_number, session ? published : 0);
    strobe_fence_seq_cst();
}

bool strobe_capture_pin(struct strobe_capture_view *out)
{
    strobe_add_acq_rel(&pinned, 1);
    strobe_fence_seq_cst();
    uint32_t number = strobe_load_seq_cst(&view_number);
    *out = (struct strobe_capture_view){&views[number % 2], view_paths[number % 2], number};
    return number != 0;
}

void strobe_capture_unpin(void)
{
    strobe_add_acq_rel(&pinned, UINT32_MAX);
}

void strobe_capture_await_unpinned(void)
{
    struct timespec pause = {0, PIN_STEP_NS};
    while (strobe_load_seq_cst(&pinned))
        nanosleep(&pause, NULL);
}

static enum strobe_capture_state read_capture_state(bool published)
{
    if (!published)
        return STROBE_CAPTURE_IDLE;
    switch (strobe_switched()) {
    case STROBE_ON: return STROBE_CAPTURE_RUNNING;
    case STROBE_PAUSED: return STROBE_CAPTURE_PAUSED;
    default: return STROBE_CAPTURE_STOPPED;
    }
}

static void add_thread_counts(const struct strobe_thread_entry *t, struct strobe_capture_status *out)
{
    for (unsigned kind = STROBE_KIND_NONE + 1; kind < STROBE_KIND_COUNT; kind++) {
        if (!strobe_kind_is_sample(kind))
            continue;
        out->samples += strobe_load_relaxed(&t->account[kind].sampled);
        out->lost += strobe_load_relaxed(&t->account[kind].dropped);
    }
    out->annotations += strobe_load_relaxed(&t->account[STROBE_KIND_ANNOTATION].sampled);
    out->lost += strobe_load_relaxed(&t->overwrote_samples);
}

void strobe_get_status(struct strobe_capture_status *out)
{
    uint32_t number = strobe_load_acquire(&view_number);
    const struct strobe_session *s = &views[number % 2];
    *out = (struct strobe_capture_status){.state = read_capture_state(number)};
    if (!number)
        return;
    out->threads = strobe_session_thread_count(s);
    out->session_bytes = s->header->file_bytes;
    out->lost = strobe_load_relaxed(&s->header->async_overwrote_samples);
    for (uint32_t i = 0; i < out->threads; i++)
        add_thread_counts(&s->threads[i], out);
}

/* ---- annotations ---- */

void strobe_begin(const char *name)
{
    int saved = errno;
    struct strobe_thread *t = strobe_capture_thread(strobe_switched());
    if (t)
        strobe_section_begin(t, name);
    errno = saved;
}

void strobe_end(void)
{
    int saved = errno;
    struct strobe_thread *t = strobe_capture_thread(strobe_switched());
    if (t)
        strobe_section_end(t);
    errno = saved;
}

void strobe_counter(const char *name, int64_t value)
{
    int saved = errno;
    struct strobe_thread *t = strobe_capture_thread(strobe_switched());
    if (t)
        strobe_counter_report(t, name, value);
    errno = saved;
}

void strobe_thread_counter(const char *name, int64_t value)
{
    int saved = errno;
    struct strobe_thread *t = strobe_capture_thread(strobe_switched());
    if (t)
        strobe_thread_counter_report(t, name, value);
    errno = saved;
}
