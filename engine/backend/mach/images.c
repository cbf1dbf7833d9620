#include "engine/backend/mach/images.h"

#include "engine/backend/mach/events.h"
#include "engine/backend/mach/image.h"

#include <mach-o/dyld.h>
#include <os/lock.h>
#include <string.h>

enum { IMAGES_MAX = 4096 };

/* An image that the loader has loaded. */
struct known {
    const struct mach_header_64 *header; /* NULL: a free entry */
    intptr_t slide;
    uint64_t start, end, code_start, code_end;
    struct strobe_image_entry *entry; /* its entry in the session of this capture; NULL: none */
};

/* Protects the variables below. No thread calls the loader while it holds the lock. */
static os_unfair_lock lock = OS_UNFAIR_LOCK_INIT;
static struct known known[IMAGES_MAX];
static uint32_t known_count;
static bool registered, hooking, complete;
static const struct strobe_rebinding *rebindings;
static size_t rebinding_count;
static struct strobe_rebound *rebound;
static size_t rebound_count;

/* ---- the session's entries */

static void set_path(struct strobe_image_entry *e, const char *path)
{
    size_t i = 0;
    for (; path[i] && i + 1 < sizeof e->path; i++)
        e->path[i] = path[i];
    e->path[i] = '\0';
    e->path_cut = path[i] != '\0';
}

static void add_image_entry(struct known *k, const struct strobe_mach_image *i)
{
    struct strobe_image_entry *e = strobe_session_add_image(&strobe_mach.engine.session);
    k->entry = e;
    if (!e)
        return;
    e->start = k->code_start;
    e->end = k->code_end;
    e->bias = (uint64_t)k->slide;
    e->load_ticks = strobe_mach_now();
    if (i->uuid) {
        e->build_id_bytes = sizeof i->uuid->uuid;
        memcpy(e->build_id, i->uuid->uuid, sizeof i->uuid->uuid);
    }
    set_path(e, i->name);
    strobe_store_release(&e->published, 1);
}

/* ---- one image */

static bool is_own_image(const struct known *k)
{
    uint64_t here = STROBE_MACH_OBJECT(strobe_mach_images_begin);
    return here >= k->code_start && here < k->code_end;
}

/* Enters the image into the session and rebinds its pointers. */
static void enter_image(struct known *k)
{
    struct strobe_mach_image i;
    if (!strobe_mach_image_read(k->header, k->slide, &i)) {
        complete = false;
        return;
    }
    add_image_entry(k, &i);
    if (is_own_image(k) || k->header->flags & MH_DYLIB_IN_CACHE)
        return;
    if (strobe_rebind_image(k->header, k->slide, rebindings, rebinding_count, rebound, STROBE_MACH_REBOUND_MAX,
                            &rebound_count) != STROBE_OK)
        complete = false;
}

static struct known *find_known(const struct mach_header_64 *header)
{
    for (uint32_t i = 0; i < known_count; i++)
        if (known[i].header == header)
            return &known[i];
    return NULL;
}

static void image_added(const struct mach_header *header, intptr_t slide)
{
    const struct mach_header_64 *h = (const void *)header;
    struct strobe_mach_image i;
    os_unfair_lock_lock(&lock);
    struct known *k = find_known(h) ? NULL : find_known(NULL);
    if (!k && known_count < IMAGES_MAX && !find_known(h))
        k = &known[known_count++];
    if (k && strobe_mach_image_read(h, slide, &i)) {
        *k = (struct known){h, slide, i.start, i.end, i.text_start, i.text_end, NULL};
        if (hooking)
            enter_image(k);
    } else if (k) {
        *k = (struct known){0};
    }
    os_unfair_lock_unlock(&lock);
}

/* Removes the pointers of an unloaded image from the log, because they can no longer be restored. */
static void forget_pointers(const struct known *k)
{
    size_t kept = 0;
    for (size_t n = 0; n < rebound_count; n++) {
        uint64_t at = STROBE_MACH_OBJECT(rebound[n].at);
        if (at < k->start || at >= k->end)
            rebound[kept++] = rebound[n];
    }
    rebound_count = kept;
}

static void image_removed(const struct mach_header *header, intptr_t slide)
{
    (void)slide;
    os_unfair_lock_lock(&lock);
    struct known *k = find_known((const void *)header);
    if (k) {
        if (hooking)
            forget_pointers(k);
        *k = (struct known){0};
    }
    os_unfair_lock_unlock(&lock);
}

/* ---- all images */

/* Stores the paths of all images in the session. The loader does not protect a caller that reads images by index
 * against an unload at the same time, so an image's name may be freed while it is read. The names of images that stay
 * loaded remain valid. */
static void store_paths(void)
{
    uint32_t count = _dyld_image_count();
    for (uint32_t n = 0; n < count; n++) {
        const struct mach_header *h = _dyld_get_image_header(n);
        const char *path = _dyld_get_image_name(n);
        if (!h || !path)
            continue;
        os_unfair_lock_lock(&lock);
        struct known *k = find_known((const void *)h);
        if (k && k->entry)
            set_path(k->entry, path);
        os_unfair_lock_unlock(&lock);
    }
}

bool strobe_mach_images_begin(const struct strobe_rebinding *wanted, size_t wanted_count, struct strobe_rebound *log)
{
    if (!registered) {
        _dyld_register_func_for_add_image(image_added);
        _dyld_register_func_for_remove_image(image_removed);
        registered = true;
    }
    os_unfair_lock_lock(&lock);
    rebindings = wanted;
    rebinding_count = wanted_count;
    rebound = log;
    rebound_count = 0;
    complete = true;
    hooking = true;
    for (uint32_t i = 0; i < known_count; i++)
        if (known[i].header)
            enter_image(&known[i]);
    bool all = complete;
    os_unfair_lock_unlock(&lock);
    store_paths();
    return all;
}

bool strobe_mach_images_end(void)
{
    store_paths();
    os_unfair_lock_lock(&lock);
    hooking = false;
    size_t left = strobe_rebind_undo(rebindings, rebound, rebound_count);
    rebound_count = 0;
    for (uint32_t i = 0; i < known_count; i++)
        known[i].entry = NULL;
    os_unfair_lock_unlock(&lock);
    return left == 0;
}

void strobe_mach_images_code(const void *address, uint64_t *start, uint64_t *end)
{
    *start = *end = 0;
    os_unfair_lock_lock(&lock);
    for (uint32_t i = 0; i < known_count; i++) {
        const struct known *k = &known[i];
        if (k->header && STROBE_MACH_OBJECT(address) >= k->code_start && STROBE_MACH_OBJECT(address) < k->code_end) {
            *start = k->code_start;
            *end = k->code_end;
        }
    }
    os_unfair_lock_unlock(&lock);
}
