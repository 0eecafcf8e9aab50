#include "fcgi/core/session_cookie.h"

#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"

#define HOST_PREFIX "__Host-"

/* TLS may be terminated in front of us: then the configured URL of deft's page has the scheme. */
static bool is_secure(const struct request *request)
{
    const char *scheme = request_param(request, "REQUEST_SCHEME");

    return text_starts_with(request->context->settings->app_url, "https://") ||
           (scheme != NULL && text_equal(scheme, "https"));
}

bool session_cookie_read(const struct request *request, char token_out[SESSION_TOKEN_MAX_BYTES])
{
    const char *name = request->context->settings->session_cookie;
    CLEANUP(strbuf_done) struct strbuf prefixed = STRBUF_INIT;

    strbuf_appendf(&prefixed, HOST_PREFIX "%s", name);
    if (is_secure(request) &&
        request_cookie(request, prefixed.text, token_out, SESSION_TOKEN_MAX_BYTES))
        return true;
    return request_cookie(request, name, token_out, SESSION_TOKEN_MAX_BYTES);
}

/* RFC 6265, section 4.1. Secure only with TLS: a browser does not send such a cookie without it. */
static void set(const struct request *request, struct reply *reply, const char *prefix,
                const char *token, int64_t max_age_s)
{
    CLEANUP(strbuf_done) struct strbuf cookie = STRBUF_INIT;

    strbuf_appendf(&cookie, "%s%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%lld%s", prefix,
                   request->context->settings->session_cookie, token, (long long)max_age_s,
                   is_secure(request) ? "; Secure" : "");
    reply_header(reply, "Set-Cookie", cookie.text);
}

void session_cookie_set(const struct request *request, struct reply *reply, const char *token,
                        int64_t max_age_s)
{
    set(request, reply, is_secure(request) ? HOST_PREFIX : "", token, max_age_s);
    /* Otherwise the cookie of the previous version would be read after this one is deleted. */
    if (is_secure(request))
        set(request, reply, "", "", 0);
}
