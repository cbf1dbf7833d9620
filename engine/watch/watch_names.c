#include "engine/watch/watch_names.h"

#include <string.h>

#define FRAMES "Choreographer.doFrame;-[CADisplayLink fire]"

struct part {
    const char *at;
    size_t length;
};

static bool is_objc(const char *text)
{
    return (text[0] == '-' || text[0] == '+') && text[1] == '[';
}

/* Returns a method without the types before and after it. */
static struct part method_part_of(const char *text)
{
    size_t length = strcspn(text, "("), begin = length;
    if (is_objc(text) || !length)
        return (struct part){text, strlen(text)};
    while (begin && text[begin - 1] != ' ')
        begin--;
    return (struct part){text + begin, length - begin};
}

static bool ends_with(struct part p, const char *name, size_t length)
{
    if (!length || p.length < length || memcmp(p.at + p.length - length, name, length) != 0)
        return false;
    return p.length == length || strchr(".$:/ ", p.at[p.length - length - 1]);
}

static bool part_is_one_of(struct part p, const char *list)
{
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ";");
        if (ends_with(p, at, length))
            return true;
        at += length;
        if (!*at)
            return false;
    }
}

bool strobe_name_is_of(const char *text, const char *list)
{
    return part_is_one_of(method_part_of(text), list);
}

static bool part_has_word(struct part p, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= p.length; i++)
        if (!memcmp(p.at + i, word, length))
            return true;
    return false;
}

const char *strobe_class_of(const char *text, size_t *length)
{
    struct part p = method_part_of(text);
    *length = p.length;
    while (*length && p.at[*length - 1] != '.')
        --*length;
    *length -= *length > 0;
    return p.at;
}

static unsigned activity_role(const char *text, struct part p)
{
    static const char tail[] = "Activity";
    size_t length;
    const char *class = strobe_class_of(text, &length);
    if (length < sizeof tail - 1 || memcmp(class + length - (sizeof tail - 1), tail, sizeof tail - 1) != 0)
        return 0;
    return part_is_one_of(p, "onCreate")               ? STROBE_ROLE_CREATE
           : part_is_one_of(p, "onWindowFocusChanged") ? STROBE_ROLE_FOCUS
           : part_is_one_of(p, "onPause")              ? STROBE_ROLE_PAUSE
           : part_is_one_of(p, "onDestroy")            ? STROBE_ROLE_DESTROY
                                                       : 0;
}

uint32_t strobe_component_of(const char *text)
{
    static const struct {
        const char *name;
        uint32_t code;
    } of[] = {
        {"ActivityThread.handleLaunchActivity", 100},
        {"ActivityThread.handleRelaunchActivity", 126},
        {"ActivityThread.handleCreateService", 114},
        {"ActivityThread.handleReceiver", 113},
    };
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
        if (strobe_name_is_of(text, of[i].name))
            return of[i].code;
    return 0;
}

unsigned strobe_name_roles(const char *text, const char *frames)
{
    struct part p = method_part_of(text);
    unsigned roles = activity_role(text, p);
    roles |= part_is_one_of(p, frames ? frames : FRAMES) ? STROBE_ROLE_FRAME : 0;
    roles |= part_has_word(p, "Input") || part_has_word(p, "input") ? STROBE_ROLE_INPUT
             : part_has_word(p, "Animat")                           ? STROBE_ROLE_ANIMATION
             : part_has_word(p, "raversal")                         ? STROBE_ROLE_TRAVERSAL
                                                                    : 0;
    roles |= part_is_one_of(p, "Looper.loop;Looper.loopOnce;CFRunLoopRun;CFRunLoopRunSpecific;__CFRunLoopRun")
                 ? STROBE_ROLE_LOOP
                 : 0;
    roles |= part_is_one_of(p, "MessageQueue.next;MessageQueue.nativePollOnce;__CFRunLoopServiceMachPort;mach_msg;"
                               "mach_msg_trap;mach_msg2_trap")
                 ? STROBE_ROLE_QUEUE
                 : 0;
    roles |= part_is_one_of(p, "Handler.dispatchMessage") ? STROBE_ROLE_DISPATCH : 0;
    roles |= strobe_component_of(text) ? STROBE_ROLE_COMPONENT : 0;
    roles |= is_objc(text) || part_is_one_of(p, "CFRunLoopRun;CFRunLoopRunSpecific;__CFRunLoopRun;UIApplicationMain")
                 ? STROBE_ROLE_IOS
                 : 0;
    return roles;
}
