# Rules of bench/gate/: the gates for instruction counts, sizes and memory. Included by the Makefile.
#
# tests/gate sets gate_driver, gate_lab and gate_planted, to build drivers with a slower engine.
gate_driver ?= $B/bench/gate-driver
gate_lab    ?= $B/bench/gate-lab
gate_planted ?=

sources     += $(wildcard bench/gate/*.c)
gate_programs := $(gate_driver) $(gate_lab) $(addprefix $B/bench/gate-,embed method program program-calls)

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

# The library precedes the C library, so that programs find its clock first.
$B/bench/libgate-clock.so: $(call obj,pic,bench/gate/clock.c)
	@mkdir -p $(@D)
	$(call run,ld)$(link) -shared -Wl,-soname,$(@F) -o $@ $^
$B/pic/bench/gate/clock.o: private pic := $(filter-out -fvisibility=hidden,$(pic))

# Programs to record. They have frame pointers and no tail calls, as programs built for profiling have.
$B/bench/gate-program-calls: private instrument := -finstrument-functions
$B/bench/gate-program $B/bench/gate-program-calls: bench/gate/program.c $B/bench/libgate-clock.so $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) $(instrument) -fno-optimize-sibling-calls -MF $@.d $(ldflags) $(LDFLAGS) -o $@ $< \
	    -Wl,--no-as-needed $B/bench/libgate-clock.so -Wl,-rpath,'$$ORIGIN'

$B/bench/gate-embed: $(call obj,obj,bench/gate/embed.c) $B/lib/libstrobe-capture.so.0
	@mkdir -p $(@D)
	$(call run,ld)$(link) -Wl,--no-as-needed -o $@ $^ -Wl,-rpath,'$$ORIGIN/../lib'

$B/bench/gate-method: $(call obj,obj,bench/gate/method.c) $(libs) | $(cutils_libs)
	@mkdir -p $(@D)
	$(call run,ld)$(link) -rdynamic -o $@ $^ $(trace_libs)

# The programs of all rows are built by base.py, for BASE in a temporary worktree and for this tree here.
ifdef BASE
gate: | deps-test deps-bench ## compares with BASE=COMMIT; without BASE instruction counts with bench/baseline.json
	@B=$B bench/gate/base.py '$(BASE)'
else
gate: $(gate_driver) $(gate_lab) | deps-bench
	@$(run_gate)
endif

gate-update: $(gate_driver) $(gate_lab) ## stores the current counts as the baseline and prints the changes
	@$(run_gate) --update

.PHONY: gate gate-update
