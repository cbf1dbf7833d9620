#include "tests/sim/support/story.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_event(struct sim_tracks *t, uint32_t track, uint64_t time_ns, const char *word)
{
    if (!strcmp(word, "."))
        sim_track_return(t, track, time_ns, false);
    else if (!strcmp(word, "!"))
        sim_track_end(t, track, time_ns);
    else if (word[0] == '#')
        sim_track_message(t, track, time_ns, (uint32_t)strtoul(word + 1, NULL, 10));
    else if (word[0] == '@')
        sim_track_core(t, track, time_ns, word[1] == '-' ? -1 : atoi(word + 1));
    else
        sim_track_call(t, track, time_ns, sim_tracks_name(t, word),
                       !strcmp(word, "[unseen]") ? SIM_CALL_GAP
                       : word[0] == '['          ? SIM_CALL_WAIT
                                                 : SIM_CALL_METHOD);
}

uint32_t story(struct sim_tracks *t, uint32_t tid, const char *name, const char *text)
{
    unsigned long long time_ns;
    char word[32];
    uint32_t track = 0;
    int used, count = 0;
    for (; sscanf(text, "%llu %31s%n", &time_ns, word, &used) == 2; text += used, count++) {
        if (!count)
            track = sim_track_add(t, tid, 1, name, !strcmp(name, "main"), time_ns);
        add_event(t, track, time_ns, word);
    }
    assert(count && !text[strspn(text, " ")] && "a story is pairs of time and word");
    return track;
}
