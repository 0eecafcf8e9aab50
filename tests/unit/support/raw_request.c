#include "unit/support/raw_request.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "fcgi/agent/workspace/workspace_path.h"
#include "fcgi/core/cors.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/core/router.h"
#include "web/reply_output.h"
#include "web/request_input.h"

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

static int swallow(void *stream, const char *bytes, int len)
{
    (void)stream;
    (void)bytes;
    (void)len;
    return 0;
}

static void use_head(const struct request *request)
{
    static const char *const choices[] = {"TIMESTAMP", "TIMESTAMP_DESC", NULL};
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error err = ERROR_INIT;
    char cookie[COOKIE_BYTES];
    int64_t limit = 0;
    size_t choice = 0;
    bool flag = false;

    (void)!request_cookie(request, "deft_session", cookie, sizeof(cookie));
    error_ignore(request_query_limit(request, &limit, &err), "any answer will do");
    error_ignore(request_query_choice(request, "sort_order", choices, &choice, &err), "as above");
    error_ignore(request_query_bool(request, "include_skills", &flag, &err), "as above");
    for (size_t i = 0; i < request->n_query; i++)
        (void)!workspace_path_is_inside(request->query[i].value, "/workspace/project");
    request_append_path_rest(request, 2, &path);
}

static void use_body(struct request *request, size_t max_bytes)
{
    const struct text_rule rule = {1, 20, true};
    struct error err = ERROR_INIT;
    json_auto_t *body = NULL;
    const char *text = NULL;
    bool flag = false;

    if (request_read_body(request, max_bytes, &err) < 0 ||
        request_json_object_or_empty(request, &body, &err) < 0)
        return;
    error_ignore(request_member_text(request, body, "title", &rule, &text, &err), "as above");
    error_ignore(request_member_bool(request, body, "run", &flag, &err), "as above");
}

static void use_route(struct request *request)
{
    CLEANUP(reply_done) struct reply reply = REPLY_INIT;
    const struct reply_output output = {.write = swallow, .stream = NULL};
    struct error err = ERROR_INIT;
    struct uuid id = UUID_INIT;
    unsigned allowed = 0;

    reply.output = &output;
    cors_add_headers(request, &reply);
    if (!cors_answer_preflight(request, &reply) && route_find(request, &allowed) == ROUTE_FOUND &&
        request_path_uuid(request, "conversation_id", &id, &err) < 0)
        reply_error(&reply, request, &err);
    reply_send(&reply);
}

void raw_request_read(const struct raw_request *raw)
{
    static const struct fcgi_settings settings = {.cors_origins = ""};
    static const struct fcgi_context context = {.settings = &settings};
    CLEANUP(request_done) struct request request = {.body = STRBUF_INIT};
    struct rest rest = {raw->body, raw->body_len};
    const struct request_input input = {raw->params, read_rest, &rest};
    struct error err = ERROR_INIT;

    if (request_init(&request, &context, &input, &err) < 0)
        return;
    use_head(&request);
    use_body(&request, raw->body_max_bytes);
    use_route(&request);
}
