#include "tests/deadlock/window.h"

int main(int argc, char **argv)
{
    return deadlock_main(argc, argv);
}
