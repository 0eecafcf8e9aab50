#include "fcgi/core/cors.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "model/web_origin.h"

static const char allowed_methods[] = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY";

static bool list_has(const char *list, const struct web_origin *origin)
{
    const char *p = list + strspn(list, " ");

    while (*p != '\0') {
        size_t n = strcspn(p, " ");
        CLEANUP(mem_freep) char *item = mem_dup_bytes(p, n);
        struct web_origin allowed;

        if (web_origin_read(item, &allowed) && web_origin_equal(&allowed, origin))
            return true;
        p += n;
        p += strspn(p, " ");
    }
    return false;
}

bool cors_origin_is_allowed(const char *text, const char *list)
{
    struct web_origin origin;

    return web_origin_read(text, &origin) &&
           (web_origin_is_loopback(&origin) || list_has(list, &origin));
}

static bool is_allowed(const struct request *request, const char *origin)
{
    return cors_origin_is_allowed(origin, request->context->settings->cors_origins);
}

void cors_add_headers(const struct request *request, struct reply *reply)
{
    const char *origin = request_param(request, "HTTP_ORIGIN");

    if (request->origin != ORIGIN_AGENT)
        return;
    reply_header(reply, "Vary", "Origin");
    if (origin == NULL || !is_allowed(request, origin))
        return;
    reply_header(reply, "Access-Control-Allow-Origin", origin);
    reply_header(reply, "Access-Control-Allow-Credentials", "true");
    reply_header(reply, "Access-Control-Expose-Headers", CORS_CONVERSATION_HEADER);
}

bool cors_answer_preflight(const struct request *request, struct reply *reply)
{
    const char *origin = request_param(request, "HTTP_ORIGIN");
    const char *headers = request_param(request, "HTTP_ACCESS_CONTROL_REQUEST_HEADERS");
    const char *private_network =
        request_param(request, "HTTP_ACCESS_CONTROL_REQUEST_PRIVATE_NETWORK");

    if (request->origin != ORIGIN_AGENT || request->method != HTTP_OPTIONS || origin == NULL ||
        request_param(request, "HTTP_ACCESS_CONTROL_REQUEST_METHOD") == NULL)
        return false;
    if (!is_allowed(request, origin) || private_network != NULL)
        return reply_text(reply, 400, "Disallowed CORS origin") == 0;
    reply_header(reply, "Access-Control-Allow-Methods", allowed_methods);
    reply_header(reply, "Access-Control-Max-Age", "600");
    if (headers != NULL)
        reply_header(reply, "Access-Control-Allow-Headers", headers);
    return reply_text(reply, 200, "OK") == 0;
}

/* True when the Origin header names the origin of the request itself. */
static bool is_own_origin(const struct request *request, const char *text)
{
    const char *scheme = request_param(request, "REQUEST_SCHEME");
    const char *host = request_param(request, "HTTP_HOST");
    struct web_origin origin;
    struct web_origin own;

    return host != NULL && web_origin_read(text, &origin) &&
           web_origin_of_request(request->context->settings->app_url,
                                 scheme != NULL && text_equal(scheme, "https"), host, &own) &&
           web_origin_equal(&origin, &own);
}

enum same_origin request_same_origin(const struct request *request)
{
    const char *site = request_param(request, "HTTP_SEC_FETCH_SITE");
    const char *origin = request_param(request, "HTTP_ORIGIN");

    if (site != NULL && !text_equal(site, "same-origin"))
        return SAME_ORIGIN_NO;
    if (origin == NULL)
        return site != NULL ? SAME_ORIGIN_YES : SAME_ORIGIN_UNKNOWN;
    return is_own_origin(request, origin) ? SAME_ORIGIN_YES : SAME_ORIGIN_NO;
}
