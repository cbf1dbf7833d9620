#include "tests/contract_mach/rules.h"
#include "tests/contract_mach/crew.h"

static const struct mach_rule *const files[] = {rules_of_suspending, rules_of_looking, rules_of_memory, rules_of_ports};
enum { FILES = sizeof files / sizeof files[0] };

const struct mach_rule *mach_rules_at(unsigned index)
{
    for (unsigned f = 0; f < FILES; f++)
        for (const struct mach_rule *r = files[f]; r->name; r++)
            if (index-- == 0)
                return r;
    return NULL;
}

const char *mach_rules_check(const struct mach_rule *rule, const struct mach_rules_env *env)
{
    crew_env = env;
    const char *wrong = rule->check();
    crew_end();
    return wrong;
}

static void print_line(const struct mach_rules_env *env, const char *verdict, const char *name, const char *why)
{
    env->print(verdict);
    env->print(name);
    if (why) {
        env->print(": ");
        env->print(why);
    }
    env->print("\n");
}

/* Returns the reason to skip the rule; NULL when the rule can be checked. */
static const char *why_not(const struct mach_rule *rule, const struct mach_rules_env *env)
{
    if (!(rule->kernels & (unsigned)env->kernel))
        return "this kernel has no such call";
    return rule->kernels & MACH_RULES_FRAMES && env->no_frames ? "registers don't fit the stack here" : NULL;
}

struct mach_rules_result mach_rules_run(const struct mach_rules_env *env)
{
    struct mach_rules_result result = {0, 0, 0};
    const struct mach_rule *rule;
    for (unsigned i = 0; (rule = mach_rules_at(i)) != NULL; i++) {
        const char *skipped = why_not(rule, env);
        if (skipped) {
            print_line(env, "SKIPPED ", rule->name, skipped);
            result.skipped++;
            continue;
        }
        const char *wrong = mach_rules_check(rule, env);
        print_line(env, wrong ? "FAIL " : "ok   ", rule->name, wrong);
        result.passed += !wrong;
        result.failed += wrong != NULL;
    }
    return result;
}
