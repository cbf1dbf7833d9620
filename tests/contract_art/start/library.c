#include "tests/contract_art/start/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct start_library start_library;

bool start_library_load(struct contract *c)
{
    struct start_library *l = &start_library;
    const struct {
        void *function;
        const char *name;
    } wanted[] = {
        {&l->on_load, "JNI_OnLoad"},
        {&l->start, "strobe_start"},
        {&l->stop, "strobe_stop"},
        {&l->pause, "strobe_pause"},
        {&l->resume, "strobe_resume"},
        {&l->get_status, "strobe_get_status"},
        {&l->begin, "strobe_begin"},
        {&l->end, "strobe_end"},
        {&l->counter, "strobe_counter"},
        {&l->dump, "strobe_dump"},
        {&l->get_flight_status, "strobe_get_flight_status"},
    };
    const char *build = getenv("B"), *path = getenv("STROBE_ANDROID_LIBRARY");
    char level[16], file[512];
    snprintf(file, sizeof file, "%s/libstrobe-art.so", build ? build : "build");
    snprintf(level, sizeof level, "%d", c->art.api);
    setenv("STROBE_ART_API", level, 1);
    void *opened = dlopen(path ? path : file, RTLD_NOW);
    if (!CHECK(c, opened, "%s", dlerror()))
        return false;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(opened, wanted[i].name);
        if (!CHECK(c, found, "no %s", wanted[i].name))
            return false;
        memcpy(wanted[i].function, &found, sizeof found);
    }
    return CHECK(c, l->on_load(c->art.vm, NULL) == STROBE_JNI_VERSION, "the version of JNI");
}
