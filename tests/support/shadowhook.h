/* The state of the stand-in for ShadowHook's library (shadowhook.c). */
#ifndef STROBE_SUPPORT_SHADOWHOOK_H
#define STROBE_SUPPORT_SHADOWHOOK_H

#include <stdbool.h>
#include <stdint.h>

struct stand_in_shadowhook {
    int init_refused;   /* what shadowhook_init returns */
    int unhook_refused; /* an error of ShadowHook; 0 = it works */
    int hooks_left;     /* hooks that it makes before it refuses */
    bool gives_no_original, app_mode_is_shared;
    int mode, installed; /* reported back */
    uint32_t flags;      /* of the last hook */
};

#endif
