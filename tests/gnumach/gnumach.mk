# The rules of Mach and the Mach backend's own sources, as the first task of a real kernel: GNU Mach, i386. Included by
# the Makefile; lane.sh fetches what this is built with and boots it.

gnumach         := $B-gnumach
gnumach_root    := $(gnumach)/root
gnumach_headers := $(gnumach_root)/usr/include/i386-linux-gnu
gnumach_own     := $(wildcard tests/gnumach/*.c)
gnumach_src     := $(gnumach_own) tests/gnumach/boot.S tests/contract_mach/crew.c \
                   $(wildcard tests/contract_mach/rules*.c)
gnumach_engine  := $(addprefix engine/backend/mach/,threads.c host_mach.c unwind_mach.c) \
                   $(addprefix engine/capture/,walk_fp.c leaf.c frame_state.c)
gnumach_calls   := mach mach_port mach_host
gnumach_obj     := $(patsubst %,$(gnumach)/%.o,$(basename $(gnumach_src) $(gnumach_engine))) \
                   $(gnumach_calls:%=$(gnumach)/mig/%.o)
sources         += $(gnumach_src)

# Registers and stacks are as the engine wants them on every machine: frame pointers, also in leaves. Nothing of a C
# library; vector registers would be one more thing to set up.
gnumach_cc := clang --target=i686-linux-gnu -march=i686 -std=c11 -O2 -g -ffreestanding -fno-pic -fno-stack-protector \
              -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -ffunction-sections \
              -nostdlibinc -I. -Itests/gnumach/include -I$(gnumach) -isystem $(gnumach_headers) -MMD -MP
gnumach_warn := -Wall -Wextra -Werror -Wvla -Wshadow -Wstrict-prototypes -Wmissing-prototypes

$(gnumach)/task: $(gnumach_obj)
	$(call run,ld)clang --target=i686-linux-gnu -nostdlib -static -fuse-ld=lld \
	    -Wl,--image-base=0x10000,--build-id=none,--gc-sections -o $@ $^

$(gnumach)/%.o: %.c $(gnumach_calls:%=$(gnumach)/mig/%.c)
	@mkdir -p $(@D)
	$(call run,cc)$(gnumach_cc) $(gnumach_warn) -c -o $@ $<

$(gnumach)/%.o: %.S
	@mkdir -p $(@D)
	$(call run,cc)clang --target=i686-linux-gnu -c -o $@ $<

# The calls' stubs, by Debian's interface generator, which is an i386 program. What it writes has warnings.
$(gnumach)/mig/%.c: $(gnumach_headers)/mach/%.defs
	@mkdir -p $(@D)
	$(call run,mig)clang --target=i686-linux-gnu -E -x c -undef -ansi -I$(gnumach_headers) $< | \
	    qemu-i386-static -L $(gnumach_root) $(gnumach_root)/usr/lib/mig/i686-gnu-migcom \
	    -header $(@:%.c=%.h) -user $@ -server /dev/null

$(gnumach)/mig/%.o: $(gnumach)/mig/%.c
	$(call run,cc)$(gnumach_cc) -w -c -o $@ $<

-include $(gnumach_obj:%.o=%.d)
