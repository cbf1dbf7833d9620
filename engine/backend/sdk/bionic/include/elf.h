/* What the capture half uses of Android's <elf.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_ELF_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_ELF_H

#include <linux/elf.h>

#define DT_GNU_HASH   0x6ffffef5
#define SHT_GNU_HASH  0x6ffffff6
#define DT_RELR       36
#define DT_RELRSZ     35
#define DT_RELRENT    37
#define PT_GNU_RELRO  0x6474e552
#define SHN_UNDEF     0
#define STT_FUNC      2
#define STT_OBJECT    1
#define STT_TLS       6
#define STT_GNU_IFUNC 10
#define STB_GLOBAL    1
#define STB_WEAK      2
#define EV_CURRENT    1
#define ELFOSABI_NONE 0
#ifndef NT_GNU_BUILD_ID
#define NT_GNU_BUILD_ID 3
#endif
#define ELF32_R_SYM(x)      ((x) >> 8)
#define ELF32_R_TYPE(x)     ((x)&0xff)
#define ELF64_R_SYM(x)      ((x) >> 32)
#define ELF64_R_TYPE(x)     ((x)&0xffffffff)
#define ELF32_ST_TYPE(x)    ((x)&0xf)
#define ELF64_ST_TYPE(x)    ((x)&0xf)
#define ELF32_ST_BIND(x)    ((x) >> 4)
#define ELF64_ST_BIND(x)    ((x) >> 4)
#define R_X86_64_64         1
#define R_X86_64_GLOB_DAT   6
#define R_X86_64_JUMP_SLOT  7
#define R_386_32            1
#define R_386_GLOB_DAT      6
#define R_386_JMP_SLOT      7
#define R_ARM_ABS32         2
#define R_ARM_GLOB_DAT      21
#define R_ARM_JUMP_SLOT     22
#define R_AARCH64_ABS64     257
#define R_AARCH64_GLOB_DAT  1025
#define R_AARCH64_JUMP_SLOT 1026

#endif
