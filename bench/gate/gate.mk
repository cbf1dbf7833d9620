# Rules of bench/gate/: the gates for instruction counts, sizes and memory. Included by the Makefile.
#
# tests/gate sets gate_driver, gate_lab and gate_planted, to build drivers with a slower engine.
gate_driver ?= $B/bench/gate-driver
gate_lab    ?= $B/bench/gate-lab
gate_planted ?=

sources     += bench/gate/engine.c bench/gate/lab.c

gate_obj    := $(call obj,obj,bench/gate/engine.c bench/stackgen.c tests/unit/support/session_builder.c)
gate_key     = $(shell $(CC) -dumpmachine) $(notdir $(CC)) $(shell $(CC) -dumpfullversion -dumpversion) \
               $(strip $(CPPFLAGS) $(CFLAGS) $(SAN:%=-fsanitize=%)) libc $(word 2,$(shell getconf GNU_LIBC_VERSION))
run_gate     = bench/gate/stored.py $(gate_driver),$(gate_lab) bench/baseline.json '$(strip $(gate_key))'

$(gate_driver): $(gate_obj) $(gate_planted) $(libs) | deps-test
	@mkdir -p $(@D)
	$(call run,ld)$(link) -o $@ $^ $(trace_libs)

$(gate_lab): $(call obj,sim,bench/gate/lab.c) $(gate_planted) $(sim_libs) | deps-test
	@mkdir -p $(@D)
	$(call run,ld)$(link) -o $@ $(filter %.o,$^) -Wl,--start-group $(sim_libs) -Wl,--end-group $(trace_libs)

gate: $(gate_driver) $(gate_lab) ## counts instructions of fixed drivers; fails when a count grows by more than 2 %
	@$(run_gate)

gate-update: $(gate_driver) $(gate_lab) ## stores the current counts as the baseline and prints the changes
	@$(run_gate) --update

.PHONY: gate gate-update
