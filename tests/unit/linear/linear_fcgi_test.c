/*
 * Parsers of deft-fcgi that run before a handler.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "unit/linear/linear.h"
#include "unit/support/raw_request.h"

/* A GET, or a POST of the body, with this one parameter. */
static void run_request(const char *param, const char *body, size_t body_len)
{
    CLEANUP(mem_freep) char *own = mem_dup_text(param);
    char method[] = "REQUEST_METHOD=POST";
    char target[] = "REQUEST_URI=/api/conversations";
    char *params[] = {own, method, target, NULL};

    raw_request_read(&(struct raw_request){params, body, body_len, body_len + 1});
}

static void run_target(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf param = STRBUF_INIT;

    (void)len;
    strbuf_appendf(&param, "REQUEST_URI=/%s", text);
    run_request(param.text, "", 0);
}

static const char *const targets[] = {"|/|",       "|a/|",   "|?|",      "?|a=b&|",
                                      "?|&|",      "?|=|",   "?a=|%41|", "?path=|/..|",
                                      "?path=|/|", "?a=|%|", NULL};

static void run_cookie(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf param = STRBUF_INIT;

    (void)len;
    strbuf_appendf(&param, "HTTP_COOKIE=%s", text);
    run_request(param.text, "", 0);
}

static void run_origin(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf param = STRBUF_INIT;

    (void)len;
    strbuf_appendf(&param, "HTTP_ORIGIN=https://%s", text);
    run_request(param.text, "", 0);
}

static const char *const cookies[] = {
    "|;|", "| |", "|a=b; |", "|deft_session=a;|", "|deft_session|", NULL};

static void run_body(const char *text, size_t len)
{
    run_request("A=", text, len);
}

static const char *const bodies[] = {
    "{\"a\":\"|a|\"}", "{|\"a\":1,|\"b\":1}",    "| |", "|{\"a\":|",
    "[|1,|1]",         "{\"a\":\"|\xc3\xa9|\"}", NULL};

/* As many headers as the text has room for. */
static void run_headers(const char *text, size_t len)
{
    char header[] = "HTTP_X_A=b";
    size_t n = len / 10;
    char **params = mem_alloc_array(n + 1, sizeof(*params));

    (void)text;
    for (size_t i = 0; i < n; i++)
        params[i] = header;
    raw_request_read(&(struct raw_request){params, "", 0, 1});
    mem_free(params);
}

static const char *const one_text[] = {"|a|", NULL};

static void time_is_linear_in_a_request(void **state)
{
    static const struct linear_function functions[] = {
        {"request_init, origin", run_origin, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"request_init, target", run_target, targets, LINEAR_FEW_BYTES, 0},
        {"request_init, target", run_target, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"request_cookie", run_cookie, cookies, LINEAR_FEW_BYTES, 0},
        {"request_cookie", run_cookie, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"request_read_body", run_body, bodies, LINEAR_FEW_BYTES, 0},
        {"request_read_body", run_body, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"request_init, headers", run_headers, one_text, LINEAR_FEW_BYTES, 0},
    };

    (void)state;
    linear_check(functions, ARRAY_SIZE(functions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_linear_in_a_request),
    };

    linear_setup();
    return cmocka_run_group_tests_name("linear_fcgi", tests, NULL, NULL);
}
