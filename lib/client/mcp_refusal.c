#include "client/mcp_refusal.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/auth_challenge.h"
#include "client/http.h"

enum { STATUS_UNAUTHORIZED = 401, STATUS_FORBIDDEN = 403 };

/* True if the server wants a sign-in with further scopes, which are appended. */
static bool wants_more_scopes(const struct http_call *call, struct strbuf *scopes)
{
    const char *challenge = http_reply_header(call, "WWW-Authenticate");
    CLEANUP(strbuf_done) struct strbuf error = STRBUF_INIT;

    if (http_status(call) != STATUS_FORBIDDEN || challenge == NULL)
        return false;
    auth_challenge_append(&error, challenge, "error");
    auth_challenge_append(scopes, challenge, "scope");
    return text_equal(error.text, "insufficient_scope") && scopes->len > 0;
}

int mcp_refusal_set(const struct http_call *call, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf scopes = STRBUF_INIT;

    if (wants_more_scopes(call, &scopes))
        return error_set(err, ERROR_INVALID,
                         "The server wants more rights: sign in to it again with the scopes \"%s\"",
                         scopes.text);
    return error_set(
        err, http_status(call) == STATUS_UNAUTHORIZED ? ERROR_UNAUTHENTICATED : ERROR_INVALID,
        "The server refused the request with HTTP status %ld", http_status(call));
}
