/* `strobe record`: runs a program with the engine inside, and makes a trace from its sessions. */
#include "engine/cmd/cmd.h"
#include "engine/cmd/record/record.h"

int strobe_cmd_record(int argc, char **argv)
{
    struct strobe_record_options o;
    int first, wait_status = 0;
    int status = strobe_record_parse(argc, argv, &o, &first);
    if (status || !first)
        return status;
    char program[PATH_MAX], session[PATH_MAX];
    if ((status = strobe_record_find_program(argv[first], program, sizeof program)) != 0)
        return status;
    static struct strobe_sched_recorder sched;
    o.sched = o.wants_sched ? &sched : NULL;
    if ((status = strobe_record_create(&o, argv + first, session)) != 0)
        return status;
    if ((status = strobe_record_run(&o, program, argv + first, session, &wait_status)) != 0) {
        strobe_sched_recorder_close(&sched);
        strobe_record_discard(&o, session);
        return status;
    }
    int converted = strobe_record_keep(&o, program, session, wait_status);
    strobe_sched_recorder_close(&sched);
    int ended = strobe_record_end_as(wait_status);
    return ended ? ended : converted;
}
