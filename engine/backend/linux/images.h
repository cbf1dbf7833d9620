/* The session's table of images: the files of code and their addresses. */
#ifndef STROBE_BACKEND_LINUX_IMAGES_H
#define STROBE_BACKEND_LINUX_IMAGES_H

#include "engine/store/session.h"

#include <stdbool.h>

/* Adds every loaded image that the session does not list yet. Takes the dynamic linker's lock briefly, and no heap. At
 * start, at end, and after a library was loaded; never while a thread is suspended. One caller at a time: a second
 * caller returns at once.
 *
 * With `reads_files`, all paths become absolute: the function looks up the path of a library that the dynamic linker
 * knows by a relative path in /proc/self/maps. It then also lists a jitdump file that the process has mapped, so that
 * the reader can find it. Callers set it at start, at end and in the sampler, which has its own descriptor table. */
void strobe_linux_note_images(const struct strobe_session *s, uint64_t now_ticks, bool reads_files);

/* Returns true when images were loaded or unloaded since the last call that returned true. Takes the dynamic linker's
 * lock briefly. One thread of the engine: the sampler, or in a capture without samples the clock thread of the call
 * log. Never while a thread is suspended. */
bool strobe_linux_images_changed(void);

#endif
