#include "runtime/build/build_form.h"

#include <stdbool.h>
#include <string.h>

#include <zlib.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#define BOUNDARY_MAX_BYTES 70
#define NAME_MAX_BYTES 255
#define GZIP_WINDOW_BITS (16 + MAX_WBITS)
#define PIECE_BYTES 16384

void build_form_done(struct build_form *form)
{
    if (form == NULL)
        return;
    json_decref(form->names);
    strbuf_done(&form->context);
    *form = (struct build_form)BUILD_FORM_INIT;
}

/* --- parts --- */

struct span {
    const char *begin;
    size_t len;
};

static struct span span_from(const char *begin, const char *end)
{
    return (struct span){.begin = begin, .len = (size_t)(end - begin)};
}

static const char *span_find(struct span span, const char *text, size_t len)
{
    return memmem(span.begin, span.len, text, len);
}

/* "--" and the boundary; RFC 2046, section 5.1.1. */
static int read_delimiter(const char *content_type, struct strbuf *delimiter, struct error *err)
{
    const char *boundary = strcasestr(content_type, "boundary=");
    size_t len = 0;

    if (strncasecmp(content_type, "multipart/form-data", strlen("multipart/form-data")) != 0 ||
        boundary == NULL)
        return error_set(err, ERROR_INVALID, "the body must be multipart/form-data");
    boundary += strlen("boundary=");
    if (*boundary == '"')
        boundary++;
    len = strcspn(boundary, "\";, \t");
    if (len == 0 || len > BOUNDARY_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "the form has no boundary");
    strbuf_append(delimiter, "--");
    strbuf_append_bytes(delimiter, boundary, len);
    return 0;
}

/* The value of "name" in a part's headers; "filename" does not match. */
static bool read_name(struct span headers, struct strbuf *name)
{
    static const char key[] = "; name=\"";
    const char *at = span_find(headers, key, sizeof(key) - 1);
    const char *end = NULL;

    if (at == NULL)
        return false;
    at += sizeof(key) - 1;
    end = memchr(at, '"', headers.len - (size_t)(at - headers.begin));
    if (end == NULL)
        return false;
    strbuf_append_bytes(name, at, (size_t)(end - at));
    return true;
}

static bool has_name(const json_t *names, const char *name)
{
    const json_t *one = NULL;
    size_t i = 0;

    json_array_foreach (names, i, one) {
        if (text_equal(json_string_value(one), name))
            return true;
    }
    return false;
}

static int add_name(struct build_form *form, bool is_target, struct span value, struct error *err)
{
    json_t *name = NULL;

    if (value.len > NAME_MAX_BYTES || !utf8_is_valid(value.begin, value.len))
        return error_set(err, ERROR_INVALID, "target_image and tags: names of images");
    name = json_text(value.begin, value.len);
    if (json_array_size(form->names) >= BUILD_TAGS_MAX) {
        json_decref(name);
        return error_set(err, ERROR_INVALID, "tags: at most %d", BUILD_TAGS_MAX);
    }
    if (has_name(form->names, json_string_value(name)))
        json_decref(name);
    else if (is_target)
        json_array_insert_new(form->names, 0, name);
    else
        json_push(form->names, name);
    return 0;
}

/* Some clients send the archive without base64. */
static int take_context(struct build_form *form, struct span value, struct error *err)
{
    static const char magic[] = "\x1f\x8b";

    if (value.len >= 2 && memcmp(value.begin, magic, 2) == 0) {
        strbuf_append_bytes(&form->context, value.begin, value.len);
        return 0;
    }
    if (base64_decode(value.begin, value.len, &form->context, err) < 0)
        return error_wrap(err, "context");
    return 0;
}

struct seen_fields {
    bool has_target;
    bool has_context;
};

static int take_part(struct build_form *form, struct seen_fields *seen, struct span part,
                     struct error *err)
{
    static const char gap[] = "\r\n\r\n";
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    const char *end = span_find(part, gap, sizeof(gap) - 1);
    struct span value = {.begin = NULL};

    if (end == NULL || !read_name(span_from(part.begin, end), &name))
        return error_set(err, ERROR_INVALID, "a part of the form has no name");
    value = span_from(end + sizeof(gap) - 1, part.begin + part.len);
    if (text_equal(name.text, "target_image")) {
        seen->has_target = true;
        return add_name(form, true, value, err);
    }
    if (text_equal(name.text, "tags"))
        return add_name(form, false, value, err);
    if (!text_equal(name.text, "context"))
        return 0;
    if (seen->has_context)
        return error_set(err, ERROR_INVALID, "context: comes twice");
    seen->has_context = true;
    return take_context(form, value, err);
}

static int take_parts(struct build_form *form, const struct strbuf *delimiter, struct span body,
                      struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf next = STRBUF_INIT;
    struct seen_fields seen = {.has_target = false};
    const char *at = span_find(body, delimiter->text, delimiter->len);
    const char *body_end = body.begin + body.len;

    strbuf_appendf(&next, "\r\n%s", delimiter->text);
    while (at != NULL && !text_starts_with(at + delimiter->len, "--")) {
        const char *begin = at + delimiter->len;
        const char *end = span_find(span_from(begin, body_end), next.text, next.len);

        if (end == NULL)
            return error_set(err, ERROR_INVALID, "the form ends early");
        if (take_part(form, &seen, span_from(begin, end), err) < 0)
            return -1;
        at = end + 2;
    }
    if (at == NULL || !seen.has_target || !seen.has_context)
        return error_set(err, ERROR_INVALID, "the form needs a target_image and a context");
    return 0;
}

int build_form_read(const char *content_type, const struct strbuf *body,
                    struct build_form *form_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf delimiter = STRBUF_INIT;
    struct build_form form = BUILD_FORM_INIT;

    form.names = json_array();
    if (read_delimiter(content_type, &delimiter, err) < 0 ||
        take_parts(&form, &delimiter, (struct span){body->text, body->len}, err) < 0) {
        build_form_done(&form);
        return -1;
    }
    *form_out = form;
    return 0;
}

/* --- the archive --- */

/* Unpacks all members of the gzip file through a fixed buffer and enforces max_bytes. */
static int unpack(z_stream *stream, int64_t max_bytes, const struct unpack_sink *sink,
                  struct error *err)
{
    unsigned char piece[PIECE_BYTES] = {0};
    int64_t n_bytes = 0;
    int rc = Z_OK;

    while (rc == Z_OK || (rc == Z_STREAM_END && stream->avail_in > 0)) {
        size_t n = 0;

        if (rc == Z_STREAM_END && inflateReset(stream) != Z_OK)
            break;
        stream->next_out = piece;
        stream->avail_out = PIECE_BYTES;
        rc = inflate(stream, Z_NO_FLUSH);
        n = PIECE_BYTES - stream->avail_out;
        n_bytes += (int64_t)n;
        if (n_bytes > max_bytes)
            return error_set(err, ERROR_TOO_LARGE, "context: unpacks to more than %lld bytes",
                             (long long)max_bytes);
        if (sink->take(sink->owner, piece, n, err) < 0)
            return -1;
    }
    if (rc != Z_STREAM_END)
        return error_set(err, ERROR_INVALID, "context: is no whole gzip archive");
    return 0;
}

int build_form_unpack(const struct strbuf *context, int64_t max_bytes,
                      const struct unpack_sink *sink, struct error *err)
{
    z_stream stream = {.next_in = (unsigned char *)context->text,
                       .avail_in = (unsigned)context->len};
    int rc = 0;

    if (context->len > UINT32_MAX || inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK)
        return error_set(err, ERROR_INVALID, "context: cannot be unpacked");
    rc = unpack(&stream, max_bytes, sink, err);
    (void)inflateEnd(&stream);
    return rc;
}

static int drop(void *owner, const unsigned char *bytes, size_t len, struct error *err)
{
    (void)owner;
    (void)bytes;
    (void)len;
    (void)err;
    return 0;
}

int build_form_check_context(const struct strbuf *context, int64_t max_bytes, struct error *err)
{
    const struct unpack_sink sink = {drop, NULL};

    return build_form_unpack(context, max_bytes, &sink, err);
}
