/* A library that plugin_host opens by a relative path. */
#include "tests/programs/src/work.h"

static DEFINE_WORK(shade_pixels, 0xbf58476d1ce4e5b9u) static DEFINE_WORK(blur_edges, 0x94d049bb133111ebu)

    uint64_t render_picture(uint64_t seed);

uint64_t render_picture(uint64_t seed)
{
    return shade_pixels(30000, seed) + blur_edges(10000, seed);
}
