# relay: between a process and the logger of its output
bin_PROGRAMS += deft-relay
deft_relay_SOURCES = relay/main.c
deft_relay_LDADD = libbase.a

check_PROGRAMS += relay_test
relay_test_SOURCES = tests/unit/relay/relay_test.c tests/unit/support/program.c tests/unit/support/program.h
relay_test_CPPFLAGS = $(TEST_CPPFLAGS) -DDEFT_RELAY='"$(abs_top_builddir)/deft-relay"'
relay_test_LDADD = $(BASE_LIBS) $(CMOCKA_LIBS)
EXTRA_relay_test_DEPENDENCIES = deft-relay$(EXEEXT)
