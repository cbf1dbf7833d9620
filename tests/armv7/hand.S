/* Functions as they are written by hand, with their unwind directives. Built as ARM code and as Thumb code. */
    .syntax unified
    .arch armv7-a
    .fpu neon
    .text

    .macro begins name
    .globl \name
    .type \name, %function
#ifdef __thumb__
    .thumb_func
#endif
    .p2align 2
\name:
    .fnstart
    .endm

    .macro ends name
    .fnend
    .size \name, . - \name
    .endm

#ifdef __thumb__
    .thumb
#else
    .arm
#endif

    begins set_finish
    udf #7
    ends set_finish

/* Nothing but work. */
    begins set_leaf
    adds r0, r0, r0
    adc r1, r1, r1
    eor r0, r0, r1
    bx lr
    ends set_leaf

/* Keeps registers on the stack, the link register among them, and computes in it. */
    begins set_leaf_saves
    .save {r4, lr}
    push {r4, lr}
    .pad #24
    sub sp, sp, #24
    mov lr, #5
    mul r4, r0, lr
    add lr, r4, r0
    str lr, [sp, #8]
    add r0, lr, #1
    add sp, sp, #24
    pop {r4, pc}
    ends set_leaf_saves

/* Its record lies between other registers, and doubles are above and below. */
    begins set_record_in_the_middle
    .save {r4, r5, r7, lr}
    push {r4, r5, r7, lr}
    .setfp r7, sp, #8
    add r7, sp, #8
    .save {r11}
    str r11, [sp, #-4]!
    .vsave {d8, d9}
    vpush {d8, d9}
    .pad #4100
    sub sp, sp, #4096
    sub sp, sp, #4
    mov r4, r0
    mov r5, r1
    bl set_leaf
    adds r0, r0, r4
    adc r1, r1, r5
    add sp, sp, #4096
    add sp, sp, #4
    vpop {d8, d9}
    ldr r11, [sp], #4
    pop {r4, r5, r7, pc}
    ends set_record_in_the_middle

/* As linkage stubs do. */
    begins set_jumps_through_stub
    adds r0, r0, #1
    b set_leaf
    ends set_jumps_through_stub

/* Saves only the link register. */
    begins set_lends_link
    .save {lr}
    str lr, [sp, #-4]!
    .pad #4
    sub sp, sp, #4
    bl set_leaf
    add sp, sp, #4
    ldr pc, [sp], #4
    ends set_lends_link

/* The run-time function for divisions: quotient in r0 and r1, remainder in r2 and r3. */
    begins __aeabi_uldivmod
    .save {r4, lr}
    push {r4, lr}
    .pad #16
    sub sp, sp, #16
    add r4, sp, #8
    str r4, [sp]
    bl set_divide
    ldrd r2, r3, [sp, #8]
    add sp, sp, #16
    pop {r4, pc}
    ends __aeabi_uldivmod

    .macro absent name
    .globl \name
\name:
    .endm
    absent __aeabi_unwind_cpp_pr0
    absent __aeabi_unwind_cpp_pr1
    absent __aeabi_unwind_cpp_pr2
    udf #8

    .section .note.GNU-stack, "", %progbits
