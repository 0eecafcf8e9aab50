/*
 * What deft-fcgi reads of a request before a handler sees it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "fcgi/agent/workspace_path.h"
#include "fcgi/context.h"
#include "fcgi/cors.h"
#include "fcgi/reply.h"
#include "fcgi/request.h"
#include "fcgi/router.h"
#include "unit/linear/linear.h"

enum { COOKIE_BYTES = 64 };

struct rest {
    const char *at;
    size_t left;
};

static int read_rest(void *stream, char *buffer, int len)
{
    struct rest *rest = stream;
    size_t n = rest->left < (size_t)len ? rest->left : (size_t)len;

    memcpy(buffer, rest->at, n);
    rest->at += n;
    rest->left -= n;
    return (int)n;
}

static void use_request(struct request *request, size_t len)
{
    static const char *const choices[] = {"TIMESTAMP", "TIMESTAMP_DESC", NULL};
    const struct text_rule rule = {1, 20, true};
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *body = NULL;
    const char *text = NULL;
    char cookie[COOKIE_BYTES];
    int64_t limit = 0;
    size_t choice = 0;
    unsigned allowed = 0;

    (void)!request_cookie(request, "deft_session", cookie, sizeof(cookie));
    error_ignore(request_query_limit(request, &limit, &err), "any answer will do");
    error_ignore(request_query_choice(request, "a", choices, &choice, &err), "as above");
    for (size_t i = 0; i < request->n_query; i++)
        (void)!workspace_path_is_inside(request->query[i].value, "/workspace/project");
    request_append_path_rest(request, 2, &path);
    if (request_read_body(request, len + 1, &err) == 0 &&
        request_json_object_or_empty(request, &body, &err) == 0)
        error_ignore(request_member_text(request, body, "a", &rule, &text, &err), "as above");
    (void)!route_find(request, &allowed);
}

/* A GET, or a POST of the body, with this one parameter. */
static void run_request(const char *param, const char *body, size_t body_len)
{
    static const struct fcgi_settings settings = {.cors_origins = ""};
    static const struct fcgi_context context = {.settings = &settings};
    CLEANUP(request_done) struct request request = {.body = STRBUF_INIT};
    CLEANUP(mem_freep) char *own = mem_dup_text(param);
    char method[] = "REQUEST_METHOD=POST";
    char target[] = "REQUEST_URI=/api/conversations";
    char *params[] = {own, method, target, NULL};
    struct rest rest = {body, body_len};
    const struct request_input input = {params, read_rest, &rest};
    struct error err = ERROR_INIT;

    if (request_init(&request, &context, &input, &err) == 0)
        use_request(&request, body_len);
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
    static const struct fcgi_settings settings = {.cors_origins = ""};
    static const struct fcgi_context context = {.settings = &settings};
    CLEANUP(request_done) struct request request = {.body = STRBUF_INIT};
    char header[] = "HTTP_X_A=b";
    size_t n = len / 10;
    char **params = mem_alloc_array(n + 1, sizeof(*params));
    struct rest rest = {text, 0};
    const struct request_input input = {params, read_rest, &rest};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < n; i++)
        params[i] = header;
    if (request_init(&request, &context, &input, &err) == 0)
        use_request(&request, 0);
    mem_free(params);
}

static const char *const one_text[] = {"|a|", NULL};

static void time_is_linear_in_a_request(void **state)
{
    static const struct linear_function functions[] = {
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
