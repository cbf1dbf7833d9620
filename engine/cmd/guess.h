/* Which of several words somebody may have meant who typed another one. */
#ifndef STROBE_CMD_GUESS_H
#define STROBE_CMD_GUESS_H

#include <stddef.h>

struct strobe_guess {
    const char *typed;
    const char *best; /* the nearest word considered so far, NULL when none is near enough */
    size_t distance;  /* of `best`; before there is one, the first distance that is too far */
};

/* A guess for `typed`, which the guess refers to. */
struct strobe_guess strobe_guess_begin(const char *typed);

/* Takes `word` into account. It is near enough when `typed` is its begin and at least two letters long, or when no more
 * than a third of the letters of `typed` (at least one, at most three) are to be added, removed, changed, or swapped
 * with their neighbour (optimal string alignment). Of equally near words the first is kept. */
void strobe_guess_consider(struct strobe_guess *guess, const char *word);

#endif
