# The engine on Mach, for this machine: the fake that stands in for XNU and libSystem, and the backend linked with it.
# Included by the Makefile.

mach_src  := $(wildcard engine/backend/mach/*.c)
xnu_src   := $(wildcard sim/mach/*.c)
rules_src := $(wildcard tests/contract_mach/*.c)
sources   += $(mach_src) $(xnu_src) $(rules_src)
xnu_obj   := $(call obj,obj,$(xnu_src))

mach: $B/libfakemach.so $B/libstrobe-mach.so ## the engine on Mach, and the fake Mach of the lab
tests: mach

$B/libfakemach.so: $(call obj,pic,$(xnu_src))
	$(call run,ld)$(link) -shared -Wl,-soname,libfakemach.so -Wl,-z,now -o $@ $^ $(preload_libs)

$B/libstrobe-mach.so: $(call obj,pic,$(engine_src) $(mach_src)) $B/libfakemach.so
	$(call run,ld)$(link) -shared -Wl,-soname,libstrobe-mach.so -Wl,-Bsymbolic -Wl,-z,now -Wl,-rpath,'$$ORIGIN' \
	    -o $@ $^ $(preload_libs)

# Tests of both have them inside; that of hooks answers the one call of the system that they make itself.
mach_tests := $(patsubst tests/unit/%.c,$B/tests/unit/%,\
                $(filter-out %/test_mach_rebind.c,$(wildcard tests/unit/test_mach_*.c)))
$(mach_tests): $(xnu_obj) $(call obj,obj,$(mach_src))

# The table of rules, on the fake.
$B/contract_mach: $(call obj,obj,$(filter-out %/virtual.c,$(rules_src))) $(xnu_obj)
	$(call run,ld)$(link) -o $@ $^
tests: $B/contract_mach

.PHONY: mach
