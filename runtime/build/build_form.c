#include "runtime/build/build_form.h"

#include <stdbool.h>
#include <string.h>

#include <zlib.h>

#include "base/codec/multipart.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#define NAME_MAX_BYTES 255
#define GZIP_WINDOW_BITS (16 + MAX_WBITS)
#define PIECE_BYTES 16384
#define FEED_BYTES ((size_t)(64 * 1024))

void build_form_done(struct build_form *form)
{
    if (form == NULL)
        return;
    json_decref(form->names);
    strbuf_done(&form->context);
    *form = (struct build_form)BUILD_FORM_INIT;
}

/* --- parts --- */

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

enum form_field { FIELD_OTHER, FIELD_TARGET, FIELD_TAG, FIELD_CONTEXT };

/* The target's name comes first, wherever it is in the form. */
static int add_name(struct build_form *form, enum form_field field, const struct strbuf *value,
                    struct error *err)
{
    json_t *name = NULL;

    if (value->len > NAME_MAX_BYTES || !utf8_is_valid(value->text, value->len))
        return error_set(err, ERROR_INVALID, "target_image and tags: must be image names");
    name = json_text(value->text, value->len);
    if (json_array_size(form->names) >= BUILD_TAGS_MAX) {
        json_decref(name);
        return error_set(err, ERROR_INVALID, "tags: there may be at most %d", BUILD_TAGS_MAX);
    }
    if (has_name(form->names, json_string_value(name)))
        json_decref(name);
    else if (field == FIELD_TARGET)
        json_array_insert_new(form->names, 0, name);
    else
        json_push(form->names, name);
    return 0;
}

/* Some clients send the archive without base64. */
static int take_context(struct build_form *form, const struct strbuf *value, struct error *err)
{
    static const char magic[] = "\x1f\x8b";

    if (value->len >= 2 && memcmp(value->text, magic, 2) == 0) {
        strbuf_append_bytes(&form->context, value->text, value->len);
        return 0;
    }
    if (base64_decode(value->text, value->len, &form->context, err) < 0)
        return error_wrap(err, "context");
    return 0;
}

/* A form that is being read. */
struct form_reader {
    struct build_form *form;
    enum form_field field; /* of the part that is being read */
    struct strbuf value;
    bool has_target;
    bool has_context;
};

static int begin_part(void *state, const char *name, struct error *err)
{
    struct form_reader *reader = state;

    strbuf_reset(&reader->value);
    reader->field = FIELD_OTHER;
    if (name[0] == '\0')
        return error_set(err, ERROR_INVALID, "a part of the form has no name");
    if (text_equal(name, "target_image"))
        reader->field = FIELD_TARGET;
    else if (text_equal(name, "tags"))
        reader->field = FIELD_TAG;
    else if (text_equal(name, "context"))
        reader->field = FIELD_CONTEXT;
    if (reader->field == FIELD_CONTEXT && reader->has_context)
        return error_set(err, ERROR_INVALID, "context: given twice");
    return 0;
}

static int take_bytes(void *state, const char *bytes, size_t len, struct error *err)
{
    struct form_reader *reader = state;

    (void)err;
    if (reader->field != FIELD_OTHER)
        strbuf_append_bytes(&reader->value, bytes, len);
    return 0;
}

static int end_part(void *state, struct error *err)
{
    struct form_reader *reader = state;

    switch (reader->field) {
    case FIELD_TARGET:
        reader->has_target = true;
        return add_name(reader->form, FIELD_TARGET, &reader->value, err);
    case FIELD_TAG:
        return add_name(reader->form, FIELD_TAG, &reader->value, err);
    case FIELD_CONTEXT:
        reader->has_context = true;
        return take_context(reader->form, &reader->value, err);
    case FIELD_OTHER:
        break;
    }
    return 0;
}

/* In pieces, so that the codec keeps no copy of the body. */
static int read_parts(struct form_reader *reader, const char *content_type,
                      const struct strbuf *body, struct error *err)
{
    CLEANUP(multipart_done) struct multipart multipart = {.pending = STRBUF_INIT};
    const struct multipart_target target = {
        .state = reader, .begin = begin_part, .take = take_bytes, .end = end_part};

    if (multipart_init(&multipart, content_type, NULL, err) < 0)
        return -1;
    for (size_t at = 0; at < body->len; at += FEED_BYTES) {
        size_t n = body->len - at < FEED_BYTES ? body->len - at : FEED_BYTES;

        if (multipart_feed(&multipart, body->text + at, n, &target, err) < 0)
            return -1;
    }
    if (!multipart_is_complete(&multipart))
        return error_set(err, ERROR_INVALID, "the form is truncated");
    if (!reader->has_target || !reader->has_context)
        return error_set(err, ERROR_INVALID, "the form must have a target_image and a context");
    return 0;
}

int build_form_read(const char *content_type, const struct strbuf *body,
                    struct build_form *form_out, struct error *err)
{
    struct build_form form = BUILD_FORM_INIT;
    struct form_reader reader = {.form = &form, .value = STRBUF_INIT};
    int rc = 0;

    form.names = json_array();
    rc = read_parts(&reader, content_type, body, err);
    strbuf_done(&reader.value);
    if (rc < 0) {
        build_form_done(&form);
        return -1;
    }
    *form_out = form;
    return 0;
}

/* --- the archive --- */

struct unpacker {
    z_stream stream;
    unsigned char piece[PIECE_BYTES];
};

/* Unpacks all members of the gzip file through a fixed buffer and enforces max_bytes. */
static int unpack(struct unpacker *unpacker, int64_t max_bytes, const struct unpack_sink *sink,
                  struct error *err)
{
    z_stream *stream = &unpacker->stream;
    int64_t n_bytes = 0;
    int rc = Z_OK;

    while (rc == Z_OK || (rc == Z_STREAM_END && stream->avail_in > 0)) {
        size_t n = 0;

        if (rc == Z_STREAM_END && inflateReset(stream) != Z_OK)
            break;
        stream->next_out = unpacker->piece;
        stream->avail_out = PIECE_BYTES;
        rc = inflate(stream, Z_NO_FLUSH);
        n = PIECE_BYTES - stream->avail_out;
        n_bytes += (int64_t)n;
        if (n_bytes > max_bytes)
            return error_set(err, ERROR_TOO_LARGE, "context: unpacks to more than %lld bytes",
                             (long long)max_bytes);
        if (sink->take(sink->owner, unpacker->piece, n, err) < 0)
            return -1;
    }
    if (rc != Z_STREAM_END)
        return error_set(err, ERROR_INVALID, "context: not a complete gzip archive");
    return 0;
}

int build_form_unpack(const struct strbuf *context, int64_t max_bytes,
                      const struct unpack_sink *sink, struct error *err)
{
    struct unpacker unpacker = {
        .stream = {.next_in = (unsigned char *)context->text, .avail_in = (unsigned)context->len}};
    int rc = 0;

    if (context->len > UINT32_MAX || inflateInit2(&unpacker.stream, GZIP_WINDOW_BITS) != Z_OK)
        return error_set(err, ERROR_INVALID, "context: cannot be unpacked");
    rc = unpack(&unpacker, max_bytes, sink, err);
    (void)inflateEnd(&unpacker.stream);
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
