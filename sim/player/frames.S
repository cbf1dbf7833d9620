/* The functions of frames.h: SIM_REAL_METHODS functions of SIM_REAL_FRAME_BYTES each.
 *
 *     frame(player, bytes):
 *         make a frame record, store player beside it, allocate bytes of stack
 *         while ((call, more) = sim_real_step(player)), call != NULL
 *             call(player, more)
 *
 * With SIM_APP_LIBRARY the same functions are those of libapp.so. Its frames call sim_app_step, and each function has a
 * second entry, for a call from managed code: frame(env, class, player). The functions begin SIM_APP_ENTRY_BYTES later:
 *
 *     0   the entry from managed code: player is the third argument, bytes is 0
 *     8   the function
 *
 * On other machines than x86-64 and aarch64 only the symbol of the first function exists.
 */
    .text
    .p2align 6
#ifdef SIM_APP_LIBRARY
#define STEP sim_app_step
    .globl sim_app_frames
    .type sim_app_frames, %object
sim_app_frames:
#else
#define STEP sim_real_step
    .globl sim_real_frames
sim_real_frames:
#endif

#if defined(__x86_64__) || defined(__aarch64__)

#if defined(__x86_64__)
#define TYPE @function
#else
#define TYPE %function
#endif

    .altmacro
.macro frame number
    .p2align 6
    .type sim_real_frame_\number, TYPE
sim_real_frame_\number:
    .cfi_startproc
#if defined(SIM_APP_LIBRARY) && defined(__x86_64__)
    movq %rdx, %rdi
    xorl %esi, %esi
    nopl (%rax)
#elif defined(SIM_APP_LIBRARY)
    mov x0, x2
    mov x1, #0
#endif
#if defined(__x86_64__)
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $16, %rsp
    movq %rdi, -8(%rbp)
    subq %rsi, %rsp
1:  movq -8(%rbp), %rdi
    call STEP@PLT
    testq %rax, %rax
    jz 2f
    movq -8(%rbp), %rdi
    movq %rdx, %rsi
    call *%rax
    jmp 1b
2:  leave
    .cfi_def_cfa %rsp, 8
    ret
#else
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    .cfi_def_cfa_register x29
    str x0, [x29, #16]
    sub sp, sp, x1
1:  ldr x0, [x29, #16]
    bl STEP
    cbz x0, 2f
    mov x9, x0
    ldr x0, [x29, #16]
    blr x9
    b 1b
2:  mov sp, x29
    ldp x29, x30, [sp], #32
    .cfi_def_cfa sp, 0
    ret
#endif
    .cfi_endproc
    .size sim_real_frame_\number, . - sim_real_frame_\number
.endm

    .set next, 0
    .rept 1024
    frame %next
    .set next, next + 1
    .endr

#endif
    .section .note.GNU-stack,"",%progbits
