/* Files, sockets, sleeps and other waits of native code (libc.h). */
#include "engine/backend/art/hooks/libc.h"
#include "engine/backend/art/hooks/slot_table.h"
#include "engine/base/error_format.h"

#include <dlfcn.h>
#include <string.h>

static STROBE_ALWAYS_INLINE struct strobe_thread *art_libc_thread(uint32_t on)
{
    return strobe_unlikely(on != STROBE_OFF) ? strobe_art_thread(on) : NULL;
}

#define HOOK_THREAD(on) art_libc_thread(on)

/* vfork is not hooked: what the child does to its descriptors counts as done by its parent. */
bool strobe_hook_in_vfork(void)
{
    return false;
}

#include "engine/backend/common/libc/descriptor_hooks.h"
#include "engine/backend/common/libc/file_hooks.h"
#include "engine/backend/common/libc/socket_hooks.h"
#include "engine/backend/common/libc/wait_hooks.h"

struct strobe_art_libc strobe_art_libc;

static const struct strobe_art_libc_hook libc_hooks[] = {
    STROBE_LIBC_FILES(STROBE_LIBC_HOOK) STROBE_LIBC_WAITS(STROBE_LIBC_HOOK) STROBE_LIBC_SOCKETS(STROBE_LIBC_HOOK)
        STROBE_LIBC_DESCRIPTORS(STROBE_LIBC_HOOK) STROBE_LIBC_GNU(STROBE_LIBC_HOOK)};

static const struct strobe_art_libc_hook libc_tries[] = {
#define STROBE_LIBC_TRY(name) {STROBE_LIBC_STRING(name), offsetof(struct strobe_art_libc, name), NULL},
    STROBE_LIBC_TRIES(STROBE_LIBC_TRY)};

enum { LIBC_FUNCTIONS_MAX = STROBE_SLOT_INDEX / 2, LIBC_HOOKS = sizeof libc_hooks / sizeof libc_hooks[0] };

static struct strobe_slot_function functions[LIBC_FUNCTIONS_MAX];
static uint32_t function_count;
static struct strobe_slot_table slots;

static void find_functions(const struct strobe_art_libc_hook *hooks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *f = dlsym(RTLD_DEFAULT, hooks[i].name);
        memcpy((char *)&strobe_art_libc + hooks[i].offset, &f, sizeof f);
        if (f && hooks[i].replacement && function_count < LIBC_FUNCTIONS_MAX)
            functions[function_count++] = (struct strobe_slot_function){hooks[i].name, f, hooks[i].replacement};
    }
}

static const char *soname_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool libc_start(struct strobe_jni *env, struct strobe_error *error)
{
    (void)env;
    function_count = 0;
    find_functions(libc_tries, sizeof libc_tries / sizeof libc_tries[0]);
    find_functions(strobe_art_lock_hooks, strobe_art_lock_hook_count);
    find_functions(libc_hooks, LIBC_HOOKS);
    strobe_slot_table_begin(&slots, functions, function_count, soname_of(strobe_art.libart.path));
    if (strobe_load_relaxed(&slots.refused))
        strobe_error_set(error, "%u slots cannot be made writable", strobe_load_relaxed(&slots.refused));
    return true;
}

static void libc_end(void)
{
    strobe_slot_table_end(&slots);
}

void strobe_art_libc_renew(void)
{
    strobe_slot_table_renew(&slots);
}

uint32_t strobe_art_libc_slots(void)
{
    return strobe_load_relaxed(&slots.exchanged);
}

const struct strobe_art_feature strobe_art_feature_libc = {STROBE_ART_LIBC, libc_start, libc_end};
