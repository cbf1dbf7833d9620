# The build of Strobe. `make help` lists the targets.
#
#   B=DIR     the directory for build output (default build)
#   CC=clang  another compiler
#   SAN=address,undefined | thread    a sanitized build (give it a separate B)
#   WERROR=0  compiler warnings are not errors
#   HASTE=yes optimizes less, to compile sooner; shared libraries keep their flags
#   PREFIX=/usr/local DESTDIR=        where `make install` puts files
#   TEST_LD=-fuse-ld=lld   links unit tests with lld (default: with gold, where it is installed)
#   V=1       prints whole commands

VERSION := 0.1.0

B ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX ?= /usr/local
OBJCOPY ?= objcopy
NM      ?= nm

# Default: one job per processor. A -j option and the job server of an outer make take precedence.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

# gold takes half as long as GNU ld for each of 220 unit tests.
TEST_LD ?= $(if $(TRIPLET),,$(if $(shell command -v ld.gold),-fuse-ld=gold))

comma        := ,
werror       := $(if $(filter 0,$(WERROR)),,-Werror)
CFLAGS       ?= -O2 -g
cflags       := -I. -isystem engine/backend/sdk/mach/include -D_GNU_SOURCE -DSTROBE_VERSION='"$(VERSION)"' -std=c11 \
                -Wall -Wextra $(werror) -Wvla -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
                -fno-omit-frame-pointer -pthread -MMD -MP
sim_flags    := -DSTROBE_ATOMIC_HEADER='"sim/kernel/atomic.h"' -DSTROBE_ABI_X86_64 -ffp-contract=off
# For exploration the compiler turns each memory access into a call to a function of sim/explore/access.c. STROBE_SMALL
# makes rings and tables small.
explore_flags := -O1 -fsanitize=thread -fno-sanitize=address,undefined -DSTROBE_SMALL \
                 -Wno-unknown-warning-option -Wno-tsan
# The hooks define functions that fortified headers of the C library define inline.
pic          := -U_FORTIFY_SOURCE -fPIC -fvisibility=hidden -fexceptions -ftls-model=initial-exec
ldflags      := -pthread
trace_libs   := -ldw -lelf -liberty -lexpat -lsqlite3 -lz -ldl -lm
preload_libs := -ldl
# Symbols that a player exports to the Android runtime that it loads (sim/genuine/runtime.c, sim/genuine/binder.c).
transact     := _ZN7android14IPCThreadState8transactEijRKNS_6ParcelEPS1_j
exports      := -Wl,--export-dynamic-symbol=pthread_attr_setstack -Wl,--defsym=$(transact)=sim_real_art_binder \
                -Wl,--export-dynamic-symbol=$(transact) -Wl,--export-dynamic-symbol=sim_app_step
ifdef SAN
cflags       += -fsanitize=$(SAN) -fno-sanitize-recover=all
ldflags      += -fsanitize=$(SAN)
ifneq ($(findstring address,$(SAN)),)
# Variables without a value have a pattern, like new memory under the address sanitizer. A test whose result depends on
# them fails here, as its result was another one in the plain build.
cflags       += -ftrivial-auto-var-init=pattern
endif
ifneq ($(findstring thread,$(SAN)),)
# The race detector does not model fences. The sources, such as ring.c, state where that matters.
cflags       += -Wno-unknown-warning-option -Wno-tsan
endif
endif
ifdef SYSROOT
sysroot_libs := $(addprefix $(SYSROOT),/usr/lib/$(TRIPLET) /lib/$(TRIPLET))
cflags       += $(addprefix -isystem $(SYSROOT),/usr/include /usr/include/$(TRIPLET))
ldflags      += $(addprefix -L,$(sysroot_libs)) $(addprefix -Wl$(comma)-rpath-link$(comma),$(sysroot_libs))
endif
# These flags roughly halve the compile time. They apply only when CFLAGS contains -O2.
hasty        := $(if $(filter -O2,$(CFLAGS)),-O1 -g1)
haste         = $(if $(HASTE),$(hasty))
# The lab's objects have line numbers and no types or variables, which take a fifth of the compile time.
lab_debug    := $(if $(filter -g,$(CFLAGS)),-g1)
# Removes the build directory's path from objects. Coverage builds keep it, because lcov needs the path.
# Files of dependencies name an object both ways, because B may be absolute (suites call make so) or relative.
from_here     = $(patsubst $(CURDIR)/%,%,$(abspath $1))
here          = $(if $(findstring coverage,$(CFLAGS)),,-ffile-prefix-map="$(CURDIR)=.") \
                -MT "$(call from_here,$@)" -MT "$(abspath $@)"
compile       = $(CC) $(cflags) $(CPPFLAGS) $(CFLAGS) $(haste) $(shared) $(renamed) $(here)
assemble      = $(CC) $(CPPFLAGS) -I. -MMD -MP $(here)
link          = $(CC) $(ldflags) $(LDFLAGS)

run = $(if $V,,@echo '  $1 $@';)

# Targets that only compile never install packages: they list the missing packages and the command to install them.
# Other targets install missing packages.
compiles := all tests units benches install uninstall read sources art mach help clean $B/%
ifeq ($(filter-out $(compiles),$(or $(MAKECMDGOALS),all)),)
export STROBE_DEPS ?= check
endif

# ---- sources and objects

engine_src  := $(wildcard engine/base/*.c engine/store/*.c engine/capture/*.c engine/method/*.c engine/method/*/*.c)
capture_src := $(engine_src) $(wildcard engine/backend/linux/*.c)
libc_src    := $(wildcard engine/backend/common/libc/*.c)
# Exchanges of slots, for the library for Android and for the library that `strobe attach` loads.
slots_src   := $(wildcard engine/backend/common/slots/*.c)
api_src     := $(wildcard engine/backend/common/embed/*.c engine/control/*.c engine/flight/*.c)
preload_src := $(wildcard engine/backend/linux/preload/*.[cS]) $(libc_src) $(api_src) \
               $(patsubst %,engine/backend/linux/embed/%.c,capture memory)
# The library that a program links. strobe_start starts its capture; in the preloaded library, the constructor does.
embed_src   := $(filter-out $(patsubst %,engine/backend/linux/preload/%.c,load unwinder),$(preload_src)) \
               engine/backend/linux/embed/load.c
# The library that `strobe attach` loads into a running program. It exchanges slots, as the library for Android does.
attach_src  := $(filter-out engine/backend/linux/preload/load.c,$(preload_src)) \
               $(wildcard engine/backend/linux/attach/*.[cS]) $(slots_src)
# The sources of pages, which this file includes as bytes.
page_src    := engine/trace/export/html/page_text.S
page_parts  := $(foreach ending,html css js,$(wildcard $(dir $(page_src))*.$(ending)))
trace_src   := $(wildcard engine/util/*.c engine/trace/*/*.c engine/trace/import/*/*.c engine/trace/export/*/*.c \
                 engine/watch/*.c) $(page_src)
player_src  := sim/player/main.c
sim_src     := $(wildcard sim/kernel/*.[cS] sim/app/*.c sim/runtime/*.c sim/policy/*.c sim/policy/*/*.c sim/score/*.c \
                 sim/page/*.[cS] sim/trial/*.c sim/learn/*.c sim/learn/*/*.c sim/player/dex/*.c sim/explore/*.c \
                 sim/explore/*/*.c) \
               $(filter-out $(player_src) sim/genuine/binder.c,$(wildcard sim/player/*.[cS] sim/genuine/*.[cS]))
cmd_src     := $(wildcard engine/cmd/*.c engine/cmd/record/tracefs/*.c \
                 $(patsubst %,engine/cmd/%/*.c,import capture attach record open)) \
               engine/flight/flight_config.c engine/control/request.c
# Sources that strobe and strobe-lab share.
cmd_common  := $(patsubst %,engine/cmd/%.c,arguments cmd guess outputs progress)
lab_cmd_src := $(wildcard sim/cmd/*.c)
unit_src    := $(wildcard tests/unit/*/test_*.c)
lab_src     := $(wildcard tests/sim/*/test_*.c)
program_src := $(wildcard tests/explore/*.c tests/explore/engine/*.c tests/explore/literature/*.c)
no_programs := tests/explore/support/no_programs.c
stress_src  := tests/explore/support/stress.c
support_src := $(wildcard tests/unit/support/*.c)
lab_support := $(wildcard tests/sim/support/*.c) tests/unit/support/only.c
# Suites that test the tools instead of the engine. Target: test-tools. base.sh builds the tree again for each planted
# fault, so it runs only with FULL=1, as in the nightly run.
tool_suites := $(patsubst %,tests/%/run.sh,compilers fleet gate html mutants readme runner) \
               $(if $(FULL),tests/gate/base.sh)
# Two long suites with a target each: programs and test-calibrate. No other suite runs beside them.
own_target  := tests/programs/run.sh tests/calibrate/run.sh
# What a suite measures in real time, by itself, is a script of its own beside run.sh.
suites      := $(filter-out $(tool_suites) $(own_target),$(wildcard tests/*/run.sh)) tests/attach/stop.sh \
               tests/mutants/match.py
sources     := $(capture_src) $(sort $(preload_src) $(embed_src) $(attach_src)) $(trace_src) $(sim_src) $(cmd_src) \
               $(lab_cmd_src) \
               $(player_src) $(unit_src) $(support_src) \
               $(lab_src) $(lab_support) $(program_src) $(no_programs) $(stress_src)

obj          = $(patsubst %,$B/$1/%.o,$(basename $2))
capture_obj := $(call obj,obj,$(capture_src))
preload_obj := $(call obj,pic,$(capture_src) $(preload_src))
hooked      := engine/backend/linux/preload/%
attach_obj  := $(call obj,pic,$(capture_src) $(filter-out $(hooked),$(attach_src))) \
               $(call obj,attach,$(filter $(hooked),$(attach_src)))
embed_obj   := $(call obj,pic,$(capture_src) $(embed_src))
trace_obj   := $(call obj,obj,$(trace_src))
# Sources of the engine's backend that the lab's runtimes use.
lab_backend := engine/backend/art/jni.c engine/backend/common/slots/mapping.c engine/backend/linux/task_clock.c \
               engine/cmd/preload.c
sim_obj     := $(call obj,sim,$(engine_src) $(lab_backend) $(sim_src))
cmd_obj     := $(call obj,obj,$(cmd_src))
lab_cmd_obj := $(call obj,sim,$(lab_cmd_src)) $(call obj,obj,$(cmd_common))
lab_obj     := $(call obj,sim,$(lab_support))
support_obj := $(call obj,obj,$(support_src))
# The explored programs define the race detector's functions, so builds with the race detector omit these programs.
# EXPLORE=no omits them too, to save time.
programs    := $(if $(findstring thread,$(SAN))$(filter no,$(EXPLORE)),$(call obj,sim,$(no_programs)),\
                 $B/explore/programs.o)
explored_src := $(engine_src) $(addprefix engine/backend/linux/,handshake.c eh_entry.c eh_frame.c unwind_index.c) \
                engine/backend/linux/preload/stack_map.c engine/backend/art/code.c engine/backend/art/threads.c \
                engine/backend/mach/threads.c engine/backend/mach/host_mach.c $(program_src)
explore_obj := $(call obj,explore,$(explored_src))
players     := $B/strobe-player $(addprefix $B/strobe-player-,mach virtual virtual-mach)
lab_bin     := $(lab_src:tests/sim/%.c=$B/tests/sim/%)
unit_bin    := $(unit_src:tests/unit/%.c=$B/tests/unit/%) $(lab_bin)
# Tests in which a data race or a misuse of locks is possible. The other lab tests run fibers on one thread. The reading
# half and its tests have no threads, locks or atomic operations; tidy checks that.
reading     := diff html import sched symbols trace util watch
unthreaded  := $(lab_bin) $(filter $(patsubst %,$B/tests/unit/%/%,$(reading)),$(unit_bin))
threaded    := $(filter-out $(unthreaded),$(unit_bin)) $(filter %/test_real %/test_real_frames,$(lab_bin))
libs        := $B/libstrobe-trace.a $B/libstrobe-art.a $B/libstrobe-capture.a
sim_libs    := $B/libstrobe-sim.a $B/libstrobe-trace.a

loaded      := $B/libstrobe-preload.so $B/libstrobe-attach.so

all: $B/strobe $(loaded) $B/strobe-lab $(players) ## builds the commands and the libraries they load

# ---- build rules

$B/strobe: $(cmd_obj) $B/libstrobe-trace.a $B/libstrobe-capture.a
	$(call run,ld)$(link) -o $@ $^ $(trace_libs)

$B/strobe-lab: $(lab_cmd_obj) $(programs) $(sim_libs)
	$(call run,ld)$(link) -o $@ $(lab_cmd_obj) $(programs) -Wl,--start-group $(sim_libs) -Wl,--end-group $(trace_libs)

# Each player links its entry function from the library, or from one further object. The symbol sim_player is that
# function.
$B/strobe-player:              private player := sim_real_child
$B/strobe-player-mach:         private player := sim_real_mach_child
$B/strobe-player-virtual:      private player := sim_virtual_child
$B/strobe-player-virtual-mach: private player := sim_virtual_mach_child
$B/strobe-player-mach: $B/sim/mach_play.o
$B/strobe-player-virtual: $B/sim/virtual.o
$B/strobe-player-virtual-mach: $B/sim/virtual_mach.o
$(players): $(call obj,obj,$(player_src)) $(sim_libs)
	$(call run,ld)$(link) $(exports) -Wl,-u,$(player) -Wl,--defsym=sim_player=$(player) -o $@ $(filter %.o,$^) \
	    $(filter %.so,$^) -Wl,--start-group $(sim_libs) -Wl,--end-group $(trace_libs)

$B/libstrobe-capture.a: $(capture_obj)
	@mkdir -p $(@D) && rm -f $@
	$(call run,ar)$(AR) rcs $@ $^

# The lab: the engine's sources, built so that each atomic operation goes through the virtual kernel.
$B/libstrobe-sim.a: $(sim_obj)
	@mkdir -p $(@D) && rm -f $@
	$(call run,ar)$(AR) rcs $@ $^

# The public library that reads sessions and traces: engine/include/strobe/{session,trace}.h.
reading_obj := $(trace_obj) $(call obj,obj,$(wildcard engine/base/*.c engine/store/*.c engine/method/rhea/*.c))
$(reading_obj): private shared := -fPIC -fvisibility=hidden
$B/lib/libstrobe-trace.a: $(reading_obj)
	@mkdir -p $(@D) && rm -f $@
	$(call run,ar)$(AR) rcs $@ $^

$B/lib/libstrobe-trace.so.0: $(reading_obj)
	@mkdir -p $(@D)
	$(call run,ld)$(link) -shared -Wl,-soname,$(@F) -Wl,-z,defs,-z,now,--exclude-libs,ALL -o $@ $^ $(trace_libs)

$B/libstrobe-trace.a: $(trace_obj)
	@mkdir -p $(@D) && rm -f $@
	$(call run,ar)$(AR) rcs $@ $^

$B/libstrobe-preload.so: $(preload_obj)
	$(call run,ld)$(link) -shared -Wl,-soname,libstrobe-preload.so -Wl,-z,now,-z,defs -o $@ $^ $(preload_libs)

attach_map := engine/backend/linux/attach/exports.map
$B/libstrobe-attach.so: $(attach_obj) $(attach_map)
	$(call run,ld)$(link) -shared -Wl,-soname,libstrobe-attach.so -Wl,-z,now,-z,defs -Wl,--version-script=$(attach_map) \
	    -o $@ $(attach_obj) $(preload_libs)

# The capture library: the hooks and the public functions of engine/include/strobe/capture.h.
$B/lib/libstrobe-capture.so.0: $(embed_obj)
	@mkdir -p $(@D)
	$(call run,ld)$(link) -shared -Wl,-soname,$(@F) -Wl,-z,now,-z,defs -o $@ $^ $(preload_libs)

# The archive holds one object, so that a program which calls one function links all hooks. Hidden symbols become local.
$B/lib/libstrobe-capture.a: $(embed_obj)
	@mkdir -p $(@D) && rm -f $@
	$(call run,ar)$(LD) -r -o $@.o $^ && $(OBJCOPY) --localize-hidden $@.o && $(AR) rcs $@ $@.o && rm -f $@.o

# A test's own code need not be fast. It is half of what `make tests` compiles besides `make all`.
hasty_parts := $(addprefix $B/obj/tests/,contract_art contract_mach deadlock) $B/explore
$(hasty_parts:%=%/%.o): private haste := $(hasty)
unit_haste  := $(if $(filter -O1 -O2,$(CFLAGS)),-O0 -g1)
$B/obj/tests/unit/%.o $B/sim/tests/sim/%.o: private haste := $(unit_haste)
# Only optimized functions save and restore registers, which this test unwinds through.
$B/obj/tests/unit/linux/test_unwind_walk.o: private haste = $(if $(HASTE),$(hasty))
$B/sim/%.o $B/virtual/%.o $B/fake/%.o $B/small/%.o: private haste = $(if $(HASTE),$(hasty),$(lab_debug))
$B/pic/%.o $B/attach/%.o: private haste :=

$B/obj/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) -c -o $@ $<

$B/obj/%.o: %.S $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(assemble) -c -o $@ $<

$(call obj,obj,$(page_src)): $(page_parts)
$B/sim/sim/page/page_source.o: $(wildcard sim/page/*.js sim/page/*.css)

$B/sim/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) $(sim_flags) -c -o $@ $<

$B/sim/%.o: %.S $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(assemble) -c -o $@ $<

$B/explore/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) $(explore_flags) -c -o $@ $<

# A second copy of the engine for the explorer, beside the copy that the lab plays. It is one object whose only global
# symbol is the list of programs.
$B/explore/programs.o: $(explore_obj)
	$(call run,ld)$(LD) -r -o $@ $^ && $(OBJCOPY) --keep-global-symbol=explore_groups $@

# The explored programs on real threads, with the same small engine.
$B/stress: $(call obj,small,$(explored_src) $(stress_src))
	$(call run,ld)$(link) -o $@ $^

$B/small/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) -DSTROBE_SMALL -c -o $@ $<

$B/pic/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) $(pic) -c -o $@ $<

# The hooks of the attached library count themselves (engine/backend/linux/preload/visits.h).
$B/attach/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) $(pic) -DSTROBE_ATTACHED -c -o $@ $<

$B/attach/%.o: %.S $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(assemble) -fPIC -c -o $@ $<

$B/pic/%.o: %.S $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(assemble) -fPIC -c -o $@ $<

link_unit = $(call run,ld)$(link) $(TEST_LD) -o $@ $(filter %.o,$^) $(filter-out %.o,$^) -lcmocka $(trace_libs)
link_sim  = $(call run,ld)$(link) $(TEST_LD) -o $@ $(filter %.o,$^) -Wl,--start-group $(sim_libs) -Wl,--end-group \
            -lcmocka $(trace_libs) -lm

$B/tests/unit/%: $B/obj/tests/unit/%.o $(support_obj) $(libs)
	@mkdir -p $(@D)
	$(link_unit)

$B/tests/sim/%: $B/sim/tests/sim/%.o $(lab_obj) $(sim_libs)
	@mkdir -p $(@D)
	$(link_sim)

# The tests of one of these directories are one program, B/tests/unit/DIR/tests, because linking a test takes as long as
# compiling it. B/tests/unit/DIR/test_NAME is a symbolic link to that program (tests/support/named.c). Tests that define
# functions of the engine or of the system, or that take arguments, are programs of their own.
named_units := base capture control flight import method store symbols trace util watch
named_labs  := explore kernel play policy score
own_program := %/test_session_faults %/test_watch_memory %/test_x86_code %/test_litmus_random %/test_real_frames
named_tests  = $(filter-out $(own_program),$(filter $B/tests/$1/%,$(unit_bin)))

# name_tests DIR,KIND,ALSO: the program of tests/DIR. KIND is the directory of B with its objects. ALSO is linked, too.
define name_tests
$(call named_tests,$1): $B/tests/$1/tests
	@ln -sfn $$(<F) $$@
$(patsubst $B/%,$B/$2/%.o,$(call named_tests,$1)): private renamed = -Dmain=main_of_$$(*F) -Wno-missing-prototypes
$B/tests/$1/tests: $(patsubst $B/%,$B/$2/%.o,$(call named_tests,$1)) $B/$2/named/$1.o $3
	@mkdir -p $$(@D)
	$$(link_$(firstword $(subst /, ,$1)))
$B/$2/named/$1.o: tests/support/named.c tests/$1 $B/flags
	@mkdir -p $$(@D)
	$$(call run,cc)$$(compile) '-DNAMED_TESTS=$(patsubst %,NAMED(%),$(notdir $(call named_tests,$1)))' -c -o $$@ $$<
endef
$(foreach dir,$(named_units),$(eval $(call name_tests,unit/$(dir),obj,$(support_obj) $(libs))))
$(foreach dir,$(named_labs),$(eval $(call name_tests,sim/$(dir),sim,$(lab_obj) $(sim_libs))))
sources += tests/support/named.c

# This test rebinds pointers in images that it lays out itself. It defines the one system function that rebind.c calls.
rebind_src := engine/backend/mach/image.c engine/backend/mach/rebind.c
sources    += $(rebind_src)
$B/tests/unit/mach/test_mach_rebind: $(call obj,obj,$(rebind_src))

# These tests are of commands, whose files are in no library.
$B/tests/unit/attach/test_safe: $(call obj,obj,engine/cmd/attach/safe.c)
$B/tests/unit/sched/test_sched_family: $(call obj,obj,$(patsubst %,engine/cmd/record/sched_%.c,family names))
$B/tests/unit/sched/test_sched_names: $(call obj,obj,engine/cmd/record/sched_names.c)
$B/tests/unit/faults/test_faults_sched: $(call obj,obj,$(patsubst %,engine/cmd/record/sched_%.c,family names))
$B/tests/unit/sched/test_sched_found: \
    $(call obj,obj,$(patsubst %,engine/cmd/record/sched_%.c,family names perf threads))
$B/tests/unit/sched/test_sched_text: \
    $(call obj,obj,$(patsubst %,engine/cmd/record/%.c,sched_family sched_names tracefs/sched_text))

# This test is of hooks that each backend compiles for itself.
$B/tests/unit/linux/test_channels: $(call obj,obj,engine/backend/common/libc/channels.c)

# Compares stacks with those of libunwind at each instruction. lld writes no call frame information for calls through
# the procedure linkage table, GNU ld does.
$B/tests/unit/linux/test_unwind_walk: private trace_libs += -lunwind
# Programs that read their own call frame information. gold lays it out before its index.
$(addprefix $B/tests/,unit/linux/test_unwind_walk unit/linux/test_unwind_damaged fuzz/unwind/fuzz_eh_frame): \
    private override TEST_LD :=

# Compares instruction lengths with those of capstone.
$B/tests/unit/capture/test_x86_code: private trace_libs += $(if $(TRIPLET),,-lcapstone)

# Wraps the allocator to simulate a lack of memory.
$B/tests/unit/watch/test_watch_memory: private ldflags += $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc)

$(unit_src:%.c=$B/obj/%.o) $(support_obj) $(lab_src:%.c=$B/sim/%.o) $(lab_obj): | deps-unit

# Rebuilds everything when the compiler or the flags of this B change. The file holds the compile command without
# HASTE.
$B/flags: private haste :=
$B/flags: FORCE | deps-build
	@mkdir -p $B
	@echo '$(HASTE)' | cmp -s - $B/haste || { echo '$(HASTE)' >$B/haste; rm -f $@; }
	@echo '$(subst $(here),,$(compile))' | cmp -s - $@ || echo '$(subst $(here),,$(compile))' >$@

deps-build deps-unit deps-run deps-test deps-tools deps-deb deps-programs deps-programs-full: deps-%:
	@ci/deps $*
deps-unit deps-run deps-test deps-deb: | deps-build
deps-run deps-test: | deps-unit
deps-test deps-tools: | deps-run

# ---- targets

run: all $B/device/app_process64 | deps-run ## plays scenarios, records programs, captures an app; see out/
	@B=$B ci/demo out

figures: all | deps-test ## draws the pictures of the documents, in fixtures/figures, and prints their tables
	@B=$B ci/figure
	@B=$B ci/printed

# Tests that do not run under a sanitizer:
#   test_mach_guard      intercepts the C library, as sanitizers do
#   test_art_slots       has a dl_iterate_phdr of its own, which the sanitizers call before the program's begin
#   test_entry_jumps     steps through each instruction. Besides, GNU ld replaces an addition by lea when it relaxes an
#                        access to a thread's variable, and so loses the flags that a check for NULL tests
#   thread sanitizer     it delays signals, which implement the fake Mach's stops, the ticks of CPU clocks and the
#                        stops of threads whose code is patched;
#                        it reports a race when a test falsely declares a thread ended, and on the page that threads
#                        share when memory is short (emutls); its functions cannot be single-stepped
delayed     := %/test_mach_capture %/test_mach_faults %/test_mach_libsystem %/test_cpu_clock %/test_emutls \
               %/test_refused_calls %/test_unwind_walk %/test_generated_leaf %/test_art_detour \
               %/test_art_detours
unwatched    = %/test_mach_guard %/test_entry_jumps %/test_art_slots $(if $(findstring thread,$(SAN)),$(delayed))
suited       = $(if $(findstring thread,$(SAN)),$(threaded),$(unit_bin))
watched      = $(filter-out $(if $(SAN),$(unwatched)),$(suited))
unit: $(watched) ## runs the unit tests
	@B=$B tests/run $(watched)

STRESS_SECONDS ?= 20

stress: $B/stress ## plays the explored programs on real threads for STRESS_SECONDS (default 20)
	@$B/stress --seconds $(STRESS_SECONDS)

sources: ; @printf '%s\n' $(sort $(sources))

units: $(unit_bin)

tests: all units $B/stress

test: tests | deps-test ## runs the tests: unit tests, whole-command suites, style
	@B=$B tests/run $(unit_bin) $(suites)

test-programs: ; @printf '%s\n' $(unit_bin) $(suites)

test-tools: all | deps-tools ## tests clang, README's commands, the runner, the gate, mutants, pages
	@B=$B LIMIT=$${LIMIT:-480} tests/run $(tool_suites)

test-calibrate: all $B/bench/strobe-costs | deps-test ## compares virtual time with real threads, two scenarios
	@B=$B tests/run tests/calibrate/run.sh

# FULL=1 records all programs in all modes for several seconds each. HANG_ROUNDS: see tests/programs/hang.sh; 52 are
# one for each of 13 programs in each of four modes. Hangs that are rarer than that are for the nightly run.
HANG_ROUNDS ?= $(if $(FULL),10000,52)
programs: all | deps-programs$(if $(FULL),-full) ## records real programs beside a bare run and beside perf
	@B=$B tests/programs/run.sh
	@B=$B tests/programs/hang.sh $(HANG_ROUNDS)

SIZE ?= quick
explore: all | deps-test ## explores all interleavings of small programs in each memory model (SIZE=nightly: more)
	@B=$B SIZE=$(SIZE) MEMORY=all tests/explore/run.sh

include ci/lanes.mk ci/install.mk
include sim/genuine/art.mk sim/fake/mach/mach.mk sim/player/mach/play.mk sim/player/virtual/virtual.mk
include sim/player/probes/probes.mk
include bench/bench.mk bench/gate/gate.mk tests/genuine/genuine.mk
include engine/backend/sdk/bionic/android.mk tests/android/android.mk engine/backend/sdk/darwin/darwin.mk
include tests/faults/faults.mk tests/gnumach/gnumach.mk tests/emulate/emulate.mk tests/mach_stress/mach_stress.mk
include tests/embed/embed.mk tests/html/html.mk
# A sanitized build compiles the engine once: its static libraries hold the objects of its shared ones.
ifdef SAN
compiled_once := $(filter %.c,$(sort $(capture_src) $(art_src) $(mach_src) $(xnu_src)))
$(call obj,obj,$(compiled_once)): private shared := $(pic)
$(call obj,pic,$(compiled_once)): $B/pic/%.o: $B/obj/%.o
	@mkdir -p $(@D) && ln -f $< $@
endif
# Programs that several suites build. Building them first avoids builds in parallel.
test: $B/genuine/make_traces $B/contract_art $B/device/app_process64 $B/lib/libstrobe-capture.so.0 $(completions)
test-tools: $(gate_programs) $B/html/make_sessions
benches: $B/bench/strobe-bench $B/bench/strobe-bench-lab $B/bench/strobe-bench-art $B/bench/strobe-bench-mach \
         $(gate_programs) $B/bench/workload

# Compiles for warnings only, without output, for tests/compilers. By default it omits the sources that `make all`
# compiles; READ=all includes them.
read_src := $(filter-out $(if $(READ),,$(sim_src) $(cmd_src) $(lab_cmd_src) $(trace_src)) bench/peers/% $(bionic)/% \
              $(darwin)/% tests/android/shim.c tests/emulate/% $(gnumach_own),$(filter %.c,$(sources)))
read: $(read_src:%=$B/read/%)
$(addprefix $B/read/,$(lab_src) $(lab_support) $(sim_src) $(lab_cmd_src)): flavour := $(sim_flags)
$(program_src:%=$B/read/%): flavour := $(explore_flags)
$B/read/%: % $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) $(flavour) -MF $@.d -MT $@ -fsyntax-only $< && touch $@

clean: ## removes all build output and out/
	rm -rf $B $B-* out

help: ## prints this list
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/    make \1|\2/p' $(filter %akefile %.mk,$(MAKEFILE_LIST)) | \
	    awk -F'|' '{ printf "%-21s %s\n", $$1, $$2 }'

FORCE:

.PHONY: all run figures unit units read benches sources stress tests test test-programs test-tools test-calibrate \
        explore clean help FORCE programs \
        deps-build deps-unit deps-run deps-test deps-tools deps-deb deps-programs deps-programs-full
.SECONDARY:
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# The compiler writes these files. The rule without a recipe saves make the search for rules that could make them: with
# 1,700 files the search takes more than a second, and suites call make often.
dependencies := $(shell find $B -name '*.d' -type f 2>/dev/null)
$(dependencies): ;
-include $(dependencies)
