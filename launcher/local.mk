# launcher: starts nginx and PostgreSQL with no more rights than they need
bin_PROGRAMS += deft-launch
deft_launch_SOURCES = launcher/main.c
deft_launch_LDADD = $(CONFINE_LIBS) $(BASE_LIBS)

check_PROGRAMS += launcher_test
launcher_test_SOURCES = tests/unit/launcher/launcher_test.c tests/unit/support/program.c tests/unit/support/program.h
launcher_test_CPPFLAGS = $(TEST_CPPFLAGS) -DDEFT_LAUNCH='"$(abs_top_builddir)/deft-launch"'
launcher_test_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
EXTRA_launcher_test_DEPENDENCIES = deft-launch$(EXEEXT)
