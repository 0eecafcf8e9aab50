# lib/web: the server core of FastCGI programs
noinst_LIBRARIES += libweb.a
libweb_a_SOURCES = \
	lib/web/fastcgi_server.c lib/web/fastcgi_server.h \
	lib/web/reply_output.c lib/web/reply_output.h \
	lib/web/request_input.c lib/web/request_input.h \
	lib/web/reply_status.c lib/web/reply_status.h \
	lib/web/transfer_rate.c lib/web/transfer_rate.h \
	lib/web/url_path.c lib/web/url_path.h
libweb_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

check_PROGRAMS += fastcgi_server_test url_path_test web_test
fastcgi_server_test_SOURCES = tests/unit/web/fastcgi_server_test.c \
	tests/unit/support/fastcgi_client.c tests/unit/support/fastcgi_client.h
fastcgi_server_test_CPPFLAGS = $(TEST_CPPFLAGS)
fastcgi_server_test_LDADD = libweb.a $(BASE_LIBS) $(FCGI_LIBS) $(CMOCKA_LIBS) -lpthread
url_path_test_SOURCES = tests/unit/web/url_path_test.c
url_path_test_CPPFLAGS = $(TEST_CPPFLAGS)
url_path_test_LDADD = libweb.a $(BASE_LIBS) $(CMOCKA_LIBS)
web_test_SOURCES = tests/unit/web/web_test.c
web_test_CPPFLAGS = $(TEST_CPPFLAGS)
web_test_LDADD = libweb.a $(BASE_LIBS) $(FCGI_LIBS) $(CMOCKA_LIBS) -lpthread
