# Shared by test programs
check_LIBRARIES += libtestcatalogue.a libtestsupport.a
libtestcatalogue_a_SOURCES = tests/unit/support/test_catalogue.c tests/unit/support/test_catalogue.h
libtestcatalogue_a_CPPFLAGS = $(TEST_CPPFLAGS) \
	-DTEST_CATALOGUE_DIR='"$(abs_top_srcdir)/catalogue"'
libtestsupport_a_SOURCES = \
	tests/unit/support/descriptors.c tests/unit/support/descriptors.h \
	tests/unit/support/json_path.c tests/unit/support/json_path.h \
	tests/unit/support/pg.c tests/unit/support/pg.h \
	tests/unit/support/sql.c tests/unit/support/sql.h
libtestsupport_a_CPPFLAGS = $(TEST_CPPFLAGS) $(PQ_CFLAGS)

TEST_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit \
	-DDEFT_TOP_SRCDIR='"$(abs_top_srcdir)"' $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
