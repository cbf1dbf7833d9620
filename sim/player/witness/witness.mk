# The library of capture policies that use probes, for the played process of real mode. It consists of the engine's
# capture half for real threads and of the code that passes the player's probes to it. Included by the Makefile.

witness_src := $(wildcard sim/player/witness/*.c)
sources     += $(witness_src)

all: $B/libstrobe-witness.so

$B/libstrobe-witness.so: $(call obj,pic,$(capture_src) engine/util/array.c $(witness_src))
	$(call run,ld)$(link) -shared -Wl,-soname,libstrobe-witness.so -Wl,-Bsymbolic,-z,defs,-z,now -o $@ $^ \
	    $(preload_libs)
