# lib/start: how a conversation begins
noinst_LIBRARIES += libstart.a
libstart_a_SOURCES = \
	lib/start/installed_skills.c lib/start/installed_skills.h \
	lib/start/profile_resolve.c lib/start/profile_resolve.h \
	lib/start/sandbox_secret.c lib/start/sandbox_secret.h \
	lib/start/start.c lib/start/start.h \
	lib/start/start_context.c lib/start/start_context.h \
	lib/start/start_expand.c lib/start/start_expand.h \
	lib/start/start_fork.c lib/start/start_fork.h \
	lib/start/start_parse.c lib/start/start_parse.h \
	lib/start/start_place.c lib/start/start_place.h \
	lib/start/start_rows.c lib/start/start_rows.h \
	lib/start/start_store.c lib/start/start_store.h \
	lib/start/start_validate.c lib/start/start_validate.h
libstart_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

START_LIBS = libstart.a
