# Strobe: the only build entry. `make help` lists what it does.
#
#   B=DIR     where things are built (default build)
#   CC=clang  another compiler
#   SAN=address,undefined | thread    a sanitized build (give it a B of its own)

B ?= build
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif

PKGS      := libdw libelf zlib
CPPFLAGS  := -I. -D_GNU_SOURCE
CFLAGS    ?= -O2 -g
CFLAGS    += -std=c11 -Wall -Wextra -Werror -Wvla -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
             -fno-omit-frame-pointer -pthread -MMD -MP
LDFLAGS   += -pthread
ifdef SAN
CFLAGS    += -fsanitize=$(SAN) -fno-sanitize-recover=all
LDFLAGS   += -fsanitize=$(SAN)
endif

capture_src := $(wildcard engine/base/*.c engine/store/*.c engine/capture/*.c engine/backend/linux/*.c)
preload_src := $(wildcard engine/backend/linux/preload/*.c)
preload_asm := $(wildcard engine/backend/linux/preload/*.S)
trace_src   := $(wildcard engine/trace/*.c)
cmd_src     := $(wildcard sim/cmd/*.c)
unit_src    := $(wildcard tests/unit/test_*.c)

capture_obj := $(capture_src:%.c=$B/obj/%.o)
preload_obj := $(capture_src:%.c=$B/pic/%.o) $(preload_src:%.c=$B/pic/%.o) $(preload_asm:%.S=$B/pic/%.o)
trace_obj   := $(trace_src:%.c=$B/obj/%.o)
cmd_obj     := $(cmd_src:%.c=$B/obj/%.o)
unit_bin    := $(unit_src:tests/unit/%.c=$B/tests/unit/%)

all: $B/strobe $B/libstrobe-preload.so

$B/strobe: $(cmd_obj) $B/libstrobe-trace.a $B/libstrobe-capture.a
	$(CC) $(LDFLAGS) -o $@ $^ -ldw -lelf -lz -lstdc++ -ldl

$B/libstrobe-capture.a: $(capture_obj)
	rm -f $@; $(AR) rcs $@ $^

$B/libstrobe-trace.a: $(trace_obj)
	rm -f $@; $(AR) rcs $@ $^

$B/libstrobe-preload.so: $(preload_obj)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libstrobe-preload.so -Wl,-z,now -o $@ $^ -ldl

$B/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$B/pic/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -fexceptions -ftls-model=initial-exec -c -o $@ $<

$B/pic/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -fPIC -c -o $@ $<

$B/tests/unit/%: $B/obj/tests/unit/%.o $B/libstrobe-trace.a $B/libstrobe-capture.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ -lcmocka -ldw -lelf -lz -lstdc++ -ldl

unit: $(unit_bin)
	@for t in $(unit_bin); do echo "== $$t"; "$$t" || exit 1; done

clean:
	rm -rf $B out

.PHONY: all unit clean
.SECONDARY:

-include $(shell find $B -name '*.d' 2>/dev/null)
