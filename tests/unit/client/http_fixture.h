/*
 * Shared by the tests of lib/client/http: a transport, with direct connections or without, and
 * calls on it.
 */
#ifndef DEFT_TESTS_UNIT_CLIENT_HTTP_FIXTURE_H
#define DEFT_TESTS_UNIT_CLIENT_HTTP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "client/http.h"
#include "client/test_server.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\n"
#define KIB ((size_t)1024)

/* 200 without a body; no answer at all. One of each. */
extern const struct test_reply plain_reply[];
extern const struct test_reply silent_reply[];

/* Everything is tested twice: on the transport's thread, and over direct connections. */
struct fixture {
    struct http *http;
    struct direct_connections *direct; /* NULL: none */
};

/* For cmocka_run_group_tests(): *state is a struct fixture. */
int fixture_set_up(void **state);
int fixture_set_up_direct(void **state);
int fixture_tear_down(void **state);

/* http_start() over the fixture's direct connections, if it has any. */
int fixture_start(const struct fixture *fixture, const struct http_request *request,
                  struct http_call **call_out, struct error *err) NONNULL MUST_CHECK;
struct http_request fixture_get(const char *url) NONNULL MUST_CHECK;
/* Runs a call to its end; 0 or the code of its error. */
enum error_code fixture_run(const struct fixture *fixture, const struct http_request *request,
                            struct http_call **call_out) NONNULL MUST_CHECK;
enum error_code fixture_run_get(const struct fixture *fixture, const char *url) NONNULL MUST_CHECK;

#endif
