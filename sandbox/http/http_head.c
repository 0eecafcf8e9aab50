#include "sandbox/http/http_head.h"

#include <string.h>

#include <http_parser.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"

struct method_name {
    enum http_method parsed;
    enum request_method method;
};

static const struct method_name methods[] = {
    {HTTP_GET, METHOD_GET}, {HTTP_HEAD, METHOD_HEAD},     {HTTP_POST, METHOD_POST},
    {HTTP_PUT, METHOD_PUT}, {HTTP_DELETE, METHOD_DELETE},
};

void http_head_done(struct http_head *head)
{
    if (head == NULL)
        return;
    mem_free(head->parser);
    strbuf_done(&head->target);
    strbuf_done(&head->headers);
    strbuf_done(&head->path);
    *head = (struct http_head)HTTP_HEAD_INIT;
}

void http_head_reset(struct http_head *head)
{
    http_head_done(head);
}

/* --- called by the parser --- */

static int on_target(http_parser *parser, const char *bytes, size_t len)
{
    struct http_head *head = parser->data;

    strbuf_append_bytes(&head->target, bytes, len);
    return 0;
}

/* Ends a value, without the white space that follows it. */
static void end_value(struct http_head *head)
{
    const struct strbuf *headers = &head->headers;
    size_t len = headers->len;

    if (!head->is_in_value)
        return;
    while (len > 0 && (headers->text[len - 1] == ' ' || headers->text[len - 1] == '\t'))
        len--;
    strbuf_truncate(&head->headers, len);
    strbuf_append_char(&head->headers, '\0');
    head->is_in_value = false;
}

/* The parser lets blanks pass in names, which other servers read differently. */
static int on_header_name(http_parser *parser, const char *bytes, size_t len)
{
    struct http_head *head = parser->data;

    end_value(head);
    strbuf_append_bytes(&head->headers, bytes, len);
    return memchr(bytes, ' ', len) != NULL ? -1 : 0;
}

static int on_header_value(http_parser *parser, const char *bytes, size_t len)
{
    struct http_head *head = parser->data;

    if (!head->is_in_value)
        strbuf_append_char(&head->headers, '\0');
    head->is_in_value = true;
    strbuf_append_bytes(&head->headers, bytes, len);
    return memchr(bytes, '\0', len) != NULL ? -1 : 0;
}

/* The parser reads the head only: bodies are read by their own readers. */
static int on_headers_complete(http_parser *parser)
{
    end_value(parser->data);
    return 1;
}

static int on_message_complete(http_parser *parser)
{
    struct http_head *head = parser->data;

    head->is_complete = true;
    http_parser_pause(parser, 1);
    return 0;
}

static const http_parser_settings callbacks = {
    .on_url = on_target,
    .on_header_field = on_header_name,
    .on_header_value = on_header_value,
    .on_headers_complete = on_headers_complete,
    .on_message_complete = on_message_complete,
};

/* --- the target --- */

/* True when each % begins a byte that may stand in a path or a query: no other one, and no NUL. */
static bool is_well_escaped(const char *target)
{
    static const char digits[] = "0123456789abcdefABCDEF";

    for (const char *at = strchr(target, '%'); at != NULL; at = strchr(at + 1, '%')) {
        if (strspn(at + 1, digits) < 2 || (at[1] == '0' && at[2] == '0'))
            return false;
    }
    return true;
}

static void drop_segment(struct strbuf *path)
{
    size_t len = path->len;

    while (len > 0 && path->text[len - 1] != '/')
        len--;
    strbuf_truncate(path, len > 0 ? len - 1 : 0);
}

/* Appends the path without empty, "." and ".." segments; a final slash stays. */
static void append_plain_path(struct strbuf *out, const char *path)
{
    while (*path != '\0') {
        size_t len = 0;

        path += strspn(path, "/");
        len = strcspn(path, "/");
        if (len == 2 && memcmp(path, "..", 2) == 0) {
            drop_segment(out);
        } else if (len > 0 && !(len == 1 && path[0] == '.')) {
            strbuf_append_char(out, '/');
            strbuf_append_bytes(out, path, len);
        }
        path += len;
        if (path[0] == '/' && path[strspn(path, "/")] == '\0') {
            strbuf_append_char(out, '/');
            return;
        }
    }
    if (out->len == 0)
        strbuf_append_char(out, '/');
}

static int read_target(struct http_head *head, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf decoded = STRBUF_INIT;
    const char *target = head->target.text;
    size_t path_len = strcspn(target, "?");

    if (target[0] != '/' || !is_well_escaped(target))
        return error_set(err, ERROR_INVALID, "The request's target is not a valid path");
    percent_decode(&decoded, target, path_len, '+');
    append_plain_path(&head->path, decoded.text);
    head->query = target[path_len] == '?' ? target + path_len + 1 : "";
    return 0;
}

/* --- the whole head --- */

static enum request_method method_of(unsigned parsed)
{
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        if ((unsigned)methods[i].parsed == parsed)
            return methods[i].method;
    }
    return METHOD_OTHER;
}

static int64_t content_length_of(const http_parser *parser)
{
    if ((parser->flags & F_CONTENTLENGTH) == 0)
        return -1;
    return parser->content_length < INT64_MAX ? (int64_t)parser->content_length : INT64_MAX;
}

/* The value of the first header with that name, among those from `at`; NULL when absent. */
static const char *find_header(const struct http_head *head, const char *at, const char *name)
{
    const char *stop = head->headers.text + head->headers.len;

    while (at < stop) {
        const char *value = at + strlen(at) + 1;

        if (text_equal_nocase(at, name))
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

const char *http_head_header(const struct http_head *head, const char *name)
{
    return find_header(head, head->headers.text, name);
}

/* Several headers are one list of codings (RFC 9110, section 5.3): only "chunked" alone is read. */
static int read_coding(struct http_head *head, struct error *err)
{
    static const char name[] = "transfer-encoding";
    const char *coding = http_head_header(head, name);

    if (coding != NULL && (!text_equal_nocase(coding, "chunked") ||
                           find_header(head, coding + strlen(coding) + 1, name) != NULL))
        return error_set(err, ERROR_INVALID, "The request's transfer encoding is not supported");
    head->is_chunked = coding != NULL;
    return 0;
}

static int complete(struct http_head *head, struct error *err)
{
    const http_parser *parser = head->parser;

    if (parser->http_major != 1)
        return error_set(err, ERROR_INVALID, "The request is not valid HTTP/1.1");
    if (read_target(head, err) < 0 || read_coding(head, err) < 0)
        return -1;
    head->method = method_of(parser->method);
    head->content_length = content_length_of(parser);
    head->is_http_1_0 = parser->http_minor == 0;
    head->keeps_alive = http_should_keep_alive(parser) != 0;
    head->wants_upgrade = parser->upgrade != 0;
    return 0;
}

int http_head_read(struct http_head *head, const char *bytes, size_t len, size_t *used_out,
                   struct error *err)
{
    size_t room = MAX_HEADER_BYTES - head->n_bytes;
    size_t used = 0;

    if (head->parser == NULL) {
        head->parser = NEW(struct http_parser);
        http_parser_init(head->parser, HTTP_REQUEST);
    }
    head->parser->data = head;
    used = http_parser_execute(head->parser, &callbacks, bytes, len < room ? len : room);
    if (!head->is_complete && HTTP_PARSER_ERRNO(head->parser) != HPE_OK)
        return error_set(err, ERROR_INVALID, "The request is not valid HTTP/1.1");
    head->n_bytes += used;
    *used_out = used;
    if (head->is_complete && bytes[used - 1] != '\n')
        return error_set(err, ERROR_INVALID, "The request is not valid HTTP/1.1");
    if (head->is_complete)
        return complete(head, err);
    if (head->n_bytes >= MAX_HEADER_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "The request head is larger than %d bytes",
                         MAX_HEADER_BYTES);
    return 0;
}
