/* Hooks that must not add a C frame between the app and the function: they end with a jump to it.
 *
 *   dlopen, android_dlopen_ext   read their return address to find the caller, whose linker namespace applies
 *   syscall                      the call may return twice (clone, vfork). Only futex calls have a hook, by C code
 *
 * strobe_art_jump has the functions' addresses, in this order. */
#if defined(__x86_64__)

        .text
        .macro  load_hook name, offset
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        endbr64
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        call    strobe_art_load_begins
        popq    %rdx
        popq    %rsi
        popq    %rdi
        jmp     *strobe_art_jump+\offset(%rip)
        .size   \name, . - \name
        .endm

        load_hook strobe_art_dlopen, 0
        load_hook strobe_art_dlopen_ext, 8

        .globl  strobe_art_syscall
        .hidden strobe_art_syscall
        .type   strobe_art_syscall, @function
strobe_art_syscall:
        endbr64
        cmpq    $202, %rdi              /* SYS_futex */
        je      strobe_art_futex
        jmp     *strobe_art_jump+16(%rip)
        .size   strobe_art_syscall, . - strobe_art_syscall

#elif defined(__aarch64__)

        .text
        .macro  load_hook name, offset
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        hint    #34                     /* bti c */
        stp     x29, x30, [sp, #-48]!
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        str     x2, [sp, #32]
        bl      strobe_art_load_begins
        ldr     x2, [sp, #32]
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #48
        adrp    x16, strobe_art_jump
        add     x16, x16, #:lo12:strobe_art_jump
        ldr     x16, [x16, #\offset]
        br      x16
        .size   \name, . - \name
        .endm

        load_hook strobe_art_dlopen, 0
        load_hook strobe_art_dlopen_ext, 8

        .globl  strobe_art_syscall
        .hidden strobe_art_syscall
        .type   strobe_art_syscall, %function
strobe_art_syscall:
        hint    #34
        cmp     x0, #98                 /* SYS_futex */
        b.eq    1f
        adrp    x16, strobe_art_jump
        add     x16, x16, #:lo12:strobe_art_jump
        ldr     x16, [x16, #16]
        br      x16
1:      b       strobe_art_futex
        .size   strobe_art_syscall, . - strobe_art_syscall

#elif defined(__arm__)

        .syntax unified
        .arm
        .text
        .macro  load_hook name, offset
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .fnstart
        .save   {r0, r1, r2, lr}
        push    {r0, r1, r2, lr}
        bl      strobe_art_load_begins
        pop     {r0, r1, r2, lr}
        ldr     ip, 1f
2:      add     ip, pc, ip
        ldr     ip, [ip, #\offset]
        bx      ip
1:      .word   strobe_art_jump - (2b + 8)
        .fnend
        .size   \name, . - \name
        .endm

        load_hook strobe_art_dlopen, 0
        load_hook strobe_art_dlopen_ext, 4

        .globl  strobe_art_syscall
        .hidden strobe_art_syscall
        .type   strobe_art_syscall, %function
strobe_art_syscall:
        .fnstart
        cmp     r0, #240                /* SYS_futex */
        beq     strobe_art_futex
        ldr     ip, 1f
2:      add     ip, pc, ip
        ldr     ip, [ip, #8]
        bx      ip
1:      .word   strobe_art_jump - (2b + 8)
        .fnend
        .size   strobe_art_syscall, . - strobe_art_syscall

#else
#error "hooks that jump are written for x86-64 and ARM only"
#endif

        .section .note.GNU-stack, "", %progbits
