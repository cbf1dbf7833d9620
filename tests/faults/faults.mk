# Faults of the C library, for the sweeps of tests/faults/run.sh and for tests that are linked with them. Included by
# the Makefile.

faulty_src   := tests/faults/faulty.c
sources      += $(faulty_src)
faulty_calls := malloc calloc realloc aligned_alloc mmap mprotect write pwrite fallocate posix_fallocate ftruncate \
                fsync rename link mkdir read pread fopen fdopen fstat stat mkstemp memfd_create pipe pipe2 fork \
                pthread_create sigaction open openat
faulty_wraps := $(faulty_calls:%=-Wl,--wrap=%)

$B/libfaulty.so: $(call obj,pic,$(faulty_src))
	$(call run,ld)$(link) -shared -Wl,-z,now -o $@ $^ $(preload_libs)
$(call obj,pic,$(faulty_src)): private pic := -fPIC
tests: $B/libfaulty.so

$B/linked/%.o: %.c $B/flags
	@mkdir -p $(@D)
	$(call run,cc)$(compile) -DFAULTS_LINKED -c -o $@ $<

# The contract tests of the Android runtimes start captures under faults.
$B/contract_art $B/contract_android: $(call obj,linked,$(faulty_src))
$B/contract_art $B/contract_android: private ldflags += $(faulty_wraps)

# Unit tests that sweep the faults of one operation within the process.
swept   := $(patsubst %.c,$B/%,$(wildcard tests/unit/faults/test_*.c))
sweeper := tests/unit/faults/sweep.c
sources += $(sweeper)
$(swept): $(call obj,linked,$(faulty_src)) $(call obj,obj,$(sweeper))
$(swept): private ldflags += $(faulty_wraps)

# Unit tests that let system calls of the Linux backend fail (refused.h).
refusing_tests := $B/tests/unit/linux/test_refused_calls
sources        += tests/faults/refused.c
$(refusing_tests): $(call obj,obj,tests/faults/refused.c)
$(refusing_tests): private ldflags += -Wl,--wrap=syscall

# What the recording cases record.
$B/spin: $(call obj,obj,tests/faults/spin.c)
	$(call run,ld)$(link) -o $@ $^
sources += tests/faults/spin.c
tests: $B/spin
