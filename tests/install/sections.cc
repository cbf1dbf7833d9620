// A C++ program of another project that records itself.
#include <cstdio>
#include <strobe/capture.h>

int main(int argc, char **argv)
{
    strobe_capture_options options = {};
    strobe_error error;
    options.session_path = argc > 1 ? argv[1] : "";
    options.paused = 1;
    if (strobe_start(&options, &error) != STROBE_OK || strobe_resume() != STROBE_OK) {
        std::puts(error.text);
        return 1;
    }
    strobe_begin("from C++");
    strobe_end();
    return strobe_stop();
}
