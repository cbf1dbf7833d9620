/* Builds a track from one line of text, so that a test shows the timeline:
 *
 *   story(&tracks, 7, "main", "0 A  10 B  30 .  50 .  60 !")
 *
 *   name   a call begins: a method; a wait when it is in brackets; a gap when it is "[unseen]"
 *   .      the innermost call ends
 *   #5     message 5 begins; #0: no message
 *   @1     the thread is on core 1; @-: on no core
 *   !      the thread ends
 *
 * Each item follows its time in ns. The first time is also the thread's begin. A thread named "main" is the main
 * thread. For tests. */
#ifndef STROBE_SIM_SUPPORT_STORY_H
#define STROBE_SIM_SUPPORT_STORY_H

#include "sim/score/tracks.h"

/* Returns the track's number. */
uint32_t story(struct sim_tracks *t, uint32_t tid, const char *name, const char *text);

#endif
