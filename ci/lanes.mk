# Lanes: the tests under sanitizers, under valgrind, on another processor, and with coverage. A lane that compiles with
# other flags builds in a separate directory beside $B. Each lane prints `N passed, N failed, N skipped` last.

# Programs run many times slower in lanes, so random tests play few rounds there, unless FULL=1.
light   := $(if $(FULL),,STROBE_TEST_LIGHT=1)
lane     = +@$(light) $(MAKE) --no-print-directory B=$B-$@
# Sanitized code compiles three times as slowly with -O2 as with -O1. Only FULL=1 uses -O2. With -O1 gcc's warnings are
# not errors, because gcc has other false positives at that level. With -Og the fake runtimes inline so little that
# stacks exceed the depth that is recorded. GNU ld takes more than twice as long as lld to link a sanitized program.
quickly := $(if $(FULL),,CFLAGS='-O1 -g1 -Wno-error' TEST_LD=-fuse-ld=lld)

sanitize: asan tsan ## asan and tsan

asan: | deps-sanitize ## unit tests and the Android contract under the address and undefined-behaviour sanitizers
	$(lane) $(quickly) SAN=address,undefined sanitized

# By default the thread sanitizer waits a second at exit when threads still run, to find late races. Only FULL=1 waits.
tsan: private light += $(if $(FULL),,TSAN_OPTIONS=atexit_sleep_ms=0)
tsan: | deps-sanitize ## unit tests, the Android contract and stress under the thread sanitizer
	$(lane) $(quickly) SAN=thread sanitized $B-tsan/stress
	$(lane) $(quickly) SAN=thread stress STRESS_SECONDS=$${STROBE_STRESS_SECONDS:-5}

# What both run of a sanitized build, in one run, so that a suite that waits leaves its processor to the others.
sanitized: $(watched) $B/contract_art $B/art/30/libart.so $(addprefix $B/,mach_stress mach_capture libfakemach-guard.so)
	@B=$B tests/run $(watched) 'tests/contract_art/run.sh --sanitized' tests/mach_stress/run.sh

asan-clang tsan-clang: %-clang: | deps-sanitize
	$(lane) $(quickly) SAN=$(if $(filter asan,$*),address$(comma)undefined,thread) CC=clang unit

# These commands contain all settings of the run, so the command that tests/run prints to repeat a failure is complete.
# Valgrind runs one thread at a time. Without fair scheduling a spinning thread can starve the thread that it waits for,
# for minutes. Names of inlined functions in an error's stack would take a fifth of the time of a short program, so only
# FULL=1 reads them.
valgrind  := env $(light) valgrind -q --fair-sched=yes --error-exitcode=99 $(if $(FULL),,--read-inline-info=no)
memcheck  := $(valgrind) --leak-check=full --errors-for-leak-kinds=definite \
             --suppressions=ci/memcheck.supp
helgrind  := $(valgrind) --tool=helgrind --history-level=none --suppressions=ci/helgrind.supp
run_long   = LIMIT=$${LIMIT:-300} LOGS=$B/log-$@ tests/run

# nightly_only LANE: programs of the lane that only FULL=1 runs. tests/nightly has the reasons.
nightly_only = $(if $(FULL),,$(addprefix $B/tests/,$(shell sed -nE 's,^$1: ([^ ]+/[^ ]+) .*,\1,p' tests/nightly)))
# report_left ALL,CHOSEN: prints how many of a lane's programs are left to the nightly run.
report_left  = @echo "tests/nightly leaves $(words $(filter-out $2,$1)) of $(words $1) programs to the nightly run"

# Tests that cannot run under valgrind:
#   test_art_detour(s),  valgrind caches translated code, so it does not see a detour written later
#   test_art_hooker
#   test_mach_guard      valgrind's heap functions take precedence over those of the guard
#   the others           valgrind delivers no CPU clock signal inside a program's code, and cannot single-step
translated := %/test_art_detour %/test_art_detours %/test_art_hooker %/test_mach_guard %/test_cpu_clock \
              %/test_unwind_walk %/test_generated_leaf %/test_entry_jumps

# Tests that wait for progress of real threads within a time limit. Under valgrind threads run one at a time, too slowly
# for these limits.
paced      := %/test_mach_capture %/test_mach_host %/test_mach_rows %/test_mach_faults

# Its sampler reads words of other threads' stacks, among them words that the program never wrote.
sampled    := %/test_mach_start

# They need a process without a free descriptor. Valgrind accepts a connection then, and closes it; the system lets it
# wait.
exhausted  := %/control/test_server %/control/test_socket

can_memcheck := $(filter-out $(translated) $(paced) $(sampled) $(exhausted),$(unit_bin))
memchecked   := $(filter-out $(call nightly_only,memcheck),$(can_memcheck))

memcheck: $(memchecked) | deps-sanitize ## unit tests under valgrind's memcheck: invalid accesses, leaks
	$(call report_left,$(can_memcheck),$(memchecked))
	@B=$B WRAP='$(memcheck)' $(run_long) $(memchecked)

helgrind: $(threaded) | deps-sanitize ## unit tests under valgrind's helgrind: misuse of locks and threads
	@B=$B WRAP='$(helgrind)' $(run_long) $(filter-out $(translated) $(paced) $(exhausted),$(threaded))

# ---- arm64 Linux

arm64         := $B-arm64
arm64_root    := $(abspath $(arm64))/sysroot
arm64_debs    := libcmocka-dev libcmocka0 libdw-dev libdw1 libelf-dev libelf1 zlib1g-dev zlib1g \
                 libunwind-dev libunwind8 libiberty-dev liblzma5 libbz2-1.0 libexpat1-dev libexpat1 \
                 libsqlite3-dev libsqlite3-0
arm64_tool    := aarch64-linux-gnu-
# Unless FULL=1, this build uses HASTE=yes and omits the programs of the explorer, which no emulated test runs. HASTE
# leaves the shared libraries alone: they are released, and tests/arm64 checks their memory orders.
arm64_make    := B=$(arm64) CC=$(arm64_tool)gcc AR=$(arm64_tool)ar LD=$(arm64_tool)ld OBJCOPY=$(arm64_tool)objcopy \
                 SYSROOT=$(arm64_root) TRIPLET=aarch64-linux-gnu $(if $(FULL),,HASTE=yes EXPLORE=no)

# Tests that do not run under qemu's user-mode emulator:
#   test_real*           its threads are emulated too slowly
#   test_cpu_clock       it does not emulate perf events
#   test_refused_calls   it lacks some of the system calls that the test refuses
#   test_images          builds libraries of this machine's processor, and opens them
#   test_mach_*          ended threads stay visible and /proc states wrong protections; the fake Mach relies on both.
#                        These tests run on this machine; tests/emulate tests the library for arm64
#   test_unwind_*        a signal returns through code that belongs to no image, so unwinding by call frame information
#                        fails there. On arm64 it is compared with elfutils in part only (README, Limits)
#   test_generated_leaf  generates x86-64 code
unwinding := %/test_unwind_walk %/test_unwind_rules %/test_generated_leaf
can_emulate := $(filter-out %/test_real %/test_real_frames %/test_cpu_clock %/test_refused_calls %/test_images \
                 $(unwinding) \
                 $(addprefix %/test_mach_,capture fake faults host libsystem rebind rows threads),$(unit_bin))
emulated    := $(filter-out $(call nightly_only,emulate),$(can_emulate))
# What the lane `emulate` runs or reads: these tests, the commands, and the objects of the two libraries. With FULL=1
# all programs are built, among them those of the fake Mach, which do not run there.
arm64_runs := $(emulated:$B/%=$(arm64)/%) $(addprefix $(arm64)/,strobe strobe-lab libstrobe-preload.so libstrobe-art.so)

cross: darwin xcframework | deps-cross ## builds for arm64 Linux (FULL=1: everything), and the libraries for Darwin
	@ci/sysroot arm64 $(arm64_root) $(arm64_debs)
	+@$(MAKE) --no-print-directory $(arm64_make) $(if $(FULL),tests,$(arm64_runs)) android-contract
	@tests/darwin/facts.sh $B/darwin

# The arm64 lab must play as this machine's lab does, the arm64 `strobe` must convert stored sessions to the stored
# outputs, and the arm64 code must have the reviewed memory orders. The remaining suites test the libraries for Android
# and iOS, unwinding on armv7, and the backend for Mach.
emulate_suites = 'tests/compilers/plays_alike.sh arm64 $B/strobe-lab ci/emulated $(arm64) $(arm64)/strobe-lab' \
                 'tests/golden/run.sh --by $(abspath ci/emulated $(arm64) $(arm64)/strobe)' \
                 'tests/arm64/orders.py $(arm64)' 'tests/android/emulate.sh $B $(arm64)' 'tests/darwin/headers.sh $B' \
                 'tests/gnumach/lane.sh $B' 'tests/emulate/emulate.sh $B' 'tests/emulate/frames/run.sh $B' \
                 'tests/armv7/lane.sh $B'
emulate: cross all android aar | deps-emulate ## runs the arm64 build's unit tests emulated, checks its memory orders
	$(call report_left,$(can_emulate),$(emulated))
	@B=$(arm64) LIGHT=1 WRAP='env $(light) ci/emulated $(arm64)' $(run_long) $(emulated:$B/%=$(arm64)/%) \
	    $(emulate_suites)

# ---- swarms

SWARM_SEEDS ?= 1000

swarm: all ## plays SWARM_SEEDS (1000) seeds of each scenario, random scenarios and runtimes, fair and adversarial
	@B=$B ci/swarm-all $(SWARM_SEEDS)

# ---- mutants

RANDOM_MUTANTS ?= 300
SEED           ?= 1

# Seconds after which `mutants-changed` begins no further mutant. One that runs by then may take half a minute more.
MUTANT_SECONDS ?= 90

mutants: $B/strobe-lab | deps-test ## runs known-bad variants: tests must fail. PART=I/N runs a part of them
	@B=$B env -u PART tests/mutants/run.sh --all $(addprefix --shard ,$(PART))

mutants-changed: $B/strobe-lab | deps-test ## those whose file or test changed since BASE (default: since main)
	@B=$B tests/mutants/run.sh --changed '$(BASE)' --seconds $(MUTANT_SECONDS)

mutants-random: all | deps-test ## draws RANDOM_MUTANTS (300) with SEED (1): tests must kill 90 %
	@B=$B CC='$(CC)' tests/mutants/generate --count $(RANDOM_MUTANTS) --seed $(SEED) out/mutants/drawn.txt
	@B=$B tests/mutants/run.sh --from out/mutants/drawn.txt --score 90

# ---- fuzzing

# Readers of files are in tests/fuzz, those of the lab in tests/fuzz/lab. tests/fuzz/core has fuzzers of the engine's
# core, which compare it with a model.
fuzz_src  := $(wildcard tests/fuzz/fuzz_*.c tests/fuzz/*/fuzz_*.c)
sources   += $(fuzz_src)
fuzz_bin  := $(fuzz_src:%.c=$B/%)
FUZZ_SECONDS ?= $(if $(RUNS),0,20)

# clang compiles the sanitized sources four times as slowly with -O1 as with -O0. Programs are then a third faster, a
# few of them three times as fast, so only FULL=1 optimizes.
fuzz: private quickly := $(if $(FULL),,CFLAGS='-O0 -g1 -Wno-error' TEST_LD=-fuse-ld=lld)
fuzz: private chosen = $(foreach name,$(FUZZERS),$(or $(filter tests/fuzz/$(subst *,%,$(name)).c,$(fuzz_src)),\
                           $(error FUZZERS: no program tests/fuzz/$(name).c)))
fuzz: | deps-sanitize ## fuzzes each of FUZZERS (default: all) for FUZZ_SECONDS (20) or RUNS inputs, by FUZZ_SEED
	+@$(MAKE) --no-print-directory B=$B-fuzz CC=clang $(quickly) SAN=fuzzer-no-link,address,undefined \
	    $(or $(chosen:%.c=$B-fuzz/%),fuzzers)
	@B=$B-fuzz FUZZ_SEED=$(FUZZ_SEED) RUNS=$(RUNS) ci/fuzz $(FUZZ_SECONDS) \
	    $(patsubst %.c,$B-fuzz/%,$(or $(chosen),$(fuzz_src)))

fuzzers: $(fuzz_bin)
# Without libFuzzer, a program replays the inputs that its arguments name.
fuzz_main := $(if $(findstring fuzzer,$(SAN)),-fsanitize=fuzzer,$B/obj/tests/fuzz/support/replay.o)
sources   += tests/fuzz/support/replay.c
$(fuzz_bin): | $(filter %.o,$(fuzz_main))
$B/tests/fuzz/%: $B/obj/tests/fuzz/%.o $(libs)
	@mkdir -p $(@D)
	$(call run,ld)$(link) $(TEST_LD) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(fuzz_main) $(trace_libs)

$B/tests/fuzz/fuzz_rebind: $(call obj,obj,$(rebind_src) tests/unit/support/mach_image.c)

$B/tests/fuzz/fuzz_detour: $(call obj,obj,$(filter %/detour_x86_64.c %/detour_arm64.c %/detour_hold.c,$(art_src)))

# Links the parser of options, which is part of the command.
$B/tests/fuzz/fuzz_options: $(call obj,obj,engine/cmd/arguments.c)

# Links a part of the command, and the unit tests' builder of sessions.
sched_fuzz := $B/tests/fuzz/fuzz_sched_text
$(sched_fuzz): $(call obj,obj,$(patsubst %,engine/cmd/record/%.c,sched_family sched_names tracefs/sched_text) \
                              tests/unit/support/session_builder.c)
$(sched_fuzz): private trace_libs += -lcmocka

# Links the oracle of the unit tests.
timeline_fuzz := $B/tests/fuzz/core/fuzz_timeline
$(timeline_fuzz): $(call obj,obj,$(addprefix tests/unit/support/,timeline_oracle.c recording.c session_builder.c))
$(timeline_fuzz): private trace_libs += -lcmocka

# These play in the lab.
lab_fuzz := $(patsubst %.c,$B/%,$(wildcard tests/fuzz/lab/fuzz_*.c) tests/fuzz/core/fuzz_window.c)
$(lab_fuzz): $B/%: $B/sim/%.o $(sim_libs)
	@mkdir -p $(@D)
	$(call run,ld)$(link) $(TEST_LD) -o $@ $(filter %.o,$^) $(fuzz_main) -Wl,--start-group $(sim_libs) -Wl,--end-group \
	    $(trace_libs)

# These two run in the explorer's machine, with a small copy of the engine (see programs.o in the Makefile).
explored_fuzz := $(addprefix $B/tests/fuzz/core/fuzz_,ring table)
$B/explore/fuzz_ring.o: $(call obj,explore,tests/fuzz/core/fuzz_ring.c engine/store/ring.c)
$B/explore/fuzz_table.o: $(call obj,explore,tests/fuzz/core/fuzz_table.c engine/store/stack_table.c)
$B/explore/fuzz_%.o:
	$(call run,ld)$(LD) -r -o $@ $^ && $(OBJCOPY) --keep-global-symbol=fuzz_explored $@
sources += tests/fuzz/support/explored.c
# What these do for an input says nothing about the engine, so it is not counted as coverage.
ifneq ($(findstring fuzzer,$(SAN)),)
$(call obj,sim,$(wildcard sim/explore/*.c sim/kernel/*.c)): private shared := -fno-sanitize=fuzzer-no-link
endif
$(explored_fuzz): $B/tests/fuzz/core/%: $B/explore/%.o $B/sim/tests/fuzz/support/explored.o $(sim_libs)
	@mkdir -p $(@D)
	$(call run,ld)$(link) $(TEST_LD) -o $@ $(filter %.o,$^) $(fuzz_main) -Wl,--start-group $(sim_libs) -Wl,--end-group \
	    $(trace_libs)

# ---- coverage

# Counters are atomic, because threads share them. The suites build some programs, so they get these flags too. Tests'
# own code is not counted. `stress` is omitted: the explorer plays its programs.
coverage_exit := tests/support/coverage_exit.c
sources       += $(coverage_exit)
coverage coverage-build: private export CFLAGS  := -O0 -g --coverage -fprofile-update=atomic
coverage coverage-build: private export LDFLAGS := --coverage -Wl,--wrap=_exit,--wrap=abort,--wrap=dlsym \
                                                   $(abspath $B-coverage)/coverage_exit.o
coverage: coverage-build ## what tests run of engine and lab; the report is out/coverage/index.html
	@ci/coverage $B-coverage out/coverage $(SUITES)
coverage-build: | deps-coverage deps-test
	@mkdir -p $B-coverage
	@$(CC) -O1 -D_GNU_SOURCE -fPIC -c -o $B-coverage/coverage_exit.o $(coverage_exit)
	+@$(MAKE) --no-print-directory B=$B-coverage STRESS=no tests fuzzers $B-coverage/contract_art
ifneq ($(findstring coverage,$(CFLAGS)),)
$(foreach flavour,obj sim pic linked virtual,$B/$(flavour)/tests/%.o): private shared := \
    -fno-profile-arcs -fno-test-coverage
# Branches are merged by their place in a line, which depends on the level.
explore_flags += -O0
# With -O0 a fake runtime has more native frames for each managed one than an engine's stack takes.
$B/fake/%.o: private shared := -O1
endif

# SHARD=I/N divides the stages and their parts by measured time (ci/shards).
nightly: ## runs all nightly stages of .ci/run: tests, lanes and measurements (hours); SHARD=I/N: a shard of them
	@.ci/run --nightly $(if $(SHARD),--shard '$(SHARD)')

nightly-times: ## takes the times that nightly runs measured, TIMES (out/ci/times), into ci/nightly.times
	@ci/shards --refresh $(or $(TIMES),out/ci/times)

deps-bench deps-peers deps-sanitize deps-coverage deps-cross deps-emulate deps-android deps-aar deps-darwin: | deps-unit
	@ci/deps $(@:deps-%=%)

.PHONY: sanitize sanitized asan tsan asan-clang tsan-clang memcheck helgrind cross emulate fuzz fuzzers coverage \
        coverage-build nightly nightly-times swarm mutants mutants-changed mutants-random \
        deps-bench deps-peers deps-sanitize deps-coverage deps-cross deps-emulate deps-android deps-aar deps-darwin
