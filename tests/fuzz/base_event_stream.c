/*
 * Messages of an AWS service's stream: the same bytes give the same messages, however they are cut
 * (cut.h), as they come and with the right checksums, which changes of the input would not find.
 */
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

#include "base/codec/event_stream.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "cut.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { MAX_BYTES = 4096 };

static int parse(const char *text, size_t len, size_t piece, struct strbuf *out)
{
    CLEANUP(event_stream_done) struct event_stream stream = EVENT_STREAM_INIT(MAX_BYTES);
    struct error err = ERROR_INIT;

    for (size_t at = 0; at < len; at += piece) {
        struct event_stream_input input = {text + at, len - at < piece ? len - at : piece};
        struct event_stream_message message = {.payload = ""};

        while (message.payload != NULL) {
            if (event_stream_next(&stream, &input, &message, &err) < 0)
                return -1;
            if (message.payload == NULL)
                continue;
            strbuf_appendf(out, "%s/%s/%s=", message.kind, message.type, message.words);
            strbuf_append_bytes(out, message.payload, message.payload_len);
        }
    }
    return 0;
}

static void put_sum(struct strbuf *text, size_t begin, size_t at)
{
    uint32_t sum = (uint32_t)crc32_z(0, (const unsigned char *)text->text + begin, at - begin);

    for (size_t i = 0; i < 4; i++)
        text->text[at + i] = (char)(sum >> (24 - 8 * i));
}

/* Gives each message after the first byte the checksums that it ought to have. */
static void repair(struct strbuf *text)
{
    size_t at = 1;

    while (text->len - at >= 16) {
        const unsigned char *size = (const unsigned char *)text->text + at;
        size_t len = (size_t)size[2] << 8 | size[3];

        put_sum(text, at, at + 8);
        if (size[0] != 0 || size[1] != 0 || len < 16 || len > text->len - at)
            return;
        put_sum(text, at, at + len - 4);
        at += len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf repaired = STRBUF_INIT;

    fuzz_cut(bytes, len, parse);
    if (len == 0)
        return 0;
    strbuf_append_bytes(&repaired, bytes, len);
    repair(&repaired);
    fuzz_cut((const uint8_t *)repaired.text, repaired.len, parse);
    return 0;
}
