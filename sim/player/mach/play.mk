# A player of real mode as an app on the fake Mach. It consists of the player's sources, compiled so that their calls go
# through the pointers of the app's image, of the engine's Mach backend, and of the fake Mach over real threads.
# Included by the Makefile.

mach_player   := $(addprefix sim/player/,notes.c play.c queue.c stage_frames.c step.c waits.c)
mach_play_src := $(wildcard sim/player/mach/*.c)
sources       += $(mach_play_src)

$B/machplay/%.o: %.c sim/player/mach/app.h $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) -Dsim_real_child=sim_real_mach_player -include sim/player/mach/app.h -c -o $@ $<

# One object with a single global symbol, because the command contains the same functions a second time.
$B/sim/mach_play.o: $(call obj,machplay,$(mach_player)) \
                    $(call obj,obj,$(mach_play_src) sim/player/work.c $(engine_src) $(mach_src) $(xnu_src)) \
                    $(call obj,sim,sim/player/frames.S)
	$(call run,ld)$(LD) -r -o $@ $^ && $(OBJCOPY) --keep-global-symbol=sim_real_mach_child $@
