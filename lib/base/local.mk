# lib/base: text, memory, errors, log, clock, settings, ids, crypto
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	lib/base/attr.h \
	lib/base/clock.c lib/base/clock.h \
	lib/base/codec/chunked.c lib/base/codec/chunked.h \
	lib/base/codec/event_stream.c lib/base/codec/event_stream.h \
	lib/base/codec/multipart.c lib/base/codec/multipart.h \
	lib/base/codec/query.c lib/base/codec/query.h \
	lib/base/crash.c lib/base/crash.h \
	lib/base/crypto.c lib/base/crypto.h \
	lib/base/crypto_hash.c \
	lib/base/crypto_password.c \
	lib/base/crypto_random.c \
	lib/base/encode.c lib/base/encode.h \
	lib/base/error.c lib/base/error.h \
	lib/base/fernet.c lib/base/fernet.h \
	lib/base/file.c lib/base/file.h \
	lib/base/json.c lib/base/json.h \
	lib/base/lines.c lib/base/lines.h \
	lib/base/lock.c lib/base/lock.h \
	lib/base/log.c lib/base/log.h \
	lib/base/mem.c lib/base/mem.h \
	lib/base/normal_path.c lib/base/normal_path.h \
	lib/base/process.c lib/base/process.h \
	lib/base/sandbox_key.c lib/base/sandbox_key.h \
	lib/base/sandbox_variables.h \
	lib/base/secret.c lib/base/secret.h \
	lib/base/settings.c lib/base/settings.h \
	lib/base/strbuf.c lib/base/strbuf.h \
	lib/base/text.c lib/base/text.h \
	lib/base/text_folder.c lib/base/text_folder.h \
	lib/base/utf8.c lib/base/utf8.h \
	lib/base/uuid.c lib/base/uuid.h \
	lib/base/zip.c lib/base/zip.h
libbase_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)

# Separate, for programs that link libseccomp; deft-action does not.
noinst_LIBRARIES += libconfine.a
libconfine_a_SOURCES = lib/base/confine.c lib/base/confine.h
libconfine_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(SECCOMP_CFLAGS)

CONFINE_LIBS = libconfine.a $(SECCOMP_LIBS)
BASE_LIBS = libbase.a $(JANSSON_LIBS) $(CRYPTO_LIBS) $(ZLIB_LIBS)

check_PROGRAMS += base-test
base_test_SOURCES = \
	tests/unit/base/base_test.c \
	tests/unit/base/base_test.h \
	tests/unit/base/clock_test.c \
	tests/unit/base/codec/chunked_test.c \
	tests/unit/base/codec/event_stream_test.c tests/unit/support/event_frames.h \
	tests/unit/base/codec/multipart_test.c \
	tests/unit/base/codec/query_test.c \
	tests/unit/base/confine_calls_test.c \
	tests/unit/base/confine_test.c \
	tests/unit/base/crash_test.c \
	tests/unit/base/crypto_test.c \
	tests/unit/base/encode_test.c \
	tests/unit/base/error_test.c \
	tests/unit/base/fernet_test.c \
	tests/unit/base/file_test.c \
	tests/unit/base/json_test.c \
	tests/unit/base/lines_test.c \
	tests/unit/base/lock_test.c \
	tests/unit/base/log_test.c \
	tests/unit/base/mem_test.c \
	tests/unit/base/process_test.c \
	tests/unit/base/sandbox_key_test.c \
	tests/unit/base/secret_test.c \
	tests/unit/base/settings_test.c \
	tests/unit/base/strbuf_test.c \
	tests/unit/base/text_folder_test.c \
	tests/unit/base/text_test.c \
	tests/unit/base/uuid_test.c \
	tests/unit/base/zip_test.c
base_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS) $(CMOCKA_CFLAGS) \
	-DDEFT_TEST_DATA='"$(abs_top_srcdir)/tests/data"'
EXTRA_DIST += tests/data/fernet/generate.json tests/data/fernet/invalid.json
base_test_LDADD = $(CONFINE_LIBS) $(BASE_LIBS) $(CMOCKA_LIBS) -lm -lpthread
