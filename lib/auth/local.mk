# lib/auth: who is calling
noinst_LIBRARIES += libauth.a
libauth_a_SOURCES = \
	lib/auth/credential.c lib/auth/credential.h \
	lib/auth/credential_header.c lib/auth/credential_header.h \
	lib/auth/mcp_grant.c lib/auth/mcp_grant.h \
	lib/auth/principal.c lib/auth/principal.h \
	lib/auth/session.c lib/auth/session.h \
	lib/auth/wrong_keys.c lib/auth/wrong_keys.h
libauth_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

AUTH_LIBS = libauth.a
