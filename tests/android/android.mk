# Tests the library for Android on this machine or an emulated one: shims for Android's C library, and the Android
# contract with the engine loaded from the library. Included by the Makefile.

android_shims := $B/android/shim/libc.so $B/android/shim/libdl.so
shim_own      := __errno sigaction sigfillset pthread_sigmask pthread_getattr_np pthread_attr_getstack \
                 pthread_attr_destroy pthread_create
sources       += tests/android/shim.c tests/android/through.c

android-contract: $(android_shims) $B/contract_art $B/contract_android $B/device/app_process64

$B/android/shim/libc.inc: $(bionic)/libc.syms
	@mkdir -p $(@D)
	@grep -vxE '$(subst $() ,|,$(strip $(shim_own)))' $< | sed 's/.*/PASS(&);/' >$@

$B/android/shim/libdl.inc: $(bionic)/libdl.syms
	@mkdir -p $(@D)
	@sed 's/.*/PASS(&);/' $< >$@

$B/android/shim/%.map:
	@mkdir -p $(@D)
	@echo 'LIBC { global: *; };' >$@

$B/android/shim/libc.so: tests/android/shim.c $B/android/shim/libc.inc $B/android/shim/libc.map
	$(call run,ld)$(compile) -MF $@.d -fPIC -DPASSED='"$B/android/shim/libc.inc"' -DTRANSLATED -shared \
	    -Wl,-soname,libc.so -Wl,--version-script,$B/android/shim/libc.map $(ldflags) -o $@ $<

$B/android/shim/libdl.so: tests/android/shim.c $B/android/shim/libdl.inc $B/android/shim/libdl.map
	$(call run,ld)$(compile) -MF $@.d -fPIC -DPASSED='"$B/android/shim/libdl.inc"' -shared \
	    -Wl,-soname,libdl.so -Wl,--version-script,$B/android/shim/libdl.map $(ldflags) -o $@ $<

# Without the cases that access the engine's internals, because here the engine is in the loaded library.
through_src := $(filter-out %/held.c %/native/frames.c %/order.c %/sampling.c %/stress.c,$(contract_src)) \
               $(art_lab_src) tests/android/through.c
$B/contract_android: $(call obj,obj,$(through_src) tests/unit/support/control_client.c \
                       tests/unit/support/trial.c engine/cmd/preload.c) $(libs)
	$(call run,ld)$(link) -rdynamic -o $@ $^ $(preload_libs) $(trace_libs) -lm

.PHONY: android-contract
