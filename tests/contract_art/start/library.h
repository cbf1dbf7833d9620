/* The engine's library as an app loads it: it has an engine of its own, separate from this program's. */
#ifndef STROBE_CONTRACT_ART_START_LIBRARY_H
#define STROBE_CONTRACT_ART_START_LIBRARY_H

#include "engine/include/strobe/capture.h"
#include "tests/contract_art/support/contract.h"

/* The library's functions, after start_library_load. */
struct start_library {
    int32_t (*on_load)(void *, void *);
    enum strobe_status (*start)(const struct strobe_capture_options *, struct strobe_error *);
    enum strobe_status (*stop)(void);
    enum strobe_status (*pause)(void);
    enum strobe_status (*resume)(void);
    void (*begin)(const char *);
    void (*end)(void);
    void (*counter)(const char *, int64_t);
    void (*get_status)(struct strobe_capture_status *);
    enum strobe_status (*dump)(void);
    void (*get_flight_status)(struct strobe_flight_status *);
};
extern struct start_library start_library;

/* Loads the library. Fails the case and returns false when it cannot. */
bool start_library_load(struct contract *c);

#endif
