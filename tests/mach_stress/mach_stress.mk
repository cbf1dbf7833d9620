# Stress of the engine on the fake Mach. Included by the Makefile.

mach_stress_src := $(wildcard tests/mach_stress/*.c)
sources         += $(mach_stress_src)
mach_stress_obj  = $(call obj,obj,$(addprefix tests/mach_stress/,$1 crew.c graph.c))
$(call obj,obj,tests/mach_stress/graph.c): private CFLAGS += -O0 $(if $(SAN),-fno-sanitize=all)

# mach_stress links the engine's host and unwinder only. mach_capture uses the whole library.
$B/mach_stress: $(call mach_stress_obj,stress.c) $(call obj,obj,$(mach_src)) $(xnu_obj) $B/libstrobe-capture.a
	$(call run,ld)$(link) -o $@ $^ $(preload_libs)

$B/mach_capture: $(call mach_stress_obj,capture.c) $B/libstrobe-mach.so $B/libfakemach.so $(libs)
	$(call run,ld)$(link) -Wl,-rpath,'$$ORIGIN' -o $@ $^ $(trace_libs)
tests: $B/mach_stress $B/mach_capture

mach-stress: $B/mach_stress $B/mach_capture $B/libfakemach-guard.so ## suspends and walks threads on the fake Mach
	@B=$B tests/mach_stress/run.sh

.PHONY: mach-stress
