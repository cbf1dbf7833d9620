# Tests the library for iOS on an emulated processor: the host program, a libSystem for the guest, and guest apps for
# the library to trace. Included by the Makefile.

emulate_host_src  := $(wildcard tests/emulate/host/*.c)
emulate_flags     := --target=arm64-apple-ios14.0 -std=c11 -O2 -fPIC -ffreestanding -fno-builtin \
                     -fno-omit-frame-pointer -fno-stack-protector -Wall -Wextra -Werror -Wvla -Wshadow -nostdlibinc \
                     -I. -isystem engine/backend/sdk/darwin/include -isystem engine/backend/sdk/mach/include \
                     -MMD -MP
emulate_link      := ld64.lld-14 -arch arm64 -platform_version ios 14.0 16.0 -dylib
emulate_guests    := $(addprefix $B/emulate/,libSystem.dylib rules.dylib bare.dylib app.dylib mutant.dylib \
                                   libstrobe.dylib)
emulate_obj        = $(patsubst %.c,$B/emulate/%.o,$1)
sources           += $(emulate_host_src) $(wildcard tests/emulate/guest/*.c)

emulators: $B/emulate/emulate $(emulate_guests)

$B/emulate/emulate: $(call obj,obj,$(emulate_host_src)) $(libs)
	@mkdir -p $(@D)
	$(call run,ld)$(link) -o $@ $^ -lunicorn $(trace_libs)

$B/emulate/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)clang $(emulate_flags) -c -o $@ $<

$B/emulate/libSystem.dylib: $(call emulate_obj,$(wildcard tests/emulate/guest/libsystem_*.c))
	$(call run,ld)$(emulate_link) -install_name /usr/lib/libSystem.B.dylib -o $@ $^

guest_rules := tests/emulate/guest/rules.c $(wildcard tests/contract_mach/rules*.c) tests/contract_mach/crew.c
$B/emulate/rules.dylib: $(call emulate_obj,$(guest_rules)) \
                        $B/emulate/libSystem.dylib
	$(call run,ld)$(emulate_link) -install_name @rpath/rules.dylib -o $@ $^

$B/emulate/bare.dylib: $(call emulate_obj,tests/emulate/guest/bare.c tests/deadlock/plants.c) \
                       $B/emulate/libSystem.dylib
	$(call run,ld)$(emulate_link) -install_name @rpath/bare.dylib -o $@ $^

$B/emulate/app.dylib: $(call emulate_obj,tests/emulate/guest/app.c) $B/darwin/ios/libstrobe.dylib \
                      $B/emulate/libSystem.dylib
	$(call run,ld)$(emulate_link) -install_name @rpath/app.dylib -o $@ $^

$B/emulate/libstrobe.dylib: $B/darwin/ios/libstrobe.dylib
	@ln -sf ../darwin/ios/libstrobe.dylib $@

# The library with a forbidden call planted in its backend, before the call that reads a stopped thread's registers.
$B/emulate/mutant/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)clang $(call darwin_flags,ios) -Dthread_get_state=planted_get_state -c -o $@ $<

$B/emulate/mutant.dylib: $(patsubst %.c,$B/darwin/ios/%.o,$(filter-out $(mach_src),$(darwin_src))) \
                         $(patsubst %.c,$B/emulate/mutant/%.o,$(mach_src)) \
                         $(call emulate_obj,tests/deadlock/plants.c tests/emulate/guest/mutant.c) \
                         $B/emulate/libSystem.dylib
	$(call run,ld)$(emulate_link) -undefined dynamic_lookup -install_name @rpath/libstrobe.dylib -o $@ $^

.PHONY: emulators
