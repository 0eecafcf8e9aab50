#include "base/codec/event_stream.h"

#include <stdint.h>
#include <string.h>

#include <zlib.h>

#include "base/error.h"
#include "base/text.h"

enum {
    NUMBER_BYTES = 4,
    PRELUDE_BYTES = 3 * NUMBER_BYTES,               /* both lengths and their checksum */
    FRAME_MIN_BYTES = PRELUDE_BYTES + NUMBER_BYTES, /* and the checksum of the message */
};

/* Sizes of the values of headers, by type; -1: two bytes tell it. */
static const int value_sizes[] = {
    0,  /* true */
    0,  /* false */
    1,  /* byte */
    2,  /* short */
    4,  /* integer */
    8,  /* long */
    -1, /* bytes */
    -1, /* text */
    8,  /* timestamp */
    16, /* UUID */
};
enum { VALUE_TEXT = 7 };

/* The rest of the headers. */
struct event_header_reader {
    const unsigned char *at;
    size_t left;
};

struct event_header {
    const unsigned char *name;
    size_t name_len;
    unsigned type;
    const unsigned char *value;
    size_t value_len;
};

void event_stream_done(struct event_stream *stream)
{
    if (stream == NULL)
        return;
    strbuf_done(&stream->frame);
    strbuf_done(&stream->kind);
    strbuf_done(&stream->type);
    strbuf_done(&stream->words);
}

static uint32_t number_at(const struct event_stream *stream, size_t at)
{
    const unsigned char *bytes = (const unsigned char *)stream->frame.text + at;

    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
           (uint32_t)bytes[3];
}

/* The checksum of the first bytes, which follows them. */
static int check_sum(const struct event_stream *stream, size_t len, struct error *err)
{
    uint32_t sum = (uint32_t)crc32_z(0, (const unsigned char *)stream->frame.text, len);

    if (sum != number_at(stream, len))
        return error_set(err, ERROR_INVALID, "a message of the event stream has a wrong checksum");
    return 0;
}

/* --- headers --- */

/* Takes n bytes off the rest; false if there are fewer. */
static bool take(struct event_header_reader *reader, size_t n, const unsigned char **bytes_out)
{
    if (n > reader->left)
        return false;
    *bytes_out = reader->at;
    reader->at += n;
    reader->left -= n;
    return true;
}

static bool take_value_length(struct event_header_reader *reader, unsigned type, size_t *len_out)
{
    const unsigned char *bytes = NULL;

    if (value_sizes[type] >= 0) {
        *len_out = (size_t)value_sizes[type];
        return true;
    }
    if (!take(reader, 2, &bytes))
        return false;
    *len_out = (size_t)bytes[0] << 8 | bytes[1];
    return true;
}

static bool take_header(struct event_header_reader *reader, struct event_header *header_out)
{
    const unsigned char *byte = NULL;

    if (!take(reader, 1, &byte))
        return false;
    header_out->name_len = *byte;
    if (!take(reader, header_out->name_len, &header_out->name) || !take(reader, 1, &byte) ||
        *byte >= ARRAY_SIZE(value_sizes))
        return false;
    header_out->type = *byte;
    return take_value_length(reader, header_out->type, &header_out->value_len) &&
           take(reader, header_out->value_len, &header_out->value);
}

static bool is_called(const struct event_header *header, const char *name)
{
    return strlen(name) == header->name_len && memcmp(name, header->name, header->name_len) == 0;
}

static void keep_header(struct event_stream *stream, const struct event_header *header)
{
    struct strbuf *into = NULL;

    if (header->type != VALUE_TEXT)
        return;
    if (is_called(header, ":message-type"))
        into = &stream->kind;
    if (is_called(header, ":event-type") || is_called(header, ":exception-type") ||
        is_called(header, ":error-code"))
        into = &stream->type;
    if (is_called(header, ":error-message"))
        into = &stream->words;
    if (into == NULL)
        return;
    strbuf_reset(into);
    strbuf_append_bytes(into, header->value, header->value_len);
}

static int read_headers(struct event_stream *stream, size_t len, struct error *err)
{
    struct event_header_reader reader = {(const unsigned char *)stream->frame.text + PRELUDE_BYTES,
                                         len};
    struct event_header header = {.name = NULL};

    strbuf_reset(&stream->kind);
    strbuf_reset(&stream->type);
    strbuf_reset(&stream->words);
    while (reader.left > 0) {
        if (!take_header(&reader, &header))
            return error_set(err, ERROR_INVALID, "a message of the event stream has odd headers");
        keep_header(stream, &header);
    }
    return 0;
}

/* --- messages --- */

/* Moves bytes of the input to the frame until that has len bytes; false if they do not suffice. */
static bool fill(struct event_stream *stream, struct event_stream_input *input, size_t len)
{
    size_t wanted = len - stream->frame.len;
    size_t n = wanted < input->len ? wanted : input->len;

    strbuf_append_bytes(&stream->frame, input->bytes, n);
    input->bytes += n;
    input->len -= n;
    return n == wanted;
}

static int read_prelude(struct event_stream *stream, struct error *err)
{
    size_t len = number_at(stream, 0);

    if (check_sum(stream, PRELUDE_BYTES - NUMBER_BYTES, err) < 0)
        return -1;
    if (len > stream->max_bytes)
        return error_set(err, ERROR_TOO_LARGE,
                         "a message of the event stream is longer than %zu bytes",
                         stream->max_bytes);
    if (len < FRAME_MIN_BYTES || number_at(stream, NUMBER_BYTES) > len - FRAME_MIN_BYTES)
        return error_set(err, ERROR_INVALID, "a message of the event stream has odd lengths");
    stream->frame_len = len;
    return 0;
}

static int read_message(struct event_stream *stream, struct event_stream_message *message_out,
                        struct error *err)
{
    size_t headers_len = number_at(stream, NUMBER_BYTES);

    if (check_sum(stream, stream->frame_len - NUMBER_BYTES, err) < 0 ||
        read_headers(stream, headers_len, err) < 0)
        return -1;
    *message_out = (struct event_stream_message){
        .kind = stream->kind.text,
        .type = stream->type.text,
        .words = stream->words.text,
        .payload = stream->frame.text + PRELUDE_BYTES + headers_len,
        .payload_len = stream->frame_len - FRAME_MIN_BYTES - headers_len,
    };
    stream->is_taken = true;
    return 0;
}

int event_stream_next(struct event_stream *stream, struct event_stream_input *input,
                      struct event_stream_message *message_out, struct error *err)
{
    *message_out = (struct event_stream_message){.payload = NULL};
    if (stream->is_taken) {
        strbuf_reset(&stream->frame);
        stream->frame_len = 0;
        stream->is_taken = false;
    }
    if (stream->frame_len == 0) {
        if (!fill(stream, input, PRELUDE_BYTES))
            return 0;
        if (read_prelude(stream, err) < 0)
            return -1;
    }
    if (!fill(stream, input, stream->frame_len))
        return 0;
    return read_message(stream, message_out, err);
}
