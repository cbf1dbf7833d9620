/* Calls each hooked function of the C library, without a capture and then in a capture of this process. A capture
 * changes no result and no errno, and counts each call once.
 *
 *   hooks SESSION FOLDER     prints each difference, then a line `KIND COUNT` for each kind of call in the capture.
 *                            Exit status 1 when there was a difference */
#include "tests/support/hooked_calls.h"

#include <strobe/capture.h>

int main(int argc, char **argv)
{
    struct strobe_error error = {""};
    struct strobe_capture_options options = {.session_path = argc == 3 ? argv[1] : NULL};
    if (argc != 3) {
        puts("expected SESSION FOLDER");
        return 1;
    }
    use_all(argv[2]);
    compares = 1;
    if (strobe_start(&options, &error) != STROBE_OK) {
        puts(error.text);
        return 1;
    }
    use_all(argv[2]);
    strobe_stop();
    for (int i = 0; i < KINDS; i++)
        printf("%s %d\n", kind_names[i], count_of[i]);
    return differences != 0;
}
