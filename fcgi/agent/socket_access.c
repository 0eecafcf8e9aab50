/*
 * The check that nginx makes before it forwards a WebSocket's upgrade to deft-gateway: 204 with the
 * credential, or without one, which the first frame must then bring; 401 when its address sent too
 * many wrong keys; 403 for any other that may not open one.
 */
#include "fcgi/agent/socket_access.h"

#include <string.h>

#include "auth/credential_header.h"
#include "auth/principal.h"
#include "auth/session.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/cors.h"
#include "fcgi/core/deferred_init.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/core/session_cookie.h"
#include "store/conversation/async_store.h"

static int answer_credential(struct reply *reply, const struct caller_query *query)
{
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;

    credential_header_append(query, &value);
    reply_header(reply, CREDENTIAL_HEADER, value.text);
    return reply_empty(reply, 204);
}

static int check_key(const struct request *request, const char *key, struct reply *reply,
                     struct error *err)
{
    const struct fcgi_context *context = request->context;
    struct caller_query query = {.kind = CALLER_USER_KEY};
    struct principal principal = {.kind = PRINCIPAL_NOBODY};

    if (principal_from_key(context->db, &context->keyring, key, &principal, err) < 0 ||
        principal_query_of_key(&context->keyring, key, &query, err) < 0)
        return request_refuse_key(request, err);
    return answer_credential(reply, &query);
}

/*
 * A page of another site must not use the browser's cookie. A browser sends the cookie by itself,
 * so a wrong one is not counted as a wrong key.
 */
static int check_session(const struct request *request, const char *token, struct reply *reply,
                         struct error *err)
{
    const struct fcgi_context *context = request->context;
    struct caller_query query = {.kind = CALLER_SESSION};
    struct principal principal = {.kind = PRINCIPAL_NOBODY};

    if (request_same_origin(request) != SAME_ORIGIN_YES)
        return error_set(err, ERROR_FORBIDDEN, "foreign Origin");
    if (principal_from_session(context->db, &context->keyring, token, &principal, err) < 0)
        return -1;
    principal_query_of_session(&context->keyring, token, &query);
    return answer_credential(reply, &query);
}

/* The socket is one of the page, which its cookie authenticates. */
static bool is_of_page(const struct request *request)
{
    const char *origin = request_param(request, "DEFT_SOCKET_ORIGIN");

    return origin != NULL && text_equal(origin, "app");
}

/* A key in the query takes precedence over the header, and either over a cookie. */
static int check_credential(const struct request *request, struct reply *reply, struct error *err)
{
    const char *query = request_param(request, "DEFT_SOCKET_KEY");
    const char *header = request_param(request, "HTTP_X_SESSION_API_KEY");
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    char token[SESSION_TOKEN_MAX_BYTES];

    if (query != NULL)
        percent_decode(&key, query, strlen(query), ' ');
    if (key.len == 0 && header != NULL)
        strbuf_append(&key, header);
    if (key.len > 0)
        return check_key(request, key.text, reply, err);
    if (is_of_page(request) && session_cookie_read(request, token) && token[0] != '\0')
        return check_session(request, token, reply, err);
    return reply_empty(reply, 204);
}

/* Failures of the database are not turned into a refusal: 503. */
static int socket_access(const struct request *request, struct reply *reply, struct error *err)
{
    bool is_dormant = false;

    if (deferred_init_is_dormant(request->context, &is_dormant, err) < 0)
        return -1;
    if (is_dormant)
        return reply_empty(reply, 403);
    if (check_credential(request, reply, err) == 0)
        return 0;
    if (err->code == ERROR_RATE_LIMITED)
        return reply_empty(reply, 401);
    if (error_is_transient(err))
        return -1;
    log_info("socket.refused", LOG_ERROR(err));
    return reply_empty(reply, 403);
}

/* GET -> 204 with X-Deft-Credential, or without | 401 | 403 */
const struct route socket_access_routes[] = {
    {HTTP_GET, "/socket", ORIGIN_SOCKET, ACCESS_PUBLIC, SANDBOX_OPEN, 0, socket_access},
    {.handle = NULL},
};
