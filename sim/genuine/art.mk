# The engine on Android's runtime, the fake runtimes, and the contract tests of both. Included by the Makefile.

art_src      := $(libc_src) $(slots_src) $(api_src) \
                $(wildcard engine/backend/art/*.c engine/backend/art/*/*.[cS] engine/method/*/art/*.c)
binder_src   := sim/genuine/binder.c
art_lab_src  := $(filter-out $(binder_src),$(wildcard sim/genuine/*.[cS])) $(wildcard sim/player/dex/*.c)
fake_src     := $(wildcard sim/fake/art/*.[cS] sim/fake/art/*/*.[cS])
fake_levels  := 24 25 26 27 28 29 30 31 32 33 34 35 36
native_src   := tests/contract_art/native/calls.c # the app's library in the contract tests
contract_src := $(filter-out $(native_src),\
                    $(wildcard $(addprefix tests/contract_art/,*.c native/*.c start/*.c support/*.c)))
sources      += $(art_src) $(art_lab_src) $(binder_src) $(fake_src) $(contract_src) $(native_src)
fake_libs    := $(fake_levels:%=$B/art/%/libart.so)
fake_obj     := $(call obj,fake,$(fake_src))
cutils_src   := sim/genuine/cutils/cutils.c
cutils_libs  := $(addprefix $B/cutils/,$(addsuffix /libcutils.so,25 26 30))
sources      += $(cutils_src)

art: $B/libstrobe-art.so $(fake_libs) $B/contract_art ## builds the engine on Android's runtime, fakes, contract test

# strobe-lab starts players in these runtimes and loads the engine's library into them.
all: $B/libstrobe-art.so $(fake_libs) $(cutils_libs) $B/libstrobe-binder.so $B/libapp.so

$B/libstrobe-art.a: $(call obj,obj,$(art_src))
	@mkdir -p $(@D) && rm -f $@
	$(call run,ar)$(AR) rcs $@ $^

$B/libstrobe-art.so: $(call obj,pic,$(capture_src) $(art_src))
	$(call run,ld)$(link) -shared -Wl,-soname,libstrobe-art.so -Wl,-Bsymbolic -Wl,-z,now -o $@ $^ $(preload_libs)

# Its call goes through the global offset table. The dynamic linker resolves it when the library is opened.
$B/libstrobe-binder.so: $(call obj,pic,$(binder_src))
	$(call run,ld)$(link) -shared -Wl,-soname,libstrobe-binder.so -Wl,-z,now -o $@ $^

# The native code of a scenario (sim/player/frames.h).
$B/libapp.so: $B/app/sim/player/frames.o
	$(call run,ld)$(link) -shared -Wl,-soname,libapp.so -Wl,--build-id -Wl,-z,now -o $@ $^
$B/app/%.o: %.S $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(assemble) -DSIM_APP_LIBRARY -fPIC -c -o $@ $<

$B/fake/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) -fPIC -fvisibility=hidden -c -o $@ $<

$B/fake/%.o: %.S $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(assemble) -fPIC -c -o $@ $<

# One library for each level, linked from the same objects. The level determines its exported symbols.
$B/art/%/libart.so: $(fake_obj) sim/fake/art/level sim/fake/art/symbols.txt
	@mkdir -p $(@D)
	$(call run,ld)CC='$(CC)' OBJCOPY='$(OBJCOPY)' LINK='$(link)' sim/fake/art/level $* $@ $(fake_obj)

$(foreach flavour,obj sim pic,$B/$(flavour)/sim/genuine/dexes.o): fixtures/art/core11.dex fixtures/art/core14.dex

# The library that cases of starts load, and the command that reads a dump. None of the cases that run with the thread
# sanitizer (tests/contract_art/run.sh) needs them.
loaded_art := $(if $(findstring thread,$(SAN)),,$B/libstrobe-art.so $B/strobe)

# Programs that start runtimes do not simulate, so the lab's sources in them are built as the engine is.
$B/contract_art: $(call obj,obj,$(contract_src) $(art_lab_src) tests/unit/support/control_client.c \
                   tests/unit/support/trial.c engine/util/array.c engine/cmd/preload.c) \
                 $B/libstrobe-art.a $B/libstrobe-capture.a | $(loaded_art) $B/libapp.so
	$(call run,ld)$(link) -rdynamic -o $@ $^ $(preload_libs) -lm

# The app that tests/device captures. The engine is in the library that it loads. Its file has the name of the program
# of Android's apps.
device_src := tests/device/app.c
sources    += $(device_src)
$B/device/app_process64: $(call obj,obj,$(device_src) $(addprefix tests/contract_art/support/,java.c bionic.c) \
                           $(wildcard sim/genuine/*.S) \
                           $(addprefix sim/genuine/,runtime.c genuine.c empty_library.c)) \
                         $B/libstrobe-art.a $B/libstrobe-capture.a | $B/libstrobe-art.so
	@mkdir -p $(@D)
	$(call run,ld)$(link) -rdynamic -o $@ $^ $(preload_libs) -lm

# The app's library in the contract tests: its calls go through slots that a capture exchanges.
$B/libcontract-native.so: $(call obj,pic,$(native_src))
	$(call run,ld)$(link) -shared -Wl,-soname,$(@F) -Wl,-z,now,-z,relro -o $@ $^
$B/contract_art $B/contract_android: | $B/libcontract-native.so $B/libapp.so
$B/contract_art $B/contract_android: private ldflags += -Wl,-rpath,'$$ORIGIN'

# Stand-ins for ShadowHook's library: of version 2.0, and an older one.
shadowhook_src  := tests/support/shadowhook.c
shadowhook_libs := $(addprefix $B/shadowhook/,new/libshadowhook.so old/libshadowhook.so)
sources         += $(shadowhook_src)
$B/shadowhook/old/libshadowhook.so: private version := -DSTAND_IN_OLD
$(shadowhook_libs): $(shadowhook_src) $(call obj,pic,$(wildcard engine/backend/art/detour/*.c) \
                      engine/backend/common/slots/mapping.c engine/capture/x86_code.c) $B/flags
	@mkdir -p $(@D)
	$(call run,ld)$(compile) -MF $@.d -fPIC -fvisibility=hidden $(version) -shared -Wl,-soname,libshadowhook.so \
	    $(ldflags) -o $@ $(filter %.c %.o,$^)
$B/tests/unit/art/test_art_hooker $B/contract_art $B/contract_android: | $(shadowhook_libs)

# Compares moved instructions with capstone's reading of them, among others those of a fake.
$B/tests/unit/art/test_art_moved: private trace_libs += $(if $(TRIPLET),,-lcapstone)
$B/tests/unit/art/test_art_moved: | $(if $(TRIPLET),,$B/art/30/libart.so)

# Three versions of libcutils (see its source). Its calls of the C library go through slots that are bound lazily, as in
# the genuine library.
$B/cutils/%/libcutils.so: $(cutils_src) $B/flags
	@mkdir -p $(@D)
	$(call run,ld)$(compile) -MF $@.d -fPIC -fvisibility=hidden -DFAKE_CUTILS_LEVEL=$* -shared \
	    -Wl,-soname,libcutils.so $(ldflags) -o $@ $<
$B/tests/unit/art/test_atrace: | $(cutils_libs)
