#include "tests/contract_mach/rules.h"
#include "tests/gnumach/task.h"

#include <mig/mach_host.h>

/* ---- the environment of the rules ---- */

static mach_port_t gate; /* a message in it ends a wait */

static bool start(unsigned slot, void (*f)(void *), void *arg)
{
    return thread_start(slot, f, arg) != MACH_PORT_NULL;
}

static void wait_at_gate(void)
{
    gate_wait(gate);
}

static void open_the_gate(void)
{
    gate_open(gate);
}

static const struct mach_rules_env environment = {
    .kernel = MACH_RULES_GNU,
    .start = start,
    .join = thread_join,
    .pass = thread_pass,
    .wait = wait_at_gate,
    .wake = open_the_gate,
    .print = mach_print,
    .page_bytes = TASK_PAGE,
};

/* ---- the run ---- */

static void test(const struct task_test *t, struct mach_rules_result *result)
{
    const char *wrong = backend_check(t);
    mach_print(wrong ? "FAIL " : "ok   ");
    mach_print(t->name);
    if (wrong) {
        mach_print(": ");
        mach_print(wrong);
    }
    mach_print("\n");
    result->passed += !wrong;
    result->failed += wrong != NULL;
}

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

/* `words`: argc, then argv. The last argument is the host's port, by which the task measures time and ends the
 * machine. */
_Noreturn void task_begin(uint32_t *words);
_Noreturn void task_begin(uint32_t *words)
{
    mach_port_t host = port_of((const char *)words[words[0]]);
    mach_print("the task begins\n");
    clock_begin(host);
    struct mach_rules_result result = {0, 0, 0};
    if (mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &gate) == KERN_SUCCESS)
        result = mach_rules_run(&environment);
    for (const struct task_test *t = backend_tests; t->name; t++)
        test(t, &result);
    print_result(&result);
    for (;;)
        host_reboot(host, 0);
}
