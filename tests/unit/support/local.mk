# Shared by test programs
check_LIBRARIES = libtestsupport.a
libtestsupport_a_SOURCES = \
	tests/unit/support/pg.c tests/unit/support/pg.h \
	tests/unit/support/sql.c tests/unit/support/sql.h
libtestsupport_a_CPPFLAGS = $(TEST_CPPFLAGS) $(PQ_CFLAGS)

TEST_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit \
	-DDEFT_TOP_SRCDIR='"$(abs_top_srcdir)"' $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
