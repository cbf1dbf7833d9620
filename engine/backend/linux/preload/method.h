/* Capture of calls inside the preloaded library: see engine/method/entry.h. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_METHOD_H
#define STROBE_BACKEND_LINUX_PRELOAD_METHOD_H

#include "engine/backend/linux/preload/preload.h"

/* The words beside strobe_switch, on the page that is zeroed in a forked child. */
struct strobe_method_page {
    strobe_a64 clock;
    strobe_a32 on;
};

/* Prepares the capture of calls when the session has a call log. The capture is off at first. Returns false when the
 * session has none, or when there is no memory. Start only. */
bool strobe_method_start(const struct strobe_preload *p, struct strobe_method_page *page);

/* Sets the switch of the capture: STROBE_ON, STROBE_OFF, or STROBE_PAUSED until the session's delay is over. */
void strobe_method_switch(uint32_t on);

/* Discards the parent's state. In the child of a fork. */
void strobe_method_forget(void);

#endif
