#ifndef STROBE_BIONIC_SYS_PRCTL_H
#define STROBE_BIONIC_SYS_PRCTL_H

#include <linux/prctl.h>

int prctl(int option, ...);

#endif
