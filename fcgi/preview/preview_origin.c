/*
 * Parses a preview origin, and recognizes other origins of the same sandbox.
 */
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/preview/preview_origin.h"
#include "model/conversation/preview.h"

#define MIDDLE ".sandbox."
#define LABEL_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

enum { RUNTIME_ID_CHARS = 16 };

/* TLS may be terminated in front of us: then the configured URL of deft's page has the scheme. */
const char *preview_scheme(const struct request *request)
{
    const char *scheme = request_param(request, "REQUEST_SCHEME");
    bool is_https = text_starts_with(request->context->settings->app_url, "https://") ||
                    (scheme != NULL && text_equal(scheme, "https"));

    return is_https ? "https" : "http";
}

/* A numeric address has no subdomains. */
static bool has_names_below(const char *authority)
{
    size_t len = strcspn(authority, ":");

    return authority[0] != '[' && strspn(authority, "0123456789.") < len;
}

void preview_append_origin(const struct request *request, const char *runtime_id, int port,
                           struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf home = STRBUF_INIT;
    const char *host = request_param(request, "HTTP_HOST");

    if (request->origin == ORIGIN_APP && host != NULL && has_names_below(host))
        strbuf_appendf(&home, "%s://%s", preview_scheme(request), host);
    else
        strbuf_append(&home, request->context->settings->app_url);
    preview_append_url(out, home.text, runtime_id, port);
}

static bool is_runtime_id(const char *text)
{
    return strlen(text) == RUNTIME_ID_CHARS &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz") == RUNTIME_ID_CHARS;
}

bool preview_origin_read(const struct request *request, struct preview_origin *place_out)
{
    struct preview_origin place = {.label = request_param(request, "DEFT_PREVIEW_LABEL"),
                                   .runtime_id = request_param(request, "DEFT_PREVIEW_SANDBOX"),
                                   .authority = request_param(request, "HTTP_HOST"),
                                   .scheme = preview_scheme(request)};

    if (place.label == NULL || place.runtime_id == NULL || place.authority == NULL ||
        !is_runtime_id(place.runtime_id))
        return false;
    place.home = strstr(place.authority, MIDDLE);
    if (place.home == NULL)
        return false;
    place.home += strlen(MIDDLE);
    place.port = preview_port_of_label(place.label);
    *place_out = place;
    return true;
}

/* Moves past a required text; NULL when it is missing. */
static const char *skip(const char *at, const char *text)
{
    if (at == NULL || !text_starts_with(at, text))
        return NULL;
    return at + strlen(text);
}

bool preview_is_own_origin(const struct preview_origin *place, const char *url)
{
    const char *at = skip(skip(url, place->scheme), "://");
    size_t label_len = 0;

    if (at == NULL)
        return false;
    label_len = strspn(at, LABEL_CHARACTERS);
    /* "8080-abc…": the label is everything before the last dash and the id. */
    if (label_len < RUNTIME_ID_CHARS + 2)
        return false;
    at += label_len - RUNTIME_ID_CHARS - 1;
    at = skip(skip(skip(skip(at, "-"), place->runtime_id), MIDDLE), place->home);
    return at != NULL && (*at == '\0' || *at == '/');
}
