#include "sim/app/syntax.h"

#include <string.h>

#define ARG(kind)                                                                                                      \
    {                                                                                                                  \
        .arg = SIM_ARG_##kind                                                                                          \
    }
#define SAID(said, kind)                                                                                               \
    {                                                                                                                  \
        .arg = SIM_ARG_##kind, .word = said                                                                            \
    }
#define MAYBE(said, kind)                                                                                              \
    {                                                                                                                  \
        .arg = SIM_ARG_##kind, .word = said, .optional = true                                                          \
    }

const struct sim_syntax sim_syntax[SIM_OP_KINDS] = {
    [SIM_OP_COMPUTE] = {.word = "compute", .steps = {ARG(TIME)}},
    [SIM_OP_CALL] = {.word = "call", .steps = {ARG(METHOD)}},
    [SIM_OP_RECURSE] = {.word = "recurse", .steps = {ARG(METHOD), ARG(DEPTH)}},
    [SIM_OP_REPEAT] = {.word = "repeat", .steps = {ARG(TIMES), ARG(BLOCK)}},
    [SIM_OP_FOREVER] = {.word = "forever", .steps = {ARG(BLOCK)}, .is_last = true},
    [SIM_OP_CHOOSE] = {.word = "choose", .steps = {ARG(ARMS)}},
    [SIM_OP_ALLOC] = {.word = "alloc", .steps = {ARG(AMOUNT)}},
    [SIM_OP_FREE] = {.word = "free", .steps = {ARG(TIMES)}},
    [SIM_OP_LOCK] = {.word = "lock", .steps = {ARG(MUTEX), ARG(BLOCK)}},
    [SIM_OP_MONITOR] = {.word = "synchronized", .steps = {ARG(MONITOR), ARG(BLOCK)}},
    [SIM_OP_READ_LOCK] = {.word = "read_lock", .steps = {ARG(RWLOCK), ARG(BLOCK)}},
    [SIM_OP_WRITE_LOCK] = {.word = "write_lock", .steps = {ARG(RWLOCK), ARG(BLOCK)}},
    [SIM_OP_WAIT] = {.word = "wait", .steps = {ARG(COND), SAID("holding", HELD), MAYBE("timeout", TIMEOUT)}},
    [SIM_OP_NOTIFY] = {.word = "notify", .steps = {ARG(COND)}},
    [SIM_OP_NOTIFY_ALL] = {.word = "notify_all", .steps = {ARG(COND)}},
    [SIM_OP_SEM_WAIT] = {.word = "acquire", .steps = {ARG(SEM), MAYBE("timeout", TIMEOUT)}},
    [SIM_OP_SEM_POST] = {.word = "release", .steps = {ARG(SEM)}},
    [SIM_OP_PARK] = {.word = "park", .steps = {MAYBE("timeout", TIMEOUT)}},
    [SIM_OP_UNPARK] = {.word = "unpark", .steps = {ARG(THREAD)}},
    [SIM_OP_READ] = {.word = "read", .steps = {ARG(SIZE), SAID("takes", TIME)}},
    [SIM_OP_WRITE] = {.word = "write", .steps = {ARG(SIZE), SAID("takes", TIME)}},
    [SIM_OP_OPEN] = {.word = "open", .steps = {SAID("takes", TIME)}},
    [SIM_OP_SYNC] = {.word = "sync", .steps = {SAID("takes", TIME)}},
    [SIM_OP_NET] = {.word = "net", .steps = {ARG(SIZE), SAID("takes", TIME)}},
    [SIM_OP_IPC] = {.word = "ipc", .steps = {SAID("takes", TIME)}},
    [SIM_OP_SLEEP] = {.word = "sleep", .steps = {ARG(TIME)}},
    [SIM_OP_CLOCK] = {.word = "clock"},
    [SIM_OP_JNI] = {.word = "jni", .steps = {ARG(NATIVE)}},
    [SIM_OP_POST] = {.word = "post",
                     .steps = {ARG(POSTED), SAID("to", QUEUE), MAYBE("after", TIME), MAYBE("priority", PRIORITY)}},
    [SIM_OP_LOOP] = {.word = "loop", .steps = {ARG(QUEUE)}, .is_last = true},
    [SIM_OP_THROW] = {.word = "throw", .is_last = true},
    [SIM_OP_CATCH] = {.word = "try", .steps = {ARG(BLOCK), SAID("catch", ELSE)}},
    [SIM_OP_LOAD] = {.word = "load", .steps = {ARG(IMAGE), SAID("takes", TIME)}},
    [SIM_OP_GC] = {.word = "gc", .steps = {SAID("takes", TIME)}},
    [SIM_OP_SPAWN] = {.word = "spawn", .steps = {ARG(THREAD)}},
    [SIM_OP_JOIN] = {.word = "join", .steps = {ARG(THREAD)}},
    [SIM_OP_EXIT] = {.word = "exit", .is_last = true},
    [SIM_OP_SPIN] = {.word = "spin", .steps = {ARG(MUTEX), SAID("every", TIMEOUT), ARG(BLOCK)}},
    [SIM_OP_FAULT] = {.word = "fault", .steps = {ARG(FAULT)}},
};

static const char *const fault_words[SIM_FAULT_KINDS] = {
    [SIM_FAULT_SUSPEND_REFUSED] = "suspend_refused",
    [SIM_FAULT_SUSPEND_LATE] = "suspend_late",
    [SIM_FAULT_RESUME_LOST] = "resume_lost",
    [SIM_FAULT_EXIT_BEFORE_SUSPEND] = "exit_before_suspend",
    [SIM_FAULT_EXIT_IN_SUSPEND] = "exit_in_suspend",
    [SIM_FAULT_EXIT_BEFORE_READ] = "exit_before_read",
    [SIM_FAULT_UNREADABLE_STACK] = "unreadable_stack",
    [SIM_FAULT_CORRUPT_STACK] = "corrupt_stack",
    [SIM_FAULT_CLOCK_BACK] = "clock_back",
    [SIM_FAULT_CLOCK_FORWARD] = "clock_forward",
    [SIM_FAULT_SAMPLER_STALL] = "sampler_stall",
    [SIM_FAULT_SAMPLER_KILLED] = "sampler_killed",
    [SIM_FAULT_SIGNAL_STORM] = "signal_storm",
    [SIM_FAULT_HOOK_INSIDE] = "hook_inside",
    [SIM_FAULT_SHORT_WRITE] = "short_write",
    [SIM_FAULT_WRITE_INTERRUPTED] = "write_interrupted",
    [SIM_FAULT_NO_SPACE] = "no_space",
    [SIM_FAULT_UNWRITABLE] = "unwritable",
};

const char *sim_op_word(enum sim_op_kind kind)
{
    return sim_syntax[kind].word;
}

const char *sim_fault_word(enum sim_fault_kind kind)
{
    return fault_words[kind];
}

const struct sim_unit sim_time_units[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"min", 60000000000}, {"h", 3600000000000}, {NULL, 0},
};
const struct sim_unit sim_size_units[] = {{"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};

const char *const sim_metric_names[SIM_METRIC_NAMES] = {"cpu", "alloc", "faults", "switches"};
const char *const sim_keep_names[SIM_KEEP_NAMES] = {[STROBE_KEEP_NEWEST] = "newest", [STROBE_KEEP_OLDEST] = "oldest"};

#define PLACE(member) offsetof(struct strobe_config, member), sizeof((struct strobe_config *)0)->member
#define TIME(name)                                                                                                     \
    {                                                                                                                  \
#name, SIM_SETTING_TIME, PLACE(name##_ns), 0, SIM_TIME_MAX_NS                                                  \
    }
#define COUNT(name, low, high)                                                                                         \
    {                                                                                                                  \
#name, SIM_SETTING_COUNT, PLACE(name), low, high                                                               \
    }

const struct sim_setting sim_settings[] = {
    TIME(interval_main),
    TIME(interval_other),
    TIME(scope_min),
    TIME(merge_gap),
    TIME(metrics_interval),
    TIME(async_interval),
    TIME(refresh_main),
    TIME(refresh_other),
    TIME(active_cpu),
    TIME(suspend_timeout),
    TIME(delay),
    {"metrics", SIM_SETTING_METRICS, PLACE(metrics), 0, (1 << SIM_METRIC_NAMES) - 1},
    {"ring_mode", SIM_SETTING_KEEP, PLACE(ring_mode), STROBE_KEEP_NEWEST, STROBE_KEEP_OLDEST},
    COUNT(ring_slots, 1, 1 << 24),
    COUNT(ring_subs, 1, STROBE_RING_SUBS_MAX),
    COUNT(stack_nodes, 1, STROBE_STACK_NODES_MAX),
    COUNT(threads_max, 1, 1 << 17),
    COUNT(images_max, 1, 4096),
    COUNT(depth_max, 1, STROBE_STACK_DEPTH_MAX),
    COUNT(skip_max, 0, 255),
    {NULL, SIM_SETTING_TIME, 0, 0, 0, 0},
};

uint64_t sim_setting_get(const struct sim_setting *setting, const struct strobe_config *config)
{
    uint32_t narrow;
    uint64_t wide;
    if (setting->bytes == sizeof wide) {
        memcpy(&wide, (const char *)config + setting->offset, sizeof wide);
        return wide;
    }
    memcpy(&narrow, (const char *)config + setting->offset, sizeof narrow);
    return narrow;
}

void sim_setting_put(const struct sim_setting *setting, struct strobe_config *config, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    if (setting->bytes == sizeof value)
        memcpy((char *)config + setting->offset, &value, sizeof value);
    else
        memcpy((char *)config + setting->offset, &narrow, sizeof narrow);
}
