#include "tests/contract_mach/rules.h"
#include "tests/gnumach/task.h"

#include <mig/mach_host.h>
#include <mach/mig_support.h>

/* ---- what the rules ask for ---- */

static mach_port_t gate;   /* a message in it ends a wait */

static bool start(unsigned slot, void (*f)(void *), void *arg)
{
    return thread_start(slot, f, arg) != MACH_PORT_NULL;
}

static void wait_at_gate(void)
{
    mach_msg_header_t message;
    mach_msg(&message, MACH_RCV_MSG, 0, sizeof message, gate, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
}

static void open_gate(void)
{
    mach_msg_header_t message = {
        .msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MAKE_SEND, 0),
        .msgh_remote_port = gate,
    };
    mach_msg(&message, MACH_SEND_MSG, sizeof message, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
}

static const struct mach_rules_env environment = {
    .kernel = MACH_RULES_GNU,
    .start = start,
    .join = thread_join,
    .pass = thread_pass,
    .wait = wait_at_gate,
    .wake = open_gate,
    .print = mach_print,
    .page_bytes = TASK_PAGE,
};

/* ---- the run ---- */

static void print_result(const struct mach_rules_result *result)
{
    print_number(result->passed);
    mach_print(" passed, ");
    print_number(result->failed);
    mach_print(" failed, ");
    print_number(result->skipped);
    mach_print(" skipped\n");
}

static mach_port_t port_of(const char *digits)
{
    mach_port_t port = 0;
    while (*digits >= '0' && *digits <= '9')
        port = port * 10 + (mach_port_t)(*digits++ - '0');
    return port;
}

/* `words`: argc, then argv, of which the last is the host's port, by which time is told and the machine ended. */
_Noreturn void task_begin(uint32_t *words);
_Noreturn void task_begin(uint32_t *words)
{
    mach_port_t host = port_of((const char *)words[words[0]]);
    mach_print("the task begins\n");
    clock_begin(host);
    struct mach_rules_result result = {0, 0, 0};
    if (mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &gate) == KERN_SUCCESS)
        result = mach_rules_run(&environment);
    print_result(&result);
    for (;;)
        host_reboot(host, 0);
}
