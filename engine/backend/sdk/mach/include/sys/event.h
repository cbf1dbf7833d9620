/* Declarations of kevent, written from Apple's public sys/event.h. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_SYS_EVENT_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_SYS_EVENT_H

#include <time.h>

struct kevent;

int kevent(int queue, const struct kevent *changes, int change_count, struct kevent *events, int event_count,
           const struct timespec *timeout);

#endif
