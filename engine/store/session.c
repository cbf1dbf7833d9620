/* Session file: layout, creation, and the checks that a reader makes before it uses the file.
 *
 * The layout is a function of the config. A reader computes the layout again and compares it with the header, so a
 * header that passes the check never leads a view out of the file. The magic is stored last: a file whose creator died
 * before that is not a session.
 *
 * Thread and image entries are taken by an atomic counter each and are never given back. An entry belongs to the thread
 * that took it, which publishes it by a release store (state, published). The counter stops when its table, or the part
 * of the table whose blocks are reserved, is full. A thread that stops or dies after taking an entry leaves that entry
 * unpublished.
 */
#include "engine/store/session.h"
#include "engine/store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE_BYTES = 4096,
    THREADS_MAX = 1 << 20,
    IMAGES_MAX = 1 << 16,
    SKIP_MAX = 1 << 16,
    SIGNAL_MAX = 64,
    BLOCK_BYTES = 512, /* the unit of st_blocks */
};
#define TIME_MAX_NS ((uint64_t)1 << 60) /* adding such a time to any clock does not overflow */

struct layout {
    struct strobe_region region[STROBE_REGION_COUNT];
    uint64_t calls_offset, calls_bytes;
    uint64_t names_offset;
    uint64_t file_bytes;
};

static uint64_t session_whole_pages(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

static uint32_t call_blocks(const struct strobe_config *c)
{
    return (uint32_t)(c->call_units * (uint64_t)STROBE_CALL_UNIT_BYTES / sizeof(struct strobe_call_block));
}

static struct layout layout_of(const struct strobe_config *c)
{
    const uint64_t bytes[STROBE_REGION_COUNT] = {
        [STROBE_REGION_THREADS] = c->threads_max * (uint64_t)sizeof(struct strobe_thread_entry),
        [STROBE_REGION_IMAGES] = c->images_max * (uint64_t)sizeof(struct strobe_image_entry),
        [STROBE_REGION_STACKS] = strobe_stack_table_bytes(c->stack_nodes),
        [STROBE_REGION_RING] = strobe_ring_bytes(c->ring_slots, c->ring_subs),
    };
    struct layout l = {.file_bytes = PAGE_BYTES};
    for (int i = 0; i < STROBE_REGION_COUNT; i++) {
        l.region[i] = (struct strobe_region){l.file_bytes, bytes[i]};
        l.file_bytes += session_whole_pages(bytes[i]);
    }
    l.calls_offset = l.file_bytes;
    if (c->call_units)
        l.calls_bytes = strobe_call_log_bytes(call_blocks(c), c->threads_max);
    l.file_bytes += session_whole_pages(l.calls_bytes);
    l.names_offset = l.file_bytes;
    l.file_bytes += session_whole_pages(c->names_bytes);
    return l;
}

uint64_t strobe_session_file_bytes(const struct strobe_config *config)
{
    return layout_of(config).file_bytes;
}

void strobe_config_default(struct strobe_config *config)
{
    const uint64_t us = 1000, ms = 1000 * us;
    *config = (struct strobe_config){
        .interval_main_ns = 1 * ms,
        .interval_other_ns = 1 * ms,
        .scope_min_ns = 100 * us,
        .merge_gap_ns = 4 * ms,
        .metrics_interval_ns = 1 * ms,
        .async_interval_ns = 1 * ms,
        .refresh_main_ns = 30 * ms,
        .refresh_other_ns = 300 * ms,
        .active_cpu_ns = 10 * us,
        .suspend_timeout_ns = 4 * ms,
        .metrics = STROBE_METRIC_CPU | STROBE_METRIC_ALLOC,
        .unwind = STROBE_UNWIND_FP,
        .ring_slots = 1 << 18,
        .ring_subs = STROBE_RING_SUBS_DEFAULT,
        .ring_mode = STROBE_KEEP_NEWEST,
        .stack_nodes = 1 << 20,
        .threads_max = STROBE_THREADS_MAX_DEFAULT,
        .images_max = STROBE_IMAGES_MAX_DEFAULT,
        .depth_max = STROBE_STACK_DEPTH_MAX,
        .skip_max = 63,
    };
}

static bool is_between(uint64_t x, uint64_t low, uint64_t high)
{
    return low <= x && x <= high;
}

static bool config_is_valid(const struct strobe_config *c)
{
    const uint64_t times[] = {
        c->interval_main_ns,    c->interval_other_ns,  c->scope_min_ns,    c->merge_gap_ns,
        c->metrics_interval_ns, c->async_interval_ns,  c->refresh_main_ns, c->refresh_other_ns,
        c->active_cpu_ns,       c->suspend_timeout_ns, c->delay_ns,
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i] > TIME_MAX_NS)
            return false;
    return c->metrics < 2 * STROBE_METRIC_SWITCHES && c->unwind <= STROBE_UNWIND_DWARF &&
           is_between(c->ring_slots, 1, STROBE_RING_SLOTS_MAX) && is_between(c->ring_subs, 1, STROBE_RING_SUBS_MAX) &&
           (c->ring_subs & (c->ring_subs - 1)) == 0 && c->ring_mode <= STROBE_KEEP_OLDEST &&
           is_between(c->stack_nodes, 1, STROBE_STACK_NODES_MAX) && is_between(c->threads_max, 1, THREADS_MAX) &&
           is_between(c->images_max, 1, IMAGES_MAX) && is_between(c->depth_max, 1, STROBE_STACK_DEPTH_MAX) &&
           c->follow <= 1 &&
           (!c->names_bytes || is_between(c->names_bytes, STROBE_NAMES_BYTES_MIN, STROBE_NAMES_BYTES_MAX)) &&
           c->skip_max <= SKIP_MAX && c->suspend_signal <= SIGNAL_MAX && c->message_per_poll <= 1 &&
           c->calls < 2 * STROBE_CALLS_ONLY && (c->call_units || !c->calls);
}

/* --- mapping --- */

static void *region_at(const struct strobe_session *s, enum strobe_region_id id)
{
    return (char *)s->header + s->header->region[id].offset;
}

/* Opens the views. The call log, the stack table and the ring check their own heads. */
static enum strobe_status open_views(struct strobe_session *s)
{
    const struct strobe_session_header *h = s->header;
    const struct strobe_config *c = &h->config;
    s->threads = region_at(s, STROBE_REGION_THREADS);
    s->images = region_at(s, STROBE_REGION_IMAGES);
    struct layout l = layout_of(c);
    if (c->names_bytes)
        s->names = (struct strobe_names){(void *)((char *)s->header + l.names_offset), c->names_bytes};
    if (l.calls_bytes &&
        (strobe_call_log_open((char *)s->header + l.calls_offset, l.calls_bytes, &s->calls) ||
         s->calls.head->block_count != call_blocks(c) || s->calls.head->account_count != c->threads_max ||
         s->calls.head->keep_oldest != (c->calls & STROBE_CALLS_KEEP_OLDEST)))
        return STROBE_BAD_INPUT;
    if (strobe_stack_table_open(region_at(s, STROBE_REGION_STACKS), h->region[STROBE_REGION_STACKS].bytes, &s->stacks))
        return STROBE_BAD_INPUT;
    if (strobe_ring_open(region_at(s, STROBE_REGION_RING), h->region[STROBE_REGION_RING].bytes, &s->ring))
        return STROBE_BAD_INPUT;
    if (s->stacks.head->node_capacity != c->stack_nodes || s->ring.head->sub_count != c->ring_subs ||
        s->ring.head->mode != c->ring_mode || strobe_ring_slot_count(&s->ring) < c->ring_slots)
        return STROBE_BAD_INPUT;
    return STROBE_OK;
}

/* `sparse`: turns readahead off. Readahead would fill memory with zeros when the file is mostly holes, or when writers
 * touch blocks that hold nothing yet. */
static void *session_map(int fd, uint64_t bytes, int flags, bool sparse)
{
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (sparse)
        madvise(memory, (size_t)bytes, MADV_RANDOM);
    return memory;
}

void strobe_session_unmap(struct strobe_session *s)
{
    if (s->header)
        munmap(s->header, s->mapped_bytes);
    if (s->fd >= 0)
        close(s->fd);
    *s = (struct strobe_session){.fd = -1};
}

static int session_close_keeping_errno(int fd)
{
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* --- creating --- */

static int open_new(const char *path, int replace, enum strobe_status *status)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    int fd = open(path, flags, 0600);
    if (fd < 0 && errno == EEXIST && replace) {
        struct stat st;
        if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            /* Creates a new file instead of truncating the old one, because a process may still write to the old
             * one. */
            if (unlink(path) == 0)
                fd = open(path, flags, 0600);
        } else {
            errno = EEXIST;
        }
    }
    *status = fd >= 0 ? STROBE_OK : errno == EEXIST ? STROBE_EXISTS : STROBE_IO;
    return fd;
}

static void session_copy_text(char *out, size_t out_bytes, const char *text)
{
    size_t length = strnlen(text, out_bytes - 1);
    memcpy(out, text, length);
    out[length] = 0;
}

static uint64_t magic_word(void)
{
    uint64_t word;
    memcpy(&word, STROBE_SESSION_MAGIC, sizeof word);
    return word;
}

enum strobe_status strobe_session_create_at(void *memory, const struct strobe_config *config, const char *command,
                                            struct strobe_session *out)
{
    *out = (struct strobe_session){.fd = -1};
    if (!config_is_valid(config))
        return STROBE_BAD_INPUT;
    struct layout l = layout_of(config);
    struct strobe_session_header *h = memory;
    *out = (struct strobe_session){.header = h, .mapped_bytes = (size_t)l.file_bytes, .fd = -1};
    h->version = STROBE_SESSION_VERSION;
    h->header_bytes = sizeof *h;
    h->file_bytes = l.file_bytes;
    h->ticks_per_second = 1000000000;
    memcpy(h->region, l.region, sizeof h->region);
    h->config = *config;
    if (command)
        session_copy_text(h->command, sizeof h->command, command);
    if (l.calls_bytes)
        strobe_call_log_create((char *)memory + l.calls_offset, call_blocks(config), config->threads_max,
                               config->calls & STROBE_CALLS_KEEP_OLDEST);
    strobe_stack_table_create(region_at(out, STROBE_REGION_STACKS), config->stack_nodes);
    strobe_ring_create(region_at(out, STROBE_REGION_RING), config->ring_slots, config->ring_subs,
                       (enum strobe_ring_mode)config->ring_mode);
    strobe_store_release(&h->magic, magic_word());
    return open_views(out);
}

enum strobe_status strobe_session_create_in(int fd, const struct strobe_config *config, const char *command,
                                            struct strobe_session *out)
{
    *out = (struct strobe_session){.fd = -1};
    uint64_t bytes = config_is_valid(config) ? strobe_session_file_bytes(config) : 0;
    enum strobe_status status = bytes ? STROBE_OK : STROBE_BAD_INPUT;
    if (!status && ftruncate(fd, (off_t)bytes) != 0)
        status = STROBE_IO;
    void *memory = status ? NULL : session_map(fd, bytes, MAP_SHARED, true);
    if (!memory) {
        session_close_keeping_errno(fd);
        return status ? status : STROBE_IO;
    }
    status = strobe_session_create_at(memory, config, command, out);
    out->fd = fd;
    return status;
}

enum strobe_status strobe_session_create(const char *path, const struct strobe_config *config, const char *command,
                                         int replace, struct strobe_session *out)
{
    *out = (struct strobe_session){.fd = -1};
    if (!config_is_valid(config))
        return STROBE_BAD_INPUT;
    enum strobe_status status;
    int fd = open_new(path, replace, &status);
    if (fd < 0)
        return status;
    status = strobe_reserve(fd, strobe_session_file_bytes(config));
    if (status)
        session_close_keeping_errno(fd);
    else
        status = strobe_session_create_in(fd, config, command, out);
    if (status) {
        int error = errno;
        unlink(path);
        errno = error;
    }
    return status;
}

/* --- opening --- */

/* A header of an older version may end before `stops` or before `pid_namespace`. The bytes behind it in the page are
 * 0. */
static bool header_fits(const struct strobe_session_header *h)
{
    return h->header_bytes == sizeof *h || h->header_bytes == offsetof(struct strobe_session_header, stops) ||
           h->header_bytes == offsetof(struct strobe_session_header, pid_namespace) ||
           h->header_bytes == offsetof(struct strobe_session_header, native_gaps) ||
           h->header_bytes == offsetof(struct strobe_session_header, cause);
}

/* Checks the header against its own config. The callers compare file_bytes with the size of the file. */
static enum strobe_status check_header(const struct strobe_session_header *h)
{
    if (!header_fits(h) || !h->ticks_per_second || !config_is_valid(&h->config) ||
        strobe_load_relaxed(&h->state) > STROBE_SESSION_KILLED)
        return STROBE_BAD_INPUT;
    struct layout l = layout_of(&h->config);
    if (memcmp(l.region, h->region, sizeof l.region) != 0 || l.file_bytes != h->file_bytes)
        return STROBE_BAD_INPUT;
    return STROBE_OK;
}

enum strobe_status strobe_session_open_at(void *memory, size_t bytes, struct strobe_session *out)
{
    struct strobe_session_header *h = memory;
    *out = (struct strobe_session){.fd = -1};
    if (bytes < sizeof *h || strobe_load_acquire(&h->magic) != magic_word() || check_header(h) != STROBE_OK ||
        h->file_bytes > bytes)
        return STROBE_BAD_INPUT;
    struct strobe_session s = {.header = h, .mapped_bytes = bytes, .fd = -1};
    enum strobe_status status = open_views(&s);
    if (!status)
        *out = s;
    return status;
}

/* Maps a file that is at least as long as its header states. Maps nothing on failure. */
static enum strobe_status map_checked(int fd, int flags, struct strobe_session *out)
{
    struct strobe_session_header h;
    struct stat st;
    if (fstat(fd, &st) != 0)
        return STROBE_IO;
    if (!S_ISREG(st.st_mode))
        return STROBE_BAD_INPUT;
    ssize_t got = pread(fd, &h, sizeof h, 0);
    if (got < 0)
        return STROBE_IO;
    if ((size_t)got < sizeof h.magic || memcmp(&h, STROBE_SESSION_MAGIC, sizeof h.magic) != 0)
        return STROBE_BAD_INPUT;
    if ((size_t)got < offsetof(struct strobe_session_header, header_bytes))
        return STROBE_TRUNCATED;
    if (h.version != STROBE_SESSION_VERSION)
        return STROBE_BAD_VERSION;
    if ((size_t)got < sizeof h)
        return STROBE_TRUNCATED;
    enum strobe_status status = check_header(&h);
    if (status)
        return status;
    if ((uint64_t)st.st_size < h.file_bytes)
        return STROBE_TRUNCATED;

    /* strobe_session_open_at checks the header again: a file that changed between the two checks is rejected. */
    bool sparse = flags == MAP_SHARED || (uint64_t)st.st_blocks * BLOCK_BYTES < h.file_bytes / 2;
    void *memory = session_map(fd, h.file_bytes, flags, sparse);
    if (!memory)
        return STROBE_IO;
    status = strobe_session_open_at(memory, h.file_bytes, out);
    if (status)
        munmap(memory, h.file_bytes);
    return status;
}

static enum strobe_status session_open_file(const char *path, int open_flags, int map_flags, struct strobe_session *out)
{
    *out = (struct strobe_session){.fd = -1};
    int fd = open(path, open_flags | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return STROBE_IO;
    enum strobe_status status = map_checked(fd, map_flags, out);
    session_close_keeping_errno(fd);
    return status;
}

enum strobe_status strobe_session_begin(struct strobe_session *s, uint32_t pid)
{
    uint32_t state = STROBE_SESSION_CREATED;
    if (!strobe_cas_relaxed(&s->header->state, &state, STROBE_SESSION_RUNNING))
        return STROBE_EXISTS;
    s->header->pid = pid;
    return STROBE_OK;
}

#ifdef __GLIBC__
/* Parses the link /proc/self/ns/pid of the calling process, such as "pid:[4026531836]". Returns 0 without such a
 * link. */
uint64_t strobe_session_namespace(void)
{
    char text[64];
    ssize_t bytes = readlink("/proc/self/ns/pid", text, sizeof text);
    uint64_t inode = 0;
    for (ssize_t i = 0; i < bytes; i++)
        if (text[i] >= '0' && text[i] <= '9')
            inode = inode * 10 + (uint64_t)(text[i] - '0');
    return inode;
}
#else
/* An app sees only one PID namespace, or its system has none. */
uint64_t strobe_session_namespace(void)
{
    return 0;
}
#endif

enum strobe_status strobe_session_attach(const char *path, uint32_t pid, struct strobe_session *out)
{
    enum strobe_status status = session_open_file(path, O_RDWR, MAP_SHARED, out);
    if (!status && strobe_load_relaxed(&out->header->state) == STROBE_SESSION_CREATED)
        out->header->pid_namespace = strobe_session_namespace();
    if (!status)
        status = strobe_session_begin(out, pid);
    if (status == STROBE_EXISTS)
        strobe_session_unmap(out);
    return status;
}

static void session_end_text(char *text, size_t bytes)
{
    if (text[bytes - 1])
        text[bytes - 1] = 0;
}

/* Makes every text end within its array and every count fit its array, whatever the file holds. Zeroes header fields
 * that the version that wrote the file did not have. */
static void make_safe(struct strobe_session *s)
{
    uint32_t known = s->header->header_bytes;
    if (known <= offsetof(struct strobe_session_header, stops))
        s->header->stops = (struct strobe_stops){0};
    if (known <= offsetof(struct strobe_session_header, pid_namespace))
        s->header->pid_namespace = 0;
    if (known <= offsetof(struct strobe_session_header, children_left))
        strobe_store_relaxed(&s->header->children_left, 0);
    if (known <= offsetof(struct strobe_session_header, native_gaps))
        strobe_store_relaxed(&s->header->native_gaps, 0);
    if (known <= offsetof(struct strobe_session_header, cause))
        s->header->cause = (struct strobe_dump_cause){0};
    session_end_text(s->header->command, sizeof s->header->command);
    session_end_text(s->header->exe, sizeof s->header->exe);
    for (uint32_t i = 0; i < strobe_session_thread_count(s); i++)
        session_end_text(s->threads[i].name, sizeof s->threads[i].name);
    for (uint32_t i = 0; i < strobe_session_image_count(s); i++) {
        struct strobe_image_entry *image = &s->images[i];
        session_end_text(image->path, sizeof image->path);
        if (image->build_id_bytes > STROBE_BUILD_ID_BYTES)
            image->build_id_bytes = STROBE_BUILD_ID_BYTES;
    }
}

enum strobe_status strobe_session_open(const char *path, struct strobe_session *out)
{
    enum strobe_status status = session_open_file(path, O_RDONLY, MAP_PRIVATE | MAP_NORESERVE, out);
    if (!status)
        make_safe(out);
    return status;
}

void strobe_session_finish(struct strobe_session *s, const struct strobe_clock_pair *end)
{
    s->header->end = *end;
    strobe_store_release(&s->header->state, STROBE_SESSION_CLOSED);
}

enum strobe_status strobe_session_note_end(const char *path, enum strobe_session_state how)
{
    struct strobe_session s;
    enum strobe_status status = session_open_file(path, O_RDWR, MAP_SHARED, &s);
    if (status)
        return status;
    uint32_t running = STROBE_SESSION_RUNNING;
    strobe_cas_relaxed(&s.header->state, &running, how);
    strobe_session_unmap(&s);
    return STROBE_OK;
}

/* --- a limited session --- */

static void session_add_part(struct strobe_part *out, uint32_t *count, uint64_t offset, uint64_t bytes)
{
    if (bytes)
        out[(*count)++] = (struct strobe_part){offset, session_whole_pages(bytes)};
}

static uint64_t first_entries(uint32_t limit, uint32_t max, size_t entry_bytes)
{
    return (uint64_t)(limit < max ? limit : max) * entry_bytes;
}

/* The first part of the threads region follows the header page directly. The images and the heads of the table and of
 * the ring start their regions, which are page-aligned. The other pieces are extended to whole pages. */
uint32_t strobe_session_parts(const struct strobe_config *c, struct strobe_part out[STROBE_SESSION_PARTS])
{
    struct layout l = layout_of(c);
    struct strobe_part in[STROBE_STACK_TABLE_PARTS + STROBE_RING_PARTS];
    uint32_t count = 0;
    session_add_part(out, &count, 0,
                     PAGE_BYTES +
                         first_entries(STROBE_LIMIT_THREADS, c->threads_max, sizeof(struct strobe_thread_entry)));
    session_add_part(out, &count, l.region[STROBE_REGION_IMAGES].offset,
                     first_entries(STROBE_LIMIT_IMAGES, c->images_max, sizeof(struct strobe_image_entry)));
    strobe_stack_table_parts(c->stack_nodes, STROBE_STACK_LIMIT_MAX, in);
    strobe_ring_parts(c->ring_slots, c->ring_subs, STROBE_LIMIT_CHUNKS, in + STROBE_STACK_TABLE_PARTS);
    for (uint32_t i = 0; i < STROBE_STACK_TABLE_PARTS + STROBE_RING_PARTS; i++) {
        bool of_table = i < STROBE_STACK_TABLE_PARTS;
        uint64_t at = l.region[of_table ? STROBE_REGION_STACKS : STROBE_REGION_RING].offset + in[i].offset;
        uint64_t before = at % PAGE_BYTES;
        session_add_part(out, &count, at - before, in[i].bytes ? in[i].bytes + before : 0);
    }
    return count;
}

void strobe_session_limit_to_parts(struct strobe_session *s, struct strobe_session_limit *limit)
{
    strobe_store_relaxed(&limit->threads, STROBE_LIMIT_THREADS);
    strobe_store_relaxed(&limit->images, STROBE_LIMIT_IMAGES);
    s->limit = limit;
    strobe_stack_table_limit(&s->stacks, STROBE_STACK_LIMIT_MAX);
    strobe_ring_limit(&s->ring, STROBE_LIMIT_CHUNKS);
}

bool strobe_session_nears_limit(const struct strobe_session *s)
{
    return strobe_session_thread_count(s) > STROBE_LIMIT_THREADS / 2 ||
           strobe_session_image_count(s) > STROBE_LIMIT_IMAGES / 2 ||
           strobe_stack_node_count(&s->stacks) > STROBE_STACK_LIMIT_MAX / 4 ||
           strobe_load_relaxed(&s->stacks.head->full_count) ||
           strobe_ring_first_draws(&s->ring) > STROBE_LIMIT_CHUNKS / 2;
}

void strobe_session_end_limit(const struct strobe_session *s)
{
    strobe_store_relaxed(&s->limit->threads, UINT32_MAX);
    strobe_store_relaxed(&s->limit->images, UINT32_MAX);
    strobe_stack_table_limit(&s->stacks, 0);
    strobe_ring_limit(&s->ring, 0);
}

/* --- entries --- */

/* Takes the entry at the counter's value. `ready`: the number of entries whose blocks are reserved, or NULL. The
 * counter never exceeds that number, because other threads access every entry below the counter. */
static bool session_take_entry(const struct strobe_session *s, strobe_a32 *count, uint32_t max, const strobe_a32 *ready,
                               uint32_t *index)
{
    *index = strobe_load_relaxed(count);
    do {
        if (*index >= max || (ready && *index >= strobe_load_relaxed(ready) && !s->limit->end(s)))
            return false;
    } while (!strobe_cas_relaxed(count, index, *index + 1));
    return true;
}

enum strobe_status strobe_session_add_thread(const struct strobe_session *s, uint32_t tid, int is_main,
                                             uint64_t start_ticks, uint32_t *index)
{
    const strobe_a32 *ready = s->limit ? &s->limit->threads : NULL;
    if (!session_take_entry(s, &s->header->thread_count, s->header->config.threads_max, ready, index))
        return STROBE_FULL;
    struct strobe_thread_entry *t = &s->threads[*index];
    t->tid = tid;
    t->generation = *index + 1;
    t->is_main = is_main != 0;
    t->start_ticks = start_ticks;
    strobe_store_release(&t->state, STROBE_THREAD_LIVE);
    return STROBE_OK;
}

struct strobe_image_entry *strobe_session_add_image(const struct strobe_session *s)
{
    uint32_t index;
    const strobe_a32 *ready = s->limit ? &s->limit->images : NULL;
    if (!session_take_entry(s, &s->header->image_count, s->header->config.images_max, ready, &index))
        return NULL;
    return &s->images[index];
}

static uint32_t session_entry_count(const strobe_a32 *count, uint32_t max)
{
    uint32_t n = strobe_load_relaxed(count);
    return n < max ? n : max;
}

uint32_t strobe_session_thread_count(const struct strobe_session *s)
{
    return session_entry_count(&s->header->thread_count, s->header->config.threads_max);
}

uint32_t strobe_session_image_count(const struct strobe_session *s)
{
    return session_entry_count(&s->header->image_count, s->header->config.images_max);
}
