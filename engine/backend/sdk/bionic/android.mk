# Builds the capture half as a library for Android, with clang and lld. It uses the declarations of engine/backend/sdk
# and needs no NDK. Included by the Makefile.

android_abis   := arm64 armv7 x86_64
android_arm64  := aarch64-linux-android24
android_armv7  := armv7a-linux-androideabi24
android_x86_64 := x86_64-linux-android24
kernel_arm64   := /usr/aarch64-linux-gnu/include
kernel_armv7   := /usr/arm-linux-gnueabihf/include
kernel_x86_64  := /usr/include
kernel_asm_x86_64 := /usr/include/x86_64-linux-gnu

bionic       := engine/backend/sdk/bionic
emutls       := engine/backend/common/emutls.c
# Sources that only other systems need: clocks of perf events, which apps may not open, and uname.
not_android  := $(patsubst %,engine/backend/%.c,linux/cpu_clock linux/task_clock common/embed/flight_kernel)
# The reader of .eh_frame, which 32-bit ARM does not have: it has .ARM.exidx.
not_armv7    := $(patsubst %,engine/backend/linux/%.c,eh_entry eh_frame)
android_src  := $(filter-out $(not_android),$(capture_src) $(art_src)) $(wildcard $(bionic)/*.[cS]) $(emutls)
# Clang gives code for 32-bit ARM no unwind tables by itself. Walks from hooks begin with the library's own frames.
android_more_armv7 := -funwind-tables
# The linker leaves out the functions that nothing calls (--gc-sections).
android_flags = --target=$(android_$1) -std=c11 -O2 -g -fPIC -fvisibility=hidden -fno-omit-frame-pointer \
                -ffunction-sections -Wall -Wextra -Werror -Wvla -Wshadow -nostdlibinc -I. -D_GNU_SOURCE \
                -DSTROBE_VERSION='"$(VERSION)"' -isystem $(bionic)/include -isystem $B/android/$1/kernel \
                $(android_more_$1) -MMD -MP
android_libs := $(android_abis:%=$B/android/%/libstrobe.so)
sources      += $(wildcard $(bionic)/*.[cS]) $(emutls)

android: $(android_libs) ## the capture half as a library for Android, for arm64, armv7 and x86_64

define android_rules
$B/android/$1/kernel: | deps-android
	@mkdir -p $$@
	@ln -sfn $(kernel_$1)/linux $$@/linux && ln -sfn $(kernel_$1)/asm-generic $$@/asm-generic
	@ln -sfn $(or $(kernel_asm_$1),$(kernel_$1))/asm $$@/asm

# An object is compiled again when the flags above change.
$B/android/$1/%.o: %.c $(bionic)/android.mk | $B/android/$1/kernel
	@mkdir -p $$(@D)
	$$(call run,cc)clang $$(call android_flags,$1) -c -o $$@ $$<

$B/android/$1/%.o: %.S $(bionic)/android.mk | $B/android/$1/kernel
	@mkdir -p $$(@D)
	$$(call run,cc)clang --target=$(android_$1) -c -o $$@ $$<

$B/android/$1/libc.syms: $(bionic)/libc.syms $(wildcard $(bionic)/libc-$1.syms) | $B/android/$1/kernel
	@cat $$^ >$$@

$B/android/$1/libc.so: $B/android/$1/libc.syms $(bionic)/stub
	$$(call run,ld)$(bionic)/stub $(android_$1) libc.so LIBC $$< $$@

$B/android/$1/libdl.so: $(bionic)/libdl.syms $(bionic)/stub | $B/android/$1/kernel
	$$(call run,ld)$(bionic)/stub $(android_$1) libdl.so LIBC $$< $$@

$B/android/$1/libstrobe.so: $(patsubst %,$B/android/$1/%.o,$(basename $(filter-out $(not_$1),$(android_src)))) \
                            $B/android/$1/libc.so $B/android/$1/libdl.so
	$$(call run,ld)clang --target=$(android_$1) -shared -nostdlib -fuse-ld=lld -Wl,-soname,libstrobe.so \
	    -Wl,-z,max-page-size=16384,-z,now,-z,relro,--hash-style=both,--build-id,--no-undefined \
	    -Wl,--gc-sections -o $$@ $$^
endef
$(foreach abi,$(android_abis),$(eval $(call android_rules,$(abi))))

# The library as a dependency of an app's build. Java 8: what the oldest supported build tools of Android read.
java_src := engine/backend/art/java/strobe/Strobe.java

aar: $B/strobe.aar ## the library for Android and its Java class as an Android library archive

$B/aar/classes/strobe/Strobe.class: $(java_src) | deps-aar
	@mkdir -p $B/aar/classes
	$(call run,javac)javac --release 8 -Xlint:all,-options -Werror -d $B/aar/classes $<

$B/aar/lib/%/libstrobe.so: $B/android/%/libstrobe.so
	@mkdir -p $(@D)
	$(call run,strip)llvm-strip --strip-unneeded -o $@ $<

$B/strobe.aar: $B/aar/classes/strobe/Strobe.class $(android_abis:%=$B/aar/lib/%/libstrobe.so) $(bionic)/aar
	$(call run,aar)$(bionic)/aar '$(VERSION)' $B/aar/classes $B/aar/lib $@

.PHONY: android aar
