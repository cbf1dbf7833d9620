/* Tracks written as a line of text, so that a test can be read as a picture of time:
 *
 *   story(&tracks, 7, "main", "0 A  10 B  30 .  50 .  60 !")
 *
 *   name   a call begins: a method; a wait when it is in brackets; a gap when it is "[unseen]"
 *   .      the innermost call ends
 *   #5     message 5 begins; #0 none
 *   @1     the thread is on core 1; @- on none
 *   !      the thread ends
 *
 * each after its time in ns; the first time is also the thread's begin. Main when it is called "main". For tests. */
#ifndef STROBE_SIM_SUPPORT_STORY_H
#define STROBE_SIM_SUPPORT_STORY_H

#include "sim/score/tracks.h"

/* Returns the track's number. */
uint32_t story(struct sim_tracks *t, uint32_t tid, const char *name, const char *text);

#endif
