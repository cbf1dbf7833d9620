# Fake runtimes in virtual time: the player, the engine and the runtimes' threads, compiled again over the virtual
# kernel's implementation of POSIX. Included by the Makefile.

# stop.c takes the place of the Linux host's suspend.c.
virtual_src   := $(wildcard sim/player/virtual/*.c)
virtual_src   := $(filter-out sim/player/virtual/device.c,$(virtual_src))
# The app: the part of the player that makes the scenario's calls. It is a library, so its calls go through slots of a
# global offset table, which the engine exchanges. The engine is in the program.
virtual_app   := $(addprefix sim/player/,queue.c executor_art.c executor_frames.c step.c waits.c virtual/device.c)
# Sources compiled again. The lab's build of the engine itself is used as it is.
virtual_again := sim/player/art.c sim/player/notes.c sim/player/play.c sim/fake/art/pthreads.c \
                 $(filter-out $(lab_backend),$(art_src)) \
                 $(addprefix engine/backend/linux/,await_threads.c descriptors.c host_linux.c images.c lock_holder.c \
                   main_stack.c maps.c unwind_table.c unwind_index.c unwind_images.c eh_frame.c eh_entry.c word_wait.c)
virtual_mach_src := $(wildcard sim/player/virtual/mach/*.c)
sources       += $(virtual_src) $(virtual_mach_src) sim/player/virtual/device.c

# The fake Mach without its threads, which sim/player/virtual/mach replaces.
virtual_xnu   := $(filter-out sim/fake/mach/pthreads.c,$(wildcard sim/fake/mach/*.[cS]))

# Sources compiled again call posix_*.c, which call the C library.
$(call obj,virtual,$(virtual_xnu)): flavour := -Dfake_mach_pthreads=sim_virtual_mach \
                                                 -include sim/player/virtual/mach/zone.h
$(call obj,virtual,tests/contract_mach/fake.c): flavour := -Dmain=contract_mach_main
$B/virtual/%.o: %.S $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(assemble) -c -o $@ $<

$B/virtual/%.o: %.c sim/player/virtual/posix.h $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) $(sim_flags) -DSIM_VIRTUAL -Dsim_real_child=sim_virtual_player $(flavour) \
	    -include sim/player/virtual/posix.h -c -o $@ $<

$B/app/%.o: %.c sim/player/virtual/posix.h $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) $(sim_flags) -fPIC -DSIM_VIRTUAL -include sim/player/virtual/posix.h -c -o $@ $<

# What the program must export to the app is left undefined here. -z now: Android binds all slots at once.
$B/libstrobe-app.so: $(call obj,app,$(virtual_app))
	$(call run,ld)$(link) -shared -Wl,-soname,libstrobe-app.so -Wl,-z,now -Wl,--defsym=$(transact)=sim_real_art_binder \
	    -o $@ $^

virtual_obj := $(call obj,virtual,$(virtual_again)) $(call obj,sim,$(virtual_src) sim/player/frames.S)
$B/sim/virtual.syms: $B/libstrobe-app.so
	$(call run,gen){ echo sim_virtual_child; $(NM) -D --undefined-only $< | sed -n 's/.* U \([^@]*\).*/\1/p'; } >$@
$B/sim/virtual.o: $(virtual_obj) $B/sim/virtual.syms
	$(call run,ld)$(LD) -r --wrap=strobe_art_thread --wrap=strobe_art_walk_methods \
	    --wrap=strobe_linux_thread_state \
	    -o $@ $(virtual_obj) && \
	    $(OBJCOPY) --wildcard --keep-global-symbols=$B/sim/virtual.syms --keep-global-symbol='sim_posix_*' $@
$B/strobe-player-virtual: $B/libstrobe-app.so
$B/strobe-player-virtual: private exports := -Wl,--export-dynamic-symbol='sim_posix_*' \
                                             -Wl,--export-dynamic-symbol=pthread_attr_setstack \
                                             -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../../lib/strobe'

# The engine's calls of functions that are forbidden while a thread is suspended go through the guard's entry points
# (sim/fake/mach/guard), by the functions' names in virtual time.
$B/virtual/forbidden.h: sim/player/virtual/posix.h sim/player/virtual/mach/zone.h
	@mkdir -p $(@D)
	$(call run,gen)sed -nE '/^#define [a-z_]+ +sim_(posix|zone)_[a-z_]+$$/p' $^ >$@
virtual_guard := $B/virtual/sim/fake/mach/guard/entries.o
$(virtual_guard): sim/fake/mach/guard/entries.S sim/fake/mach/guard/forbidden.inc $B/virtual/forbidden.h $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(assemble) -DSIM_VIRTUAL -include $B/virtual/forbidden.h -c -o $@ $<
$B/virtual/forbidden.syms: $(virtual_guard)
	$(call run,gen)$(NM) --defined-only $< | sed -nE 's/.* T guarded_(.*)/\1 guarded_\1/p' >$@
$B/guarded/%.o: $B/%.o $B/virtual/forbidden.syms
	@mkdir -p $(@D)
	$(call run,ld)$(OBJCOPY) --redefine-syms=$B/virtual/forbidden.syms $< $@
$(call obj,virtual,$(mach_src)): flavour := -include sim/player/virtual/mach/zone.h
# The app's pointers must lead to the same entry points that the engine uses; otherwise the engine hooks none of them.
virtual_pointers := $B/guarded/virtual/sim/fake/mach/image.o
virtual_unwatched := $(filter-out sim/fake/mach/image.c,$(virtual_xnu))
virtual_mach_guarded := $(patsubst $B/%,$B/guarded/%,$(call obj,virtual,$(mach_src))) $(virtual_guard)

# The player in virtual time on the fake Mach, as an app (sim/player/mach).
$B/machvirtual/%.o: %.c sim/player/virtual/posix.h sim/player/mach/app.h $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) $(sim_flags) -DSIM_VIRTUAL -Dsim_real_child=sim_virtual_player -include sim/fake/mach/app.h \
	    -include sim/player/virtual/posix.h -include sim/player/mach/app.h -c -o $@ $<

virtual_mach_obj := $(call obj,machvirtual,$(mach_player)) \
                    $(virtual_mach_guarded) $(virtual_pointers) \
                    $(call obj,virtual,$(virtual_unwatched) sim/player/mach/runtime.c sim/player/mach/calls.c) \
                    $(call obj,sim,$(filter-out sim/player/virtual/loader.c,$(virtual_src)) $(virtual_mach_src) \
                      sim/player/frames.S)
$B/sim/virtual_mach.o: $(virtual_mach_obj)
	$(call run,ld)$(LD) -r --wrap=strobe_mach_thread -o $@ $^ && \
	    $(OBJCOPY) --redefine-sym sim_virtual_child=sim_virtual_mach_child $@ && \
	    $(OBJCOPY) --keep-global-symbol=sim_virtual_mach_child $@

# The contract tests of Mach (tests/contract_mach) over virtual threads.
posix_obj     := $(call obj,sim,$(wildcard sim/player/virtual/posix_*.c) \
                   $(addprefix sim/player/virtual/mach/,system.c zone.c))
$B/contract_mach_virtual: $(call obj,virtual,$(filter-out %/virtual.c,$(rules_src)) $(virtual_xnu)) $(posix_obj) \
                          $(call obj,sim,tests/contract_mach/virtual.c) $(sim_libs)
	$(call run,ld)$(link) -o $@ $(filter %.o,$^) -Wl,--start-group $(sim_libs) -Wl,--end-group $(trace_libs) -lm
tests: $B/contract_mach_virtual

# A capture with a forbidden call planted in the suspended window, on virtual threads. The guard checks engine and
# plants.
deadlock_src  := $(wildcard tests/deadlock/*.c)
planted_src   := engine/backend/mach/host_mach.c
sources       += $(deadlock_src)
$B/virtual/planted/%.o: %.c sim/player/virtual/posix.h $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) $(sim_flags) -DSIM_VIRTUAL -include sim/player/virtual/posix.h \
	    -include sim/player/virtual/mach/zone.h \
	    -Dthread_get_state=planted_get_state -c -o $@ $<
deadlock_watched := $(call obj,virtual/planted,$(planted_src)) $(call obj,sim,$(engine_src)) \
                    $(call obj,virtual,$(filter-out $(planted_src),$(mach_src)) tests/deadlock/plants.c)
$(call obj,virtual,tests/deadlock/plants.c): flavour := -include sim/player/virtual/mach/zone.h
$B/deadlock_virtual: $(patsubst $B/%,$B/guarded/%,$(deadlock_watched)) $(virtual_guard) $(posix_obj) \
                     $(virtual_pointers) $(call obj,virtual,$(virtual_unwatched) tests/deadlock/window.c) \
                     $(call obj,sim,sim/player/virtual/mach/guard.c tests/deadlock/virtual.c) $(sim_libs)
	$(call run,ld)$(link) -rdynamic -o $@ $(filter %.o,$^) -Wl,--start-group $(sim_libs) -Wl,--end-group $(trace_libs) -lm
tests: $B/deadlock_virtual
