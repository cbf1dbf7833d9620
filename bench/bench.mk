# Rules of bench/: measuring (`make bench`), peers, and the instruction gate. Included by the Makefile.

CXX         ?= g++
bench_src   := bench/main.c bench/table.c bench/stackgen.c bench/naive_set.c $(sort $(wildcard bench/bench_*.c))
bench_obj   := $(call obj,obj,$(bench_src)) $B/obj/bench/gbench.o
sources     += $(bench_src) bench/gbench.cc bench/workload.c bench/gate.c

$B/obj/bench/gbench.o: bench/gbench.cc $B/flags | deps-bench
	@mkdir -p $(@D)
	$(call run,c++)$(CXX) -I. -std=c++17 -Wall -Wextra -Werror -pthread -MMD -MP $(CPPFLAGS) -O2 -g -c -o $@ $<

$B/bench/strobe-bench: $(bench_obj) $(libs)
	@mkdir -p $(@D)
	$(call run,ld)$(CXX) $(ldflags) $(LDFLAGS) -o $@ $^ -lbenchmark -lunwind $(trace_libs)

# The traced program: frame pointers and no tail calls, as a program is built that wants to be profiled.
$B/bench/workload: bench/workload.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) -fno-optimize-sibling-calls $(ldflags) $(LDFLAGS) -o $@ $<

# ---- instruction counts
#
# gate_driver and gate_planted are for tests/gate, which builds drivers with a slower engine.
gate_driver ?= $B/bench/gate-driver
gate_planted ?=

gate_obj    := $(call obj,obj,bench/gate.c bench/stackgen.c)
gate_key     = $(shell $(CC) -dumpmachine) $(notdir $(CC)) $(shell $(CC) -dumpfullversion -dumpversion) \
               $(strip $(CPPFLAGS) $(CFLAGS) $(SAN:%=-fsanitize=%)) libc $(word 2,$(shell getconf GNU_LIBC_VERSION))
run_gate     = bench/gate.py $(gate_driver) bench/baseline.json '$(strip $(gate_key))'

$(gate_driver): $(gate_obj) $(gate_planted) $(libs) | deps-test
	@mkdir -p $(@D)
	$(call run,ld)$(link) -o $@ $^ $(trace_libs)

gate: $(gate_driver) ## counts instructions of fixed drivers; fails when one grew by more than 2 %
	@$(run_gate)

gate-update: $(gate_driver) ## stores the counts of now as the baseline, and says what changed
	@$(run_gate) --update

bench: $B/bench/strobe-bench $B/bench/workload ## measures everything against its targets; table, and B/bench.json
	@$< -o $B/bench.json

.PHONY: bench gate gate-update
