# The engine on Mach, for this machine: the fake that replaces XNU and libSystem, and the backend linked with it.
# Included by the Makefile.

mach_src  := $(wildcard engine/backend/mach/*.c) $(filter-out %/flight_signals.c,$(api_src))
xnu_src   := $(wildcard sim/fake/mach/*.[cS])
rules_src := $(wildcard tests/contract_mach/*.c)
sources   += $(mach_src) $(xnu_src) $(rules_src)
xnu_obj   := $(call obj,obj,$(xnu_src))

mach: $B/libfakemach.so $B/libfakemach-guard.so $B/libstrobe-mach.so ## builds the engine on Mach, and the fake Mach
tests: mach

$B/libfakemach.so: $(call obj,pic,$(xnu_src))
	$(call run,ld)$(link) -shared -Wl,-soname,libfakemach.so -Wl,-z,now -o $@ $^ $(preload_libs)

$B/libstrobe-mach.so: $(call obj,pic,$(engine_src) $(mach_src)) $B/libfakemach.so
	$(call run,ld)$(link) -shared -Wl,-soname,libstrobe-mach.so -Wl,-Bsymbolic -Wl,-z,now -Wl,-rpath,'$$ORIGIN' \
	    -o $@ $^ $(preload_libs)

# The guard precedes both libraries. It ends the process at a forbidden call while a thread is held suspended.
guard_src := $(wildcard sim/fake/mach/guard/*.[cS])
sources   += $(guard_src)
$(call obj,pic,$(guard_src)): private CFLAGS += $(if $(SAN),-fno-sanitize=all)   # runs before the sanitizer's start
$B/libfakemach-guard.so: $(call obj,pic,$(guard_src))
	$(call run,ld)$(link) -shared -Wl,-soname,libfakemach-guard.so -Wl,-z,now -o $@ $^ $(preload_libs)

# Unit tests are linked with the fake's and the backend's objects, with two exceptions. test_mach_rebind implements the
# system call that hooks make. test_mach_guard is linked with the guard before the library.
guard_test := $B/tests/unit/mach/test_mach_guard
$(guard_test): $B/libfakemach-guard.so $B/libfakemach.so
$(guard_test): trace_libs += -Wl,-rpath,'$$ORIGIN/../../..'

# Hooks call the same replacements of this machine's functions that the app's pointers are bound to (libsystem.h).
$(foreach flavour,obj pic virtual,$B/$(flavour)/engine/backend/mach/events_io.o): \
    cflags += -Dusleep=fake_usleep -Dnanosleep=fake_nanosleep -Dpoll=fake_poll -Dselect=fake_select

mach_tests := $(patsubst tests/unit/%.c,$B/tests/unit/%,\
                $(filter-out %/test_mach_rebind.c %/test_mach_guard.c,$(wildcard tests/unit/mach/test_mach_*.c)))
$(mach_tests): $(xnu_obj) $(call obj,obj,$(mach_src))
$(mach_tests): trace_libs += $B/libstrobe-capture.a

# A capture with a forbidden call planted in the suspended window, on real threads, with the guard.
$B/planted/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) -Dthread_get_state=planted_get_state -c -o $@ $<
$B/deadlock: $(call obj,planted,engine/backend/mach/host_mach.c) \
             $(call obj,obj,$(filter-out %/host_mach.c,$(mach_src)) $(engine_src)) \
             $(call obj,obj,$(addprefix tests/deadlock/,plants.c window.c real.c)) \
             $B/libfakemach-guard.so $B/libfakemach.so $B/libstrobe-trace.a
	$(call run,ld)$(link) -rdynamic -Wl,-rpath,'$$ORIGIN' -o $@ $^ $(trace_libs)
tests: $B/deadlock

# The contract tests of Mach on the fake.
$B/contract_mach: $(call obj,obj,$(filter-out %/virtual.c,$(rules_src))) $(xnu_obj)
	$(call run,ld)$(link) -o $@ $^
tests: $B/contract_mach

.PHONY: mach
