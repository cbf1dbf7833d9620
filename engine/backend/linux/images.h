/* The images table: which files of code are loaded where. */
#ifndef STROBE_BACKEND_LINUX_IMAGES_H
#define STROBE_BACKEND_LINUX_IMAGES_H

#include "engine/store/session.h"

#include <stdbool.h>

/* Adds every loaded image that the session does not list yet. Takes the dynamic linker's lock for a moment, no heap.
 * At start, at end, and after a library was loaded; never while a thread is suspended. One caller at a time: a second
 * one returns at once.
 *
 * Paths are absolute if `reads_files` is set: those that the dynamic linker knows by a relative path are looked up in
 * /proc/self/maps. A jitdump file that the process has mapped is then listed, too, so that the reader can find it. Set
 * it at start, at end and in the sampler, whose descriptors are not the program's. */
void strobe_linux_note_images(const struct strobe_session *s, uint64_t now_ticks, bool reads_files);

/* True when images were loaded or unloaded since the last call that returned true. Same context; sampler only. */
bool strobe_linux_images_changed(void);

#endif
