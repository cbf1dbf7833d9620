/* Calls each hooked function of the C library, round after round, until its input ends. The first round comes before
 * the line `ready`. The last line is `sound`, or the number of calls that had another result or errno in a later round.
 *
 *   hooks FOLDER */
#include "tests/support/hooked_calls.h"

/* Without a hooked function: the wait is no call of a round. */
static int input_ended(void)
{
    struct pollfd input = {.fd = STDIN_FILENO};
    return syscall(SYS_ppoll, &input, 1, &none, NULL, 0) == 1 && input.revents & POLLHUP;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        puts("expected FOLDER");
        return 1;
    }
    use_all(argv[1]);
    compares = 1;
    puts("ready");
    fflush(stdout);
    while (!input_ended())
        use_all(argv[1]);
    printf(differences ? "%d differences\n" : "sound\n", differences);
    return differences != 0;
}
