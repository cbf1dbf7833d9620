/* Declarations of Mach-O files of 64-bit machines, as far as the backend and the trace half use them, written from
 * Apple's public mach-o/loader.h. Little-endian. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_O_LOADER_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_O_LOADER_H

#include <stdint.h>

#define MH_MAGIC_64       0xfeedfacfu
#define FAT_MAGIC         0xcafebabeu /* big-endian, like all fields of a fat file's headers */
#define FAT_MAGIC_64      0xcafebabfu
#define CPU_TYPE_X86_64   0x01000007
#define CPU_TYPE_ARM64    0x0100000c
#define MH_EXECUTE        2
#define MH_DYLIB          6
#define MH_DSYM           10
#define MH_DYLIB_IN_CACHE 0x80000000u /* flags: the image is in the system's shared cache */

struct mach_header_64 {
    uint32_t magic;
    int32_t cputype, cpusubtype;
    uint32_t filetype, ncmds, sizeofcmds, flags, reserved;
};

struct load_command {
    uint32_t cmd, cmdsize;
};
#define LC_REQ_DYLD        0x80000000u
#define LC_SYMTAB          0x2u
#define LC_DYSYMTAB        0xbu
#define LC_ID_DYLIB        0xdu
#define LC_SEGMENT_64      0x19u
#define LC_UUID            0x1bu
#define LC_FUNCTION_STARTS 0x26u
#define LC_BUILD_VERSION   0x32u

struct segment_command_64 {
    uint32_t cmd, cmdsize;
    char segname[16];
    uint64_t vmaddr, vmsize, fileoff, filesize;
    int32_t maxprot, initprot;
    uint32_t nsects, flags;
};

#define SG_READ_ONLY 0x10u /* flags: the loader makes the segment read-only after binding */

struct section_64 {
    char sectname[16], segname[16];
    uint64_t addr, size;
    uint32_t offset, align, reloff, nreloc, flags, reserved1, reserved2, reserved3;
};
#define SECTION_TYPE               0xffu
#define S_NON_LAZY_SYMBOL_POINTERS 0x6u /* reserved1: index of its first entry in the indirect symbol table */
#define S_LAZY_SYMBOL_POINTERS     0x7u

union lc_str {
    uint32_t offset;
}; /* offset from the begin of the command; the text is zero-terminated */
struct dylib {
    union lc_str name;
    uint32_t timestamp, current_version, compatibility_version;
};
struct dylib_command {
    uint32_t cmd, cmdsize;
    struct dylib dylib;
};

struct symtab_command {
    uint32_t cmd, cmdsize, symoff, nsyms, stroff, strsize;
};

struct dysymtab_command {
    uint32_t cmd, cmdsize, ilocalsym, nlocalsym, iextdefsym, nextdefsym, iundefsym, nundefsym, tocoff, ntoc, modtaboff,
        nmodtab, extrefsymoff, nextrefsyms, indirectsymoff, nindirectsyms, extreloff, nextrel, locreloff, nlocrel;
};
#define INDIRECT_SYMBOL_LOCAL 0x80000000u
#define INDIRECT_SYMBOL_ABS   0x40000000u

struct uuid_command {
    uint32_t cmd, cmdsize;
    uint8_t uuid[16];
};
struct linkedit_data_command {
    uint32_t cmd, cmdsize, dataoff, datasize;
};

#endif
