/* What the names of methods say to watchers: frames, phases, loops, an activity's life. Any thread; allocates
 * nothing. */
#ifndef STROBE_WATCH_WATCH_NAMES_H
#define STROBE_WATCH_WATCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STROBE_ROLE_FRAME = 1,
    STROBE_ROLE_INPUT = 2,
    STROBE_ROLE_ANIMATION = 4,
    STROBE_ROLE_TRAVERSAL = 8,
    STROBE_ROLE_LOOP = 0x10,     /* runs messages: what it calls is one, */
    STROBE_ROLE_QUEUE = 0x20,    /* but for this, which fetches them */
    STROBE_ROLE_DISPATCH = 0x40, /* is a message */
    STROBE_ROLE_CREATE = 0x80,   /* of an activity */
    STROBE_ROLE_FOCUS = 0x100,
    STROBE_ROLE_PAUSE = 0x200,
    STROBE_ROLE_DESTROY = 0x400,
    STROBE_ROLE_COMPONENT = 0x800, /* the system asks for one; which: strobe_component_of */
    STROBE_ROLE_IOS = 0x1000,      /* this is no Android */
    STROBE_ROLE_ACTIVITY = STROBE_ROLE_CREATE | STROBE_ROLE_FOCUS | STROBE_ROLE_PAUSE | STROBE_ROLE_DESTROY,
};

/* All that `text` says; `frames` as in struct strobe_watch_feed_options. */
unsigned strobe_name_roles(const char *text, const char *frames);

/* The handler's message by which ActivityThread calls this method; 0 = none. */
uint32_t strobe_component_of(const char *text);

/* The class of a method `CLASS.method`, or of `TYPE CLASS.method(TYPES)`: where it begins, and its length. */
const char *strobe_class_of(const char *text, size_t *length);

/* True when one of the names in `list`, separated by ';', is all of `text` (whose types are left out), or its end from
 * a '.', '$', ':', '/' or blank on. Empty names are no names. */
bool strobe_name_is_of(const char *text, const char *list);

#endif
