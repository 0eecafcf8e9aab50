/*
 * Web origins: scheme, host and port, compared as a browser compares them. RFC 6454, section 5.
 * Decision: docs/decisions/0047-callers.md
 */
#ifndef DEFT_MODEL_WEB_ORIGIN_H
#define DEFT_MODEL_WEB_ORIGIN_H

#include <stdbool.h>

#include "base/attr.h"

#define WEB_ORIGIN_HOST_BYTES 256

struct web_origin {
    bool is_https;
    char host[WEB_ORIGIN_HOST_BYTES]; /* lower case; an IPv6 address in brackets */
    int port;                         /* the scheme's default if none is given */
};

/*
 * Reads an Origin header such as "https://host:8443". Returns false for anything else: "null", a
 * path, a user, another scheme, a list.
 */
bool web_origin_read(const char *text, struct web_origin *origin_out) NONNULL MUST_CHECK;
bool web_origin_equal(const struct web_origin *a, const struct web_origin *b) NONNULL MUST_CHECK;
/* True for localhost and the usual loopback addresses. */
bool web_origin_is_loopback(const struct web_origin *origin) NONNULL MUST_CHECK;

/*
 * Gives the origin that a request with that Host header was sent to. A proxy may terminate TLS;
 * then the scheme is that of app_url, except for requests to a loopback name.
 */
bool web_origin_of_request(const char *app_url, bool is_tls, const char *host,
                           struct web_origin *origin_out) NONNULL MUST_CHECK;

#endif
