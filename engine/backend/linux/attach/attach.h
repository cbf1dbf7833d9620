/* The library that `strobe attach` loads into a running program, libstrobe-attach.so.
 *
 * The library has the hooks of libstrobe-preload.so, but no constructor that starts a capture. The dynamic linker has
 * bound the program's calls already, so the library exchanges the slots of these calls (slots.h).
 *
 *   command    makes a thread of the program call dlopen, dlsym and strobe_attach_begin (engine/cmd/attach/inject.h).
 *              It holds a lock (flock(2)) on the session file. The kernel releases the lock when the command ends in
 *              any way
 *   begin      starts two threads, the helper and the later sampler, and returns
 *   helper     attaches to the session, starts the capture, exchanges the slots, and waits until the command sets
 *              `stop` or the lock is released
 *   helper     restores the slots, ends the capture, stops the sampler, restores the signal, waits until no thread is
 *              in the library (leave.h), and releases the memory of the capture
 *   command    makes a thread of the program call `end`, which ends the helper and unmaps its stack, and then dlclose
 *
 * Without the command, the helper unloads the library. It jumps to dlclose, which returns into the C library, so that
 * no code of the library is on the helper's stack then (thread.S). The helper's stack stays mapped in this case, and an
 * arena of the C library's heap, which the C library makes for each thread that calls its functions.
 *
 * A thread that stays in a hooked call keeps the library loaded until the call returns. The helper ends waits for
 * condition variables (cond_waits.h).
 *
 * The stacks of the library's threads are its own mapping: the C library would keep stacks that it makes for later
 * threads. The helper and the sampler take no memory from the heap.
 *
 * A child of fork keeps the library, because it has no helper. Its hooks only call through. */
#ifndef STROBE_BACKEND_LINUX_ATTACH_ATTACH_H
#define STROBE_BACKEND_LINUX_ATTACH_ATTACH_H

#include "engine/base/atomic.h"
#include "engine/base/error.h"

#include <stdint.h>

/* The name of the function that the command calls, and of the library's file. */
#define STROBE_ATTACH_BEGIN   "strobe_attach_begin"
#define STROBE_ATTACH_LIBRARY "libstrobe-attach.so"

enum strobe_attach_stage {
    STROBE_ATTACH_STARTING,
    STROBE_ATTACH_RUNNING, /* the capture has begun */
    STROBE_ATTACH_FAILED,  /* there is no capture; `error` says why */
    STROBE_ATTACH_LEAVING, /* the capture has ended; the helper waits for threads in the library */
    STROBE_ATTACH_LEFT,    /* no thread is in the library; the helper waits for `end` */
};

/* What the command reads from the program's memory. It writes `stop` only. */
struct strobe_attach_state {
    uint64_t handle, end; /* of the library; address of its function strobe_attach_end */
    strobe_a32 tid;       /* of the helper; 0 until it runs */
    strobe_a32 stage;     /* enum strobe_attach_stage */
    strobe_a32 stop;      /* 1: end the capture */
    struct strobe_error error;
};

/* Starts the helper for the session at `path`. `handle`: of this library, from dlopen. Returns NULL when no thread can
 * be started. Called once, on a thread of the program that is in no function of the C library. */
struct strobe_attach_state *strobe_attach_begin(const char *path, void *handle);

/* Ends the helper, in the stage LEFT. Returns 1 when it has ended and its stack is unmapped; the library may then be
 * unloaded. Called as strobe_attach_begin is. */
uint64_t strobe_attach_end(void);

/* thread.S: the helper's start routine, and the function to which it jumps at its end. */
void *strobe_attach_thread(void *unused);
extern int (*strobe_attach_dlclose)(void *handle);

/* Called by strobe_attach_thread: the helper's work. Returns the handle for dlclose, or NULL when the
 * helper must not unload the library. */
void *strobe_attach_run(void);

#endif
