# Capture policies by probes, for the player of real mode: the engine's capture code for real threads, and the functions
# that the player's probes call. Included by the Makefile.

probes_src  := $(wildcard sim/player/probes/*.c)
sources     += $(probes_src)

all: $B/libstrobe-probes.so

$B/libstrobe-probes.so: $(call obj,pic,$(capture_src) engine/util/array.c $(probes_src))
	$(call run,ld)$(link) -shared -Wl,-soname,libstrobe-probes.so -Wl,-Bsymbolic,-z,defs,-z,now -o $@ $^ \
	    $(preload_libs)
