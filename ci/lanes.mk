# The same tests under other eyes: sanitizers, valgrind, another processor, coverage. Each lane builds in a
# directory of its own beside $B and prints `N passed, N failed, N skipped` last.

# All runs many times slower here: tests do a small part of their rounds, unless FULL=1.
light   := $(if $(FULL),,STROBE_TEST_LIGHT=1)
lane     = +@$(light) $(MAKE) --no-print-directory B=$B-$@
# Sanitized code takes a compiler three times as long at its best; the nightly run may. What it warns of at less than
# that is not counted.
quickly := $(if $(FULL),,CFLAGS='-O1 -g1 -Wno-error')

sanitize: asan tsan ## asan and tsan

asan: | deps-sanitize ## unit tests and the Android contract under the address and undefined-behaviour sanitizers
	$(lane) $(quickly) SAN=address,undefined unit
	$(lane) $(quickly) SAN=address,undefined contract
	$(lane) $(quickly) SAN=address,undefined mach-stress

# A program with threads that live on would sleep for a second at its end, for races with these. Nightly it does.
tsan: private light += $(if $(FULL),,TSAN_OPTIONS=atexit_sleep_ms=0)
tsan: | deps-sanitize ## unit tests, the Android contract and stress under the thread sanitizer
	$(lane) $(quickly) SAN=thread unit
	$(lane) $(quickly) SAN=thread contract
	$(lane) $(quickly) SAN=thread mach-stress
	$(lane) $(quickly) SAN=thread stress STRESS_SECONDS=$${STROBE_STRESS_SECONDS:-5}

asan-clang tsan-clang: %-clang: | deps-sanitize
	$(lane) $(quickly) SAN=$(if $(filter asan,$*),address$(comma)undefined,thread) CC=clang unit

# All that a run depends on is part of the command, so that what tests/run prints to repeat it is whole.
# Valgrind runs one thread at a time: unless scheduled fairly, threads that spin starve what they wait for, for minutes.
valgrind  := env $(light) valgrind -q --fair-sched=yes --error-exitcode=99
memcheck  := $(valgrind) --leak-check=full --errors-for-leak-kinds=definite
helgrind  := $(valgrind) --tool=helgrind --history-level=none --suppressions=ci/helgrind.supp
run_long   = LIMIT=$${LIMIT:-300} LOGS=$B/log-$@ tests/run

# Of the lab's tests the long ones are left to FULL=1, and those on real threads to real processors.
lab_long  := %/test_fault %/test_properties_sampling %/test_properties_trace %/test_properties_wakers %/test_stacks \
             %/test_policy_strobe %/test_real %/test_trial %/test_swarm %/test_scenario %/test_scenario_errors \
             %/test_litmus_corpus %/test_score_brute %/test_dist
shortened := $(if $(FULL),$(unit_bin),$(filter-out $(lab_long),$(unit_bin)))

# Valgrind keeps what it has made of a file's code: it does not see detours. Its heap comes before any guard's.
# It runs no code of the program while a signal of a CPU clock would come, nor single instructions.
translated := %/test_art_detour %/test_mach_guard %/test_cpu_clock %/test_unwind_walk %/test_generated_leaf

# Tests that wait for what real threads come to in their time: it comes too late where all runs by turns.
paced      := %/test_mach_capture %/test_mach_host %/test_mach_rows %/test_mach_faults

# Plays whole fixtures, for half a minute under valgrind. The watchers that it judges have tests of their own here.
fixtures   := $(if $(FULL),,%/test_findings)

# Tests whose time is spent in what they start, or in libraries of others.
elsewhere  := $(if $(FULL),,%/test_art_module %/test_art_moved %/test_import %/test_x86_code %/test_unwind_rules)

memcheck: $(unit_bin) | deps-sanitize ## unit tests under valgrind: no bad access, no leak
	@B=$B WRAP='$(memcheck)' $(run_long) $(filter-out $(translated) $(paced) $(elsewhere) $(fixtures),$(shortened))

helgrind: $(unit_bin) | deps-sanitize ## unit tests under valgrind: locks and threads used as they must be
	@B=$B WRAP='$(helgrind)' $(run_long) $(filter-out $(translated) $(paced) $(elsewhere),$(threaded))

# ---- arm64 Linux

arm64         := $B-arm64
arm64_root    := $(abspath $(arm64))/sysroot
arm64_debs    := libcmocka-dev libcmocka0 libdw-dev libdw1 libelf-dev libelf1 zlib1g-dev zlib1g \
                 libunwind-dev libunwind8 libiberty-dev liblzma5 libbz2-1.0
arm64_tool    := aarch64-linux-gnu-
# Unless FULL=1, all but the shared libraries is compiled in haste, and without the programs of the explorer and of
# stress, which no emulated test plays. The libraries are those that are released and that tests/arm64 reviews.
arm64_make    := B=$(arm64) CC=$(arm64_tool)gcc AR=$(arm64_tool)ar LD=$(arm64_tool)ld OBJCOPY=$(arm64_tool)objcopy \
                 SYSROOT=$(arm64_root) TRIPLET=aarch64-linux-gnu $(if $(FULL),,HASTE=yes EXPLORE=no STRESS=no)

cross: darwin | deps-cross ## builds everything for arm64 Linux, tests included, and the libraries for Darwin
	@ci/sysroot arm64 $(arm64_root) $(arm64_debs)
	+@$(MAKE) --no-print-directory $(arm64_make) tests android-contract
	@tests/darwin/facts.sh $B/darwin

# Nor do threads that have ended go away there as on a kernel, nor is memory protected as /proc says, on which the fake
# Mach relies: its tests are left to this machine, the arm64 library's to tests/emulate.
# A signal returns by code on no image there, which unwinding by call frame information does not know; on arm64 that has
# been compared with elfutils' in part only (see README, Limits). test_generated_leaf generates x86-64's code.
unwinding := %/test_unwind_walk %/test_unwind_rules %/test_generated_leaf
emulated  := $(filter-out %/test_real %/test_real_frames %/test_cpu_clock $(unwinding) \
              $(addprefix %/test_mach_,capture fake faults host libsystem rebind rows threads),$(shortened))
# Its lab has to play as this one does, and its code to have the memory orders that were reviewed. Then the libraries
# for Android and iOS, and the backend for Mach.
emulate_suites = 'tests/compilers/plays_alike.sh arm64 $B/strobe-lab ci/emulated $(arm64) $(arm64)/strobe-lab' \
                 'tests/arm64/orders.py $(arm64)' 'tests/android/emulate.sh $B $(arm64)' 'tests/darwin/headers.sh $B' \
                 'tests/gnumach/lane.sh $B' 'tests/emulate/emulate.sh $B' 'tests/emulate/frames/run.sh $B'
emulate: cross all android | deps-emulate ## runs the arm64 build's unit tests emulated, checks its memory orders
	@B=$(arm64) LIGHT=1 WRAP='env $(light) ci/emulated $(arm64)' $(run_long) $(emulated:$B/%=$(arm64)/%) \
	    $(emulate_suites)

# ---- swarms

SWARM_SEEDS ?= 1000

swarm: all ## plays SWARM_SEEDS seeds (default 1000) of every scenario and as many random ones, fair and adversarial
	@B=$B ci/swarm-all $(SWARM_SEEDS)

# ---- mutants

RANDOM_MUTANTS ?= 300
SEED           ?= 1

mutants: $B/strobe-lab | deps-test ## known-bad variants of the engine: each must be killed by the tests it names
	@B=$B tests/mutants/run.sh --all

mutants-random: $B/strobe-lab | deps-test ## RANDOM_MUTANTS (300) drawn with SEED (1): at least 90 % must be killed
	@rm -rf out/mutants/drawn
	@B=$B CC='$(CC)' tests/mutants/generate --count $(RANDOM_MUTANTS) --seed $(SEED) out/mutants/drawn
	@B=$B tests/mutants/run.sh --from out/mutants/drawn --score 90

# ---- fuzzing

fuzz_src  := $(wildcard tests/fuzz/fuzz_*.c)
sources   += $(fuzz_src)
FUZZ_SECONDS ?= 20

fuzz: | deps-sanitize ## feeds damaged input to what reads files, for FUZZ_SECONDS each (default 20)
	+@$(MAKE) --no-print-directory B=$B-fuzz CC=clang $(quickly) SAN=fuzzer-no-link,address,undefined fuzzers
	@B=$B-fuzz ci/fuzz $(FUZZ_SECONDS) $(fuzz_src:tests/fuzz/%.c=$B-fuzz/tests/fuzz/%)

fuzzers: $(fuzz_src:tests/fuzz/%.c=$B/tests/fuzz/%)
$B/tests/fuzz/%: $B/obj/tests/fuzz/%.o $(libs)
	@mkdir -p $(@D)
	$(call run,ld)$(link) -fsanitize=fuzzer -o $@ $^ $(trace_libs)

$B/tests/fuzz/fuzz_rebind: $(call obj,obj,$(rebind_src) tests/unit/support/mach_image.c)

# What these feed is of the lab.
$B/tests/fuzz/fuzz_scenario $B/tests/fuzz/fuzz_litmus: $B/tests/fuzz/%: $B/sim/tests/fuzz/%.o $(sim_libs)
	@mkdir -p $(@D)
	$(call run,ld)$(link) -fsanitize=fuzzer -o $@ $< -Wl,--start-group $(sim_libs) -Wl,--end-group $(trace_libs)

# ---- coverage

coverage: | deps-coverage ## tests with coverage; the report is out/coverage/index.html
	+@$(MAKE) --no-print-directory B=$B-coverage CFLAGS='-O0 -g --coverage -fprofile-update=atomic' \
	    LDFLAGS=--coverage tests
	@ci/coverage $B-coverage out/coverage

nightly: ## all of the above for long, with measurements (hours)
	@.ci/run --nightly

deps-bench deps-peers deps-sanitize deps-coverage deps-cross deps-emulate deps-android deps-darwin: | deps-unit
	@ci/deps $(@:deps-%=%)

.PHONY: sanitize asan tsan asan-clang tsan-clang memcheck helgrind cross emulate fuzz fuzzers coverage nightly swarm \
        mutants mutants-random \
        deps-bench deps-peers deps-sanitize deps-coverage deps-cross deps-emulate deps-android deps-darwin
