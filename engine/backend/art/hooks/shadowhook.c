#include "engine/backend/art/hooks/shadowhook.h"
#include "engine/base/error_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

/* Constants of shadowhook.h. */
enum { MODE_SHARED = 0, MODE_UNIQUE = 1, WITH_MULTI_MODE = 4 };
enum { UNHOOK_MISMATCH_FIRST = 28, UNHOOK_MISMATCH_LAST = 30 }; /* another hooker has changed the function since */

static struct {
    int (*init)(int mode, bool debuggable);
    int (*mode)(void);
    void *(*hook)(void *function, void *replacement, void **original);
    void *(*hook_by)(void *function, void *replacement, void **original, uint32_t flags, ...);
    int (*unhook)(void *stub);
    int (*last_error)(void);
    const char *(*text)(int error);
} library;

/* A hook. ShadowHook frees its stub also when shadowhook_unhook fails, so a stub is used once. */
static struct shadow_stub {
    void *stub;  /* NULL = the entry is not used */
    int refused; /* what shadowhook_unhook said; 0 = it was not called */
} stubs[STROBE_SHADOWHOOKS_MAX];

static const char *last_text;

static void forget_library(void)
{
    library.hook = NULL;
    library.hook_by = NULL;
}

static bool find_shadowhook_functions(void *opened)
{
    *(void **)&library.init = dlsym(opened, "shadowhook_init");
    *(void **)&library.mode = dlsym(opened, "shadowhook_get_mode");
    *(void **)&library.hook = dlsym(opened, "shadowhook_hook_func_addr");
    *(void **)&library.hook_by = dlsym(opened, "shadowhook_hook_func_addr_2");
    *(void **)&library.unhook = dlsym(opened, "shadowhook_unhook");
    *(void **)&library.last_error = dlsym(opened, "shadowhook_get_errno");
    *(void **)&library.text = dlsym(opened, "shadowhook_to_errmsg");
    return library.init && library.mode && (library.hook || library.hook_by) && library.unhook && library.last_error &&
           library.text;
}

/* ---- the hooker ---- */

static struct shadow_stub *find_free_stub(void)
{
    for (struct shadow_stub *s = stubs; s < stubs + STROBE_SHADOWHOOKS_MAX; s++)
        if (!s->stub)
            return s;
    return NULL;
}

static int shadow_install(void *ctx, void *target, void *replacement, void **original, void **handle)
{
    struct shadow_stub *s = find_free_stub();
    (void)ctx;
    last_text = NULL;
    if (!s)
        return ENOMEM;
    *original = NULL;
    void *stub = library.hook_by ? library.hook_by(target, replacement, original, WITH_MULTI_MODE)
                                 : library.hook(target, replacement, original);
    if (!stub) {
        last_text = library.text(library.last_error());
        return EPERM;
    }
    if (!*original) { /* the replacement could not call it */
        last_text = "it gave no original";
        library.unhook(stub);
        return EPERM;
    }
    *s = (struct shadow_stub){.stub = stub};
    *handle = s;
    return 0;
}

static int shadow_remove(void *ctx, void *handle)
{
    struct shadow_stub *s = handle;
    (void)ctx;
    if (s->refused)
        return s->refused;
    if (library.unhook(s->stub) == 0) {
        s->stub = NULL;
        return 0;
    }
    int why = library.last_error();
    s->refused = why >= UNHOOK_MISMATCH_FIRST && why <= UNHOOK_MISMATCH_LAST ? EEXIST : EIO;
    return s->refused;
}

static const char *shadow_explain(void *ctx, int refused)
{
    (void)ctx, (void)refused;
    return last_text;
}

static const struct strobe_inline_hooker shadow_hooker = {
    .name = "shadowhook", .install = shadow_install, .remove = shadow_remove, .explain = shadow_explain};

const struct strobe_inline_hooker *strobe_shadowhook(bool loads, struct strobe_error *error)
{
    void *opened = dlopen("libshadowhook.so", RTLD_NOW | (loads ? 0 : RTLD_NOLOAD));
    if (!opened) {
        if (loads)
            strobe_error_set(error, "libshadowhook.so can't be loaded");
        return NULL;
    }
    int refused = 0;
    if (!find_shadowhook_functions(opened))
        strobe_error_set(error, "libshadowhook.so lacks functions of version 1.0.4");
    else if ((refused = library.init(MODE_UNIQUE, false)) != 0)
        strobe_error_set(error, "shadowhook_init: %s", library.text(refused));
    else if (!library.hook_by && library.mode() == MODE_SHARED)
        strobe_error_set(error, "the app uses ShadowHook in shared mode");
    else
        return &shadow_hooker; /* the library stays open, because its code is in use */
    forget_library();
    dlclose(opened);
    return NULL;
}
