#include "fcgi/cors.h"

#include <string.h>

#include "base/text.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"
#include "fcgi/request.h"

static const char allowed_methods[] = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY";

/* What follows http:// or https://, or NULL. */
static const char *origin_authority(const char *origin)
{
    if (text_starts_with(origin, "http://"))
        return origin + strlen("http://");
    if (text_starts_with(origin, "https://"))
        return origin + strlen("https://");
    return NULL;
}

/* "" or a colon and digits. */
static bool is_port(const char *text)
{
    if (text[0] == '\0')
        return true;
    return text[0] == ':' && text[1] != '\0' && strlen(text) <= 6 &&
           strspn(text + 1, "0123456789") == strlen(text + 1);
}

static bool list_has(const char *list, const char *origin)
{
    size_t len = strlen(origin);
    const char *p = list + strspn(list, " ");

    while (*p != '\0') {
        size_t n = strcspn(p, " ");

        if (n == len && strncmp(p, origin, len) == 0)
            return true;
        p += n;
        p += strspn(p, " ");
    }
    return false;
}

bool cors_origin_is_allowed(const char *origin, const char *list)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *authority = origin_authority(origin);

    if (authority == NULL)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        if (text_starts_with(authority, hosts[i]) && is_port(authority + strlen(hosts[i])))
            return true;
    }
    return list_has(list, origin);
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

enum same_origin request_same_origin(const struct request *request)
{
    const char *site = request_param(request, "HTTP_SEC_FETCH_SITE");
    const char *origin = request_param(request, "HTTP_ORIGIN");
    const char *host = request_param(request, "HTTP_HOST");
    const char *authority = origin != NULL ? origin_authority(origin) : NULL;

    if (site != NULL && !text_equal(site, "same-origin"))
        return SAME_ORIGIN_NO;
    if (origin == NULL)
        return site != NULL ? SAME_ORIGIN_YES : SAME_ORIGIN_UNKNOWN;
    if (authority == NULL || host == NULL || !text_equal_nocase(authority, host))
        return SAME_ORIGIN_NO;
    return SAME_ORIGIN_YES;
}
