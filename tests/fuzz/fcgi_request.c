/*
 * Bytes of a client as a request: target, cookie, lengths, body; up to the route that would serve
 * it.
 *
 * Input: lines "NAME=value" are parameters, an empty line ends them, the body follows.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "fcgi/agent/workspace_path.h"
#include "fcgi/context.h"
#include "fcgi/cors.h"
#include "fcgi/reply.h"
#include "fcgi/request.h"
#include "fcgi/router.h"

enum { PARAMS_MAX = 16, BODY_MAX_BYTES = 65536, COOKIE_BYTES = 64 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    json_setup();
    return 0;
}

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

/* Ends each line in place; the rest of the text is the body. */
static void split(char *text, size_t len, char **params, struct rest *rest)
{
    size_t n = 0;
    char *at = text;
    char *end = text + len;

    while (at < end && *at != '\n' && n < PARAMS_MAX) {
        char *newline = memchr(at, '\n', (size_t)(end - at));

        params[n++] = at;
        if (newline == NULL) {
            at = end;
            break;
        }
        *newline = '\0';
        at = newline + 1;
    }
    if (at < end && *at == '\n')
        at++;
    *rest = (struct rest){at, (size_t)(end - at)};
}

static void use_query(const struct request *request)
{
    static const char *const choices[] = {"TIMESTAMP", "TIMESTAMP_DESC", NULL};
    struct error err = ERROR_INIT;
    int64_t limit = 0;
    size_t choice = 0;
    bool flag = false;

    error_ignore(request_query_limit(request, &limit, &err), "any answer will do");
    error_ignore(request_query_choice(request, "sort_order", choices, &choice, &err), "as above");
    error_ignore(request_query_bool(request, "include_skills", &flag, &err), "as above");
    for (size_t i = 0; i < request->n_query; i++)
        flag ^= workspace_path_is_inside(request->query[i].value, "/workspace/project");
}

static void use_body(struct request *request)
{
    const struct text_rule rule = {1, 20, true};
    struct error err = ERROR_INIT;
    json_auto_t *body = NULL;
    const char *text = NULL;
    bool flag = false;

    if (request_read_body(request, BODY_MAX_BYTES, &err) < 0 ||
        request_json_object_or_empty(request, &body, &err) < 0)
        return;
    error_ignore(request_member_text(request, body, "title", &rule, &text, &err), "as above");
    error_ignore(request_member_bool(request, body, "run", &flag, &err), "as above");
}

static void use_route(struct request *request)
{
    CLEANUP(reply_done) struct reply reply = REPLY_INIT;
    const struct reply_output output = {swallow, NULL};
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const struct fcgi_settings settings = {.cors_origins = ""};
    static const struct fcgi_context context = {.settings = &settings};
    CLEANUP(mem_freep) char *text = mem_dup_bytes(bytes, len);
    CLEANUP(request_done) struct request request = {.body = STRBUF_INIT};
    char *params[PARAMS_MAX + 1] = {NULL};
    struct rest rest = {NULL, 0};
    const struct request_input input = {params, read_rest, &rest};
    struct error err = ERROR_INIT;
    char cookie[COOKIE_BYTES];
    bool has_cookie = false;

    split(text, len, params, &rest);
    if (request_init(&request, &context, &input, &err) < 0)
        return 0;
    has_cookie = request_cookie(&request, "deft_session", cookie, sizeof(cookie));
    (void)has_cookie;
    use_query(&request);
    use_body(&request);
    use_route(&request);
    return 0;
}
