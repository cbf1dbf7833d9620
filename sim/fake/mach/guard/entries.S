/* Entry points of the functions that a thread must not call while it holds another thread suspended. They come before
 * the real functions, and continue there when the guard allows the call (guard.c). They do not know the signatures, so
 * they preserve all registers that can hold arguments.
 *
 * Defines guard_names, with guard_count names, and an entry point for each name, in this order.
 *
 * In virtual time (sim/player/virtual/mach/guard.c) the entry points are named guarded_NAME, and the guarded code calls
 * these. NAME is the function that implements the call there (sim/player/virtual/posix.h). guard_targets has its
 * address, or 0. */

        .set    index, 0

#if defined(__x86_64__)
        .macro  enter_common
        movl    $index, %r11d
        jmp     guard_entry
        .endm
#elif defined(__aarch64__)
        .macro  enter_common
        mov     w16, #index
        b       guard_entry
        .endm
#endif

#if defined(SIM_VIRTUAL)
        .macro  target name
        .weak   \name
        .pushsection .data.rel.ro.targets, "aw"
        .quad   \name
        .popsection
        .endm
#define ENTRY(name) guarded_##name
#else
        .macro  target name
        .endm
#define ENTRY(name) name
#endif

        .macro  forbid entry, name, text
        .globl  \entry
        .type   \entry, %function
        .p2align 4
\entry:
        .cfi_startproc
        enter_common
        .cfi_endproc
        .size   \entry, . - \entry
        .pushsection .rodata
7:      .asciz  "\text"
        .popsection
        .pushsection .data.rel.ro.guard, "aw"
        .quad   7b
        .popsection
        target  \name
        .set    index, index + 1
        .endm

#if defined(SIM_VIRTUAL)
        .pushsection .data.rel.ro.targets, "aw"
        .p2align 3
        .globl  guard_targets
guard_targets:
        .popsection
#endif
        .pushsection .data.rel.ro.guard, "aw"
        .p2align 3
        .globl  guard_names
        .hidden guard_names
guard_names:
        .popsection

        .text
        .type   guard_entry, %function
        .p2align 4
guard_entry:
        .cfi_startproc
#if defined(__x86_64__)
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $192, %rsp
        movq    %rdi, 0(%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %rax, 48(%rsp)
        movq    %r10, 56(%rsp)
        movups  %xmm0, 64(%rsp)
        movups  %xmm1, 80(%rsp)
        movups  %xmm2, 96(%rsp)
        movups  %xmm3, 112(%rsp)
        movups  %xmm4, 128(%rsp)
        movups  %xmm5, 144(%rsp)
        movups  %xmm6, 160(%rsp)
        movups  %xmm7, 176(%rsp)
        movl    %r11d, %edi
        call    guard_pass
        movq    %rax, %r11
        movq    0(%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        movq    56(%rsp), %r10
        movups  64(%rsp), %xmm0
        movups  80(%rsp), %xmm1
        movups  96(%rsp), %xmm2
        movups  112(%rsp), %xmm3
        movups  128(%rsp), %xmm4
        movups  144(%rsp), %xmm5
        movups  160(%rsp), %xmm6
        movups  176(%rsp), %xmm7
        leave
        .cfi_def_cfa %rsp, 8
        jmp     *%r11
#elif defined(__aarch64__)
        stp     x29, x30, [sp, #-224]!
        .cfi_def_cfa_offset 224
        .cfi_offset x29, -224
        .cfi_offset x30, -216
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        stp     q0, q1, [sp, #96]
        stp     q2, q3, [sp, #128]
        stp     q4, q5, [sp, #160]
        stp     q6, q7, [sp, #192]
        mov     w0, w16
        bl      guard_pass
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        ldp     q0, q1, [sp, #96]
        ldp     q2, q3, [sp, #128]
        ldp     q4, q5, [sp, #160]
        ldp     q6, q7, [sp, #192]
        ldp     x29, x30, [sp], #224
        .cfi_def_cfa_offset 0
        br      x16
#endif
        .cfi_endproc
        .size   guard_entry, . - guard_entry

#define FORBID(name) FORBIDDEN(name, #name)
#define FORBIDDEN(name, text) forbid ENTRY(name), name, text
#include "sim/fake/mach/guard/forbidden.inc"

        .pushsection .rodata
        .p2align 2
        .globl  guard_count
        .hidden guard_count
guard_count:
        .long   index
        .popsection

        .section .note.GNU-stack, "", %progbits
