# Rules of bench/: benchmarks (`make bench`), and comparison with other tracers. Included by the Makefile.

CXX         ?= g++
lab_bench   := bench/cases/bench_fiber.c bench/cases/bench_play.c bench/cases/bench_explore.c
bench_src   := bench/table.c bench/pages.c bench/stackgen.c bench/naive_set.c bench/child.c bench/deep.c \
               bench/rig.c tests/unit/support/session_builder.c \
               $(sort $(filter-out $(lab_bench),$(wildcard bench/cases/*.c)))
costs_src   := $(wildcard bench/costs/*.c) sim/player/work.c
peers_src   := bench/peers/main.c bench/peers/lttng.c bench/peers/uftrace.c
bench_obj   := $(call obj,obj,$(bench_src)) $B/obj/bench/gbench.o
sources     += $(bench_src) $(costs_src) $(peers_src) $(lab_bench) bench/lab.c bench/art.c bench/mach.c bench/main.c \
               bench/gbench.cc bench/workload.c

$B/obj/bench/gbench.o: bench/gbench.cc $B/flags | deps-bench
	@mkdir -p $(@D)
	$(call run,c++)$(CXX) -I. -std=c++17 -Wall -Wextra -Werror -pthread -MMD -MP $(CPPFLAGS) -O2 -g -c -o $@ $<

$B/bench/strobe-bench: $B/obj/bench/main.o $(bench_obj) $(libs) | $(cutils_libs)
	@mkdir -p $(@D)
	$(call run,ld)$(CXX) $(ldflags) $(LDFLAGS) -o $@ $^ -lbenchmark -lunwind $(trace_libs)

# Benchmarks of the lab. This program links the engine as built for the lab and no object of the released engine.
lab_bench_obj := $(call obj,obj,bench/lab.c bench/table.c bench/pages.c $(lab_bench)) $B/obj/bench/gbench.o
$B/bench/strobe-bench-lab: $(lab_bench_obj) $(programs) $(sim_libs)
	@mkdir -p $(@D)
	$(call run,ld)$(CXX) $(ldflags) $(LDFLAGS) -o $@ $^ -lbenchmark $(trace_libs)

# Benchmarks on a genuine Android runtime.
$B/bench/strobe-bench-art: $(call obj,obj,bench/art.c bench/table.c bench/pages.c $(art_lab_src)) \
                           $B/obj/bench/gbench.o $(libs)
	@mkdir -p $(@D)
	$(call run,ld)$(CXX) $(ldflags) $(LDFLAGS) -rdynamic -o $@ $^ -lbenchmark $(trace_libs)

# Benchmarks on the lab's fake Mach.
$B/bench/strobe-bench-mach: $(call obj,obj,bench/mach.c bench/table.c bench/pages.c bench/deep.c $(mach_src)) \
                            $(xnu_obj) $B/libstrobe-capture.a
	@mkdir -p $(@D)
	$(call run,ld)$(link) -o $@ $^ $(preload_libs)

# Measures the costs that the simulator charges; see sim/runtime/costs.h.
$B/bench/strobe-costs: $(call obj,obj,$(costs_src) bench/rig.c bench/deep.c bench/child.c bench/pages.c) $(libs)
	@mkdir -p $(@D)
	$(call run,ld)$(link) -o $@ $^ $(trace_libs)

# The traced program. It has frame pointers and no tail calls, as programs built for profiling have.
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

bench-peers: ## compares costs with other tracers (LTTng-UST, uftrace); table, and B/peers.json
	+@if ci/deps peers; then $(MAKE) --no-print-directory run-peers; \
	    else echo 'bench-peers: SKIPPED, nothing measured: packages are missing'; fi

run-peers: $B/bench/strobe-peers $B/bench/workload-pg
	@bench/peers/peers.sh $^ $B/peers.json

bench_more := $(addprefix $B/bench/,strobe-bench-lab strobe-bench-art strobe-bench-mach strobe-costs workload)
# Each run appends its figures to out/bench/history.jsonl.
bench_json := $(addprefix $B/,bench.json bench-lab.json bench-art-interpreted.json bench-art-quick.json \
                             bench-art-fake30.json bench-mach.json)
bench: $B/bench/strobe-bench $(bench_more) all ## runs all benchmarks; B/bench*.json, out/bench/
	@rm -f $(bench_json)
	@$< -o $B/bench.json
	@echo && $B/bench/strobe-bench-lab -o $B/bench-lab.json
	@for mode in interpreted quick fake30; do echo && $B/bench/strobe-bench-art -o $B/bench-art-$$mode.json $$mode; done
	@echo && $B/bench/strobe-bench-mach -o $B/bench-mach.json
	@mkdir -p out/bench
	@echo && $B/bench/strobe-costs -o out/bench/costs.json
	@bench/history.py append out/bench/history.jsonl "$$(git describe --always --dirty 2>/dev/null)" \
	    $$(ls $(bench_json) 2>/dev/null)

# uPlot draws the plots. npm carries it; the page contains it.
HISTORY ?= out/bench/history.jsonl
history: ## draws HISTORY (out/bench/history.jsonl), the figures of all runs of `make bench`, in out/history.html
	@ci/npm-files $B/uplot uplot@1.6.32 dist \
	    uPlot.iife.min.js=19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f \
	    uPlot.min.css=df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04
	@bench/history.py page '$(HISTORY)' $(or $(OUT),out/history.html) $B/uplot

costs: $B/bench/strobe-costs all ## measures the costs that the simulator charges, into fixtures/costs/x86-64.json
	@[ "$$(uname -m)" = x86_64 ] || { echo 'costs: needs an x86-64 machine'; exit 1; }
	@$< -o fixtures/costs/x86-64.json

# Virtual time charges the costs of this machine, measured beside the real runs of each scenario. RUNS=N: real runs of
# each scenario. SCENARIOS='FILE...': only these. QUICK=yes: a few scenarios, without other load.
calibrate: $B/bench/strobe-costs all ## compares virtual time with real threads: scores and shares of methods
	@bench/calibrate.py $B/strobe --measure $< $(if $(RUNS),--runs $(RUNS)) $(if $(QUICK),--quick) \
	    -o $B/calibrate.json $(SCENARIOS)

standing: all ## prints the score table of bench/README.md
	@bench/standing.py $B/strobe table $(SCENARIOS)

.PHONY: calibrate standing bench history costs bench-peers run-peers
