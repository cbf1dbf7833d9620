/* The app of joined.c, compiled apart: as Thumb code without frame pointers. Each function notes its return address. */
#ifndef STROBE_ARMV7_JOINED_H
#define STROBE_ARMV7_JOINED_H

#include <stdint.h>

enum { APP_DEEPEST = 16 };

extern uintptr_t app_back[APP_DEEPEST]; /* outermost first */
extern unsigned app_depth;

/* Calls itself `depth` times with frames of several shapes, and then `enter`. */
int app_outer(unsigned depth, int (*enter)(void));

/* Calls `leaf` below two frames. */
int app_inner(int (*leaf)(void));

/* Executes an undefined instruction, whose signal the caller handles. */
int app_trap(void);

#endif
