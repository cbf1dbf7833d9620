/* Starts of a capture in which one call of the C library fails: the n-th of each kind, for every n until a start meets
 * no fault. The start fails with one line and leaves the process as it was, or it begins a capture that ends in
 * order. */
#include "engine/base/error.h"
#include "tests/contract_art/support/capture.h"
#include "tests/faults/faulty.h"

#include <string.h>
#include <unistd.h>

enum { PLACES_MAX = 20000 };

/* Returns the number of the next place to try: all of the first ones, then ever fewer. A start makes several hundred
 * calls of some kinds, most of them in loops. */
static uint64_t next_place(uint64_t n)
{
    return n + 1 + n / 16;
}

static void check_refused(struct contract *c, const char *kind, uint64_t n, const char *met, enum strobe_status status,
                          const struct strobe_error *error, uint64_t code)
{
    CHECK(c, met != NULL, "%s %llu: without a fault: %s: %s", kind, (unsigned long long)n, strobe_status_text(status),
          error->text);
    CHECK(c, error->text[0] && !strchr(error->text, '\n'), "%s %llu (%s): one line: %s", kind, (unsigned long long)n,
          met ? met : "none", error->text);
    CHECK(c, capture_code_sum(c) == code, "%s %llu (%s): the runtime's code is as it was", kind, (unsigned long long)n,
          met ? met : "none");
}

/* Returns false when the start has met no fault. */
static bool start_with_fault(struct contract *c, const struct strobe_config *config, const char *kind, uint64_t n)
{
    struct capture k = {.contract = c};
    struct strobe_error error = {""};
    uint64_t code = capture_code_sum(c);
    temporary_path(k.path, "contract_art.%d.faults", (int)getpid());
    if (!CHECK(c, strobe_session_create(k.path, config, NULL, 1, &k.session) == STROBE_OK, "%s", k.path))
        return false;
    strobe_session_unmap(&k.session);
    struct strobe_art_options o = {.session_path = k.path, .library = c->art.library_name, .api = c->art.api};
    fault_arm(kind, n);
    enum strobe_status status = strobe_art_start(c->art.vm, &o, &k.status, &error);
    const char *met = fault_disarm();
    if (status == STROBE_OK) {
        capture_call(c, "alloc", "(I)V", 10);
        capture_end(&k);
        capture_drop(&k);
    } else {
        check_refused(c, kind, n, met, status, &error, code);
        unlink(k.path);
    }
    return met != NULL;
}

static void a_start_that_meets_a_fault_reports_it_or_begins_a_capture(struct contract *c)
{
    struct strobe_config config;
    capture_config(&config);
    config.async_interval_ns = 1000000;
    for (uint32_t i = 0; fault_kinds[i] && !c->failures; i++)
        for (uint64_t n = 1; n < PLACES_MAX && !c->failures && start_with_fault(c, &config, fault_kinds[i], n);
             n = next_place(n)) {}
}

const struct contract_case contract_cases_faults[] = {
    {"a_start_that_meets_a_fault_reports_it_or_begins_a_capture",
     a_start_that_meets_a_fault_reports_it_or_begins_a_capture, CONTRACT_FAKE | CONTRACT_QUICK | CONTRACT_HEAVY},
    {0},
};
