#include "fcgi/sandbox/sandbox_response.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json.h"
#include "client/http.h"
#include "fcgi/core/reply.h"

enum { TYPE_MAX_BYTES = 127, HEADER_MAX_BYTES = 2048 };

/* The body may not run scripts, make requests or be framed, whatever its type. */
static const char sandbox_policy[] =
    "sandbox; default-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

static const char type_bytes[] = "application/octet-stream";

/*
 * The only headers that pass, in addition to Content-Type and Content-Disposition: file metadata.
 * Cookies, locations, policies and links of a sandbox do not pass.
 */
static const char *const passed_headers[] = {
    "Content-Length",        "Content-Range",         "Accept-Ranges",         "ETag",
    "Last-Modified",         "X-Archive-Repo-Root",   "X-Archive-Repo-Remote", "X-Archive-Branch",
    "X-Archive-Head-Commit", "X-Archive-Base-Commit", "X-Archive-Base-Ref"};

/* The statuses that pass; a redirect would let the sandbox choose where the browser goes. */
static bool status_passes(long status)
{
    return (status >= 200 && status <= 299) || status == 304 || (status >= 400 && status <= 599);
}

static bool is_type_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$&^_.+-", c) != NULL);
}

static size_t type_word_len(const char *text)
{
    size_t n = 0;

    while (is_type_char(text[n]))
        n++;
    return n;
}

/* "type/subtype", with parameters of printable ASCII. RFC 6838, section 4.2. */
static bool is_media_type(const char *text)
{
    size_t n = type_word_len(text);
    const char *at = text + n;

    if (n == 0 || *at != '/' || strlen(text) > TYPE_MAX_BYTES)
        return false;
    n = type_word_len(at + 1);
    at += 1 + n;
    if (n == 0 || (*at != '\0' && *at != ';' && *at != ' '))
        return false;
    for (; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~')
            return false;
    }
    return true;
}

/* The parts of a multipart response would have headers of their own. */
static const char *type_of(const struct http_call *call)
{
    static const char multipart[] = "multipart/";
    const char *type = http_reply_header(call, "Content-Type");

    if (type == NULL || !is_media_type(type) ||
        strncasecmp(type, multipart, strlen(multipart)) == 0)
        return type_bytes;
    return type;
}

/* Marks a download; anything that is neither displayed nor data for a script is one. */
static void add_disposition(struct reply *reply, const struct http_call *call, const char *type)
{
    static const char attachment[] = "attachment";
    const char *value = http_reply_header(call, "Content-Disposition");

    if (value != NULL && strncasecmp(value, attachment, strlen(attachment)) == 0 &&
        strchr("; ", value[strlen(attachment)]) != NULL && strlen(value) < HEADER_MAX_BYTES)
        reply_header(reply, "Content-Disposition", value);
    else if (reply->content_policy == NULL && !json_is_media_type(type))
        reply_header(reply, "Content-Disposition", attachment);
}

int sandbox_response_begin(struct reply *reply, const struct http_call *call, struct error *err)
{
    const char *type = type_of(call);
    long status = http_status(call);

    if (!status_passes(status))
        return error_set(err, ERROR_INVALID,
                         "the sandbox replied with status %ld, which is not forwarded", status);
    for (size_t i = 0; i < ARRAY_SIZE(passed_headers); i++) {
        const char *value = http_reply_header(call, passed_headers[i]);

        if (value != NULL && strlen(value) < HEADER_MAX_BYTES)
            reply_header(reply, passed_headers[i], value);
    }
    add_disposition(reply, call, type);
    if (reply->content_policy == NULL)
        reply->content_policy = sandbox_policy;
    return reply_stream_begin(reply, (int)status, type, err);
}
