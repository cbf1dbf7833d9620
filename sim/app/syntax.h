/* The operations of the scenario language as one table, which both parser and printer use. */
#ifndef STROBE_SIM_APP_SYNTAX_H
#define STROBE_SIM_APP_SYNTAX_H

#include "sim/app/scenario.h"

/* The content of a step of a statement, and its place in struct sim_op. */
enum sim_arg {
    SIM_ARG_NONE,
    SIM_ARG_TIME,    /* amount */
    SIM_ARG_TIMEOUT, /* amount, never 0 */
    SIM_ARG_TIMES,   /* amount: how often */
    SIM_ARG_DEPTH,   /* amount: calls deep */
    SIM_ARG_AMOUNT,  /* amount: bytes */
    SIM_ARG_SIZE,    /* size: bytes */
    SIM_ARG_METHOD,  /* object */
    SIM_ARG_NATIVE,  /* object: a native method */
    SIM_ARG_POSTED,  /* method: a method */
    SIM_ARG_MUTEX,
    SIM_ARG_MONITOR,
    SIM_ARG_RWLOCK,
    SIM_ARG_COND,
    SIM_ARG_SEM,
    SIM_ARG_QUEUE,
    SIM_ARG_THREAD,
    SIM_ARG_IMAGE, /* object: an image that is loaded later */
    SIM_ARG_ANY_IMAGE,
    SIM_ARG_HELD,     /* other: a mutex or monitor whose block encloses the operation */
    SIM_ARG_PRIORITY, /* priority */
    SIM_ARG_BLOCK,    /* block */
    SIM_ARG_ELSE,     /* other_block */
    SIM_ARG_ARMS,     /* first, count */
    SIM_ARG_FAULT,    /* object: a fault declared in the operation itself */
};

struct sim_step {
    enum sim_arg arg;
    const char *word; /* word before it; NULL: none */
    bool optional;    /* left out together with its word */
};

enum { SIM_STEPS_MAX = 4 };

struct sim_syntax {
    const char *word;
    struct sim_step steps[SIM_STEPS_MAX]; /* the entries after the last step are SIM_ARG_NONE */
    bool is_last;                         /* nothing of its block can run after it */
};

extern const struct sim_syntax sim_syntax[SIM_OP_KINDS];

/* Units, smallest first, with their value in ns or bytes. A NULL name ends the list. */
struct sim_unit {
    const char *name;
    uint64_t factor;
};
extern const struct sim_unit sim_time_units[], sim_size_units[];

/* The settings of `config`. Their members have 4 or 8 bytes. */
enum sim_setting_kind { SIM_SETTING_TIME, SIM_SETTING_COUNT, SIM_SETTING_METRICS, SIM_SETTING_KEEP };
struct sim_setting {
    const char *name;
    enum sim_setting_kind kind;
    size_t offset, bytes;
    uint64_t low, high;
};
extern const struct sim_setting sim_settings[]; /* a NULL name ends the list */
uint64_t sim_setting_get(const struct sim_setting *setting, const struct strobe_config *config);
void sim_setting_put(const struct sim_setting *setting, struct strobe_config *config, uint64_t value);

/* Names of the bits STROBE_METRIC_*, lowest first, and of enum strobe_ring_mode. */
enum { SIM_METRIC_NAMES = 4, SIM_KEEP_NAMES = 2 };
extern const char *const sim_metric_names[SIM_METRIC_NAMES], *const sim_keep_names[SIM_KEEP_NAMES];

/* Limits of the language. */
#define SIM_TIME_MAX_NS (1000 * UINT64_C(3600000000000))
#define SIM_BYTES_MAX   (UINT64_C(1) << 40)
enum {
    SIM_TIMES_MAX = 1000000,
    SIM_DEPTH_MAX = 10000,
    SIM_NESTING_MAX = 64,
    SIM_OPS_MAX = 1 << 20,
    SIM_IMAGES_MAX = 1000,
    SIM_DECLARED_MAX = 1 << 16, /* of each table */
    SIM_THREADS_MAX = 1 << 17,  /* started by the scenario, in total */
    SIM_ARMS_MAX = 1000,
    SIM_LIST_MAX = 256,
    SIM_NAME_MAX = 255,
    SIM_FRAME_MAX = 1 << 16,
    SIM_FRAME_DEFAULT = 48,
    SIM_CORES_MAX = 64,
    SIM_BUSY_MAX = 256,
    SIM_CORES_DEFAULT = 4,
    SIM_PRIORITY_MAX = 1000,
    SIM_SOURCE_BYTES_MAX = 4 << 20,
    SIM_INCLUDE_DEPTH_MAX = 16,
    SIM_INCLUDES_MAX = 256,
};
#define SIM_SIGMA_MAX    4.0
#define SIM_VSYNC_MIN_NS 100000

#endif
