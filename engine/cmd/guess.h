/* Suggests a word for a mistyped one. */
#ifndef STROBE_CMD_GUESS_H
#define STROBE_CMD_GUESS_H

#include <stddef.h>

struct strobe_guess {
    const char *typed;
    const char *best; /* nearest word so far; NULL when none is near enough */
    size_t distance;  /* distance of `best`; while there is none, the smallest distance that is too large */
};

/* Returns a guess for `typed`, which must stay valid. */
struct strobe_guess strobe_guess_begin(const char *typed);

/* Compares `word`. It is near enough in two cases: `typed` is its begin and has at least two letters; or at most a
 * third of the letters of `typed` (at least one, at most three) must be added, removed, changed, or swapped with their
 * neighbour (optimal string alignment). Among equally near words the first one stays. */
void strobe_guess_consider(struct strobe_guess *guess, const char *word);

#endif
