// A program in C++ of another project: prints the threads of a session, one a line.
#include <iostream>
#include <memory>
#include <strobe/session.h>
#include <strobe/trace.h>

int main(int argc, char **argv)
{
    strobe_view *view;
    strobe_error error;
    if (argc != 2 || strobe_view_open(argv[1], 0, &view, &error) != STROBE_OK)
        return 1;
    std::unique_ptr<strobe_view, void (*)(strobe_view *)> owner(view, strobe_view_close);
    const strobe_view_info *info = strobe_view_get_info(view);
    for (uint32_t i = 0; i < info->threads; i++) {
        const strobe_view_thread *t = strobe_view_get_thread(view, i);
        bool in_order = info->begin_ns <= t->begin_ns && t->begin_ns <= t->end_ns && t->end_ns <= info->end_ns;
        std::cout << t->name << (t->is_main ? " main" : "") << (in_order ? "" : " OUT OF ORDER") << "\n";
    }
}
