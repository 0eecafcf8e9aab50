/*
 * /api/auth/workspace-session: pages show workspace files through plain links, which carry no
 * header. The key is put into a cookie that only those routes accept (ACCESS_WORKSPACE).
 */
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/user_documents.h"

#define TEN_YEARS_S "315360000"

/* A cookie for frames on other sites must be Secure; browsers treat loopback as secure. */
static bool is_secure(const struct request *request)
{
    const char *proto = request_param(request, "HTTP_X_FORWARDED_PROTO");
    const char *scheme = request_param(request, "REQUEST_SCHEME");
    const char *host = request_param(request, "HTTP_HOST");

    if (proto != NULL ? text_equal(proto, "https") : scheme != NULL && text_equal(scheme, "https"))
        return true;
    return host != NULL && (text_starts_with(host, "localhost") ||
                            text_starts_with(host, "127.0.0.1") || text_starts_with(host, "[::1]"));
}

static void set_cookie(const struct request *request, struct reply *reply, const char *key,
                       const char *max_age)
{
    CLEANUP(strbuf_done) struct strbuf cookie = STRBUF_INIT;

    strbuf_appendf(&cookie, WORKSPACE_COOKIE "=%s; HttpOnly; Max-Age=%s; Path=/api/conversations",
                   key, max_age);
    strbuf_append(&cookie,
                  is_secure(request) ? "; SameSite=none; Secure; Partitioned" : "; SameSite=lax");
    reply_header(reply, "Set-Cookie", cookie.text);
}

/*
 * POST -> 204 and the cookie | 401. A signed-in page needs none: its session is accepted there,
 * too.
 */
static int session_open(const struct request *request, struct reply *reply, struct error *err)
{
    const char *key = request_param(request, "HTTP_X_SESSION_API_KEY");

    (void)err;
    if (key != NULL)
        set_cookie(request, reply, key, TEN_YEARS_S);
    return reply_empty(reply, 204);
}

/* DELETE -> 204, deletes the cookie */
static int session_close(const struct request *request, struct reply *reply, struct error *err)
{
    (void)err;
    set_cookie(request, reply, "", "0");
    return reply_empty(reply, 204);
}

#define SESSION "/api/auth/workspace-session"

const struct route workspace_session_routes[] = {
    {HTTP_POST, SESSION, ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0, session_open},
    {HTTP_DELETE, SESSION, ORIGIN_BOTH, ACCESS_PUBLIC, SANDBOX_OPEN, 0, session_close},
    {.handle = NULL},
};
