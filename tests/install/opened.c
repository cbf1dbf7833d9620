/* A program that opens the library of capture by dlopen, so that its functions do not take the place of the C
 * library's: prints the result of a start.
 *
 *   opened LIBRARY SESSION */
#include <dlfcn.h>
#include <stdio.h>
#include <strobe/capture.h>

int main(int argc, char **argv)
{
    enum strobe_status (*start)(const struct strobe_capture_options *, struct strobe_error *);
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    struct strobe_error error = {""};
    if (!library) {
        puts(argc == 3 ? dlerror() : "expected LIBRARY SESSION");
        return 1;
    }
    *(void **)&start = dlsym(library, "strobe_start");
    const struct strobe_capture_options options = {.session_path = argv[2]};
    printf("%s: ", strobe_status_text(start(&options, &error)));
    puts(error.text);
    return 0;
}
