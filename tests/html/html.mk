# The program that tests/html/run.sh uses. Included by the Makefile.

sources += tests/html/make_sessions.c

$B/html/make_sessions: $B/obj/tests/html/make_sessions.o $(support_obj) $(libs)
	@mkdir -p $(@D)
	$(call run,ld)$(link) -o $@ $^ -lcmocka $(trace_libs)
