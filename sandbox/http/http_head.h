/*
 * The head of a request: its request line and headers, read as the bytes arrive (RFC 9112).
 *
 * Strict where a lenient reader could disagree with a proxy about where a request ends: one valid
 * Content-Length, or exactly "Transfer-Encoding: chunked", never both.
 * Limits: MAX_HEADER_BYTES for the whole head.
 * Ownership: struct http_head owns its texts until http_head_done(); borrowed ones live until then
 * or until http_head_reset().
 * Threading: one thread.
 * Decision: docs/decisions/0074-request-parser.md
 */
#ifndef DEFT_SANDBOX_HTTP_HTTP_HEAD_H
#define DEFT_SANDBOX_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;
struct http_parser;

enum request_method {
    METHOD_GET,
    METHOD_HEAD,
    METHOD_POST,
    METHOD_PUT,
    METHOD_DELETE,
    METHOD_OTHER
};

struct http_head {
    struct http_parser *parser; /* NULL before the first byte */
    size_t n_bytes;             /* read so far, of an incomplete head, too */
    struct strbuf target;       /* as sent */
    struct strbuf headers;      /* name\0value\0… */
    bool is_in_value;           /* the last text was a header's value */

    /* valid once the head is complete */
    bool is_complete;
    enum request_method method;
    struct strbuf path;     /* decoded, without the query; "/a/../b" and "//b" are "/b" */
    const char *query;      /* as sent, without '?'; "" when absent */
    int64_t content_length; /* -1: not given */
    bool is_chunked;
    bool is_http_1_0;
    bool keeps_alive;
    bool wants_upgrade; /* to another protocol */
};

/* clang-format off */
#define HTTP_HEAD_INIT {.target = STRBUF_INIT, .headers = STRBUF_INIT, .path = STRBUF_INIT, .query = ""}
/* clang-format on */

void http_head_done(struct http_head *head);
/* Forgets the request; ready for the next one. */
void http_head_reset(struct http_head *head) NONNULL;

/*
 * Reads bytes up to the end of the head; *used_out is their number. An incomplete head uses all.
 * ERROR_INVALID; ERROR_TOO_LARGE.
 */
int http_head_read(struct http_head *head, const char *bytes, size_t len, size_t *used_out,
                   struct error *err) NONNULL MUST_CHECK;
/* The first header with that name; NULL when absent. Names are compared without case. */
const char *http_head_header(const struct http_head *head, const char *name) NONNULL MUST_CHECK;

#endif
