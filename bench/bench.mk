# Rules of bench/: measuring (`make bench`), peers, and the instruction gate. Included by the Makefile.

CXX         ?= g++
bench_src   := bench/table.c bench/stackgen.c bench/naive_set.c bench/child.c bench/deep.c \
               bench/rig.c tests/unit/support/session_builder.c $(sort $(wildcard bench/bench_*.c))
peers_src   := bench/peers/main.c bench/peers/lttng.c bench/peers/uftrace.c
bench_obj   := $(call obj,obj,$(bench_src)) $B/obj/bench/gbench.o
sources     += $(bench_src) $(peers_src) bench/main.c bench/gbench.cc bench/workload.c bench/gate.c

$B/obj/bench/gbench.o: bench/gbench.cc $B/flags | deps-bench
	@mkdir -p $(@D)
	$(call run,c++)$(CXX) -I. -std=c++17 -Wall -Wextra -Werror -pthread -MMD -MP $(CPPFLAGS) -O2 -g -c -o $@ $<

$B/bench/strobe-bench: $B/obj/bench/main.o $(bench_obj) $(libs)
	@mkdir -p $(@D)
	$(call run,ld)$(CXX) $(ldflags) $(LDFLAGS) -o $@ $^ -lbenchmark -lunwind $(trace_libs)

# The traced program: frame pointers and no tail calls, as a program is built that wants to be profiled.
$B/bench/workload: bench/workload.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) -fno-optimize-sibling-calls $(ldflags) $(LDFLAGS) -o $@ $<

# ---- peers

$B/bench/strobe-peers: $(call obj,obj,$(peers_src)) $(bench_obj) $(libs)
	@mkdir -p $(@D)
	$(call run,ld)$(CXX) $(ldflags) $(LDFLAGS) -o $@ $^ -lbenchmark -lunwind -llttng-ust $(trace_libs)

$B/bench/workload-pg: bench/workload.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) -pg $(ldflags) $(LDFLAGS) -o $@ $<

bench-peers: ## the same beside other tracers (LTTng-UST, uftrace); table, and B/peers.json
	+@if ci/deps peers; then $(MAKE) --no-print-directory run-peers; \
	    else echo 'bench-peers: SKIPPED, nothing measured: packages are missing'; fi

run-peers: $B/bench/strobe-peers $B/bench/workload-pg
	@bench/peers/peers.sh $^ $B/peers.json

# ---- instruction counts
#
# gate_driver and gate_planted are for tests/gate, which builds drivers with a slower engine.
gate_driver ?= $B/bench/gate-driver
gate_planted ?=

gate_obj    := $(call obj,obj,bench/gate.c bench/stackgen.c tests/unit/support/session_builder.c)
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

bench: $B/bench/strobe-bench $B/bench/workload all ## measures everything against its targets; table, and B/bench.json
	@$< -o $B/bench.json

.PHONY: bench bench-peers run-peers gate gate-update
