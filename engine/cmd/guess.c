#include "engine/cmd/guess.h"

#include <string.h>

enum { LETTERS_MAX = 40, DISTANCE_MAX = 3 };

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the number of letters to add, remove, change or swap to turn one word into the other. */
static size_t count_edits(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    size_t row[3][LETTERS_MAX + 1];
    size_t *before = row[0], *last = row[1], *now = row[2];
    for (size_t j = 0; j <= b_bytes; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_bytes; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            now[j] = min_size(min_size(now[j - 1], last[j]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = min_size(now[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[b_bytes];
}

struct strobe_guess strobe_guess_begin(const char *typed)
{
    size_t third = strlen(typed) / 3;
    return (struct strobe_guess){typed, NULL, (third < 1 ? 1 : min_size(third, DISTANCE_MAX)) + 1};
}

void strobe_guess_consider(struct strobe_guess *g, const char *word)
{
    size_t typed_bytes = strlen(g->typed), word_bytes = strlen(word);
    if (typed_bytes > LETTERS_MAX || word_bytes > LETTERS_MAX)
        return;
    size_t distance = typed_bytes > 1 && !strncmp(g->typed, word, typed_bytes)
                          ? 0
                          : count_edits(g->typed, typed_bytes, word, word_bytes);
    if (distance < g->distance) {
        g->distance = distance;
        g->best = word;
    }
}
