/* Recognises methods by name: frames, phases, loops, an activity's life cycle. Any thread; allocates nothing. */
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
    STROBE_ROLE_LOOP = 0x10,     /* runs messages: its callees are messages, */
    STROBE_ROLE_QUEUE = 0x20,    /* except this one, which fetches them */
    STROBE_ROLE_DISPATCH = 0x40, /* is itself a message */
    STROBE_ROLE_CREATE = 0x80,   /* of an activity */
    STROBE_ROLE_FOCUS = 0x100,
    STROBE_ROLE_PAUSE = 0x200,
    STROBE_ROLE_DESTROY = 0x400,
    STROBE_ROLE_COMPONENT = 0x800, /* the system requests a component; strobe_component_of says which */
    STROBE_ROLE_IOS = 0x1000,      /* the app is an iOS app */
    STROBE_ROLE_ACTIVITY = STROBE_ROLE_CREATE | STROBE_ROLE_FOCUS | STROBE_ROLE_PAUSE | STROBE_ROLE_DESTROY,
};

/* Returns the roles of method `text`, a set of the bits above. `frames`: see struct strobe_watch_feed_options. */
unsigned strobe_name_roles(const char *text, const char *frames);

/* Returns the handler message by which ActivityThread calls this method, or 0. */
uint32_t strobe_component_of(const char *text);

/* Returns where the class begins in a method `CLASS.method` or `TYPE CLASS.method(TYPES)`, and its length. */
const char *strobe_class_of(const char *text, size_t *length);

/* Returns true when one of the names in `list` (separated by ';') equals `text` without its types, or the end of `text`
 * after a '.', '$', ':', '/' or blank. Empty names match nothing. */
bool strobe_name_is_of(const char *text, const char *list);

#endif
