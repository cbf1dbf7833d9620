/* Text that grows as it is written. After a failed allocation `failed` stays set. Zero it before use; the owner frees
 * `text`. */
#ifndef STROBE_SIM_APP_TEXT_H
#define STROBE_SIM_APP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct sim_text {
    char *text;
    size_t bytes, room;
    bool failed;
};

__attribute__((format(printf, 2, 3))) void sim_text_put(struct sim_text *t, const char *format, ...);

#endif
