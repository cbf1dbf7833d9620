/* Capture of calls inside the preloaded library: see engine/method/entry.h. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_METHOD_H
#define STROBE_BACKEND_LINUX_PRELOAD_METHOD_H

#include "engine/backend/linux/preload/preload.h"

/* What lies beside strobe_switch, on the page that a forked child finds wiped. */
struct strobe_method_page {
    strobe_a64 clock;
    strobe_a32 on;
};

/* Prepares it, when the session has room for calls; off at first. False: there is nothing to prepare, or no memory for
 * it. Start only. */
bool strobe_method_start(const struct strobe_preload *p, struct strobe_method_page *page);

/* Turns that word: STROBE_ON, STROBE_OFF, or STROBE_PAUSED until the session's delay is over. */
void strobe_method_switch(uint32_t on);

/* Forgets what was the parent's. In the child of a fork. */
void strobe_method_forget(void);

#endif
