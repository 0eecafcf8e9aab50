#include <string.h>

#include "base/codec/event_stream.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"
#include "unit/support/event_frames.h"

enum { MAX_BYTES = 1000 };

/* All messages of the bytes as "kind/type/words=payload|", when they come in pieces. */
static int read_all(const char *bytes, size_t len, size_t piece, struct strbuf *out,
                    struct error *err)
{
    CLEANUP(event_stream_done) struct event_stream stream = EVENT_STREAM_INIT(MAX_BYTES);

    for (size_t at = 0; at < len; at += piece) {
        struct event_stream_input input = {bytes + at, len - at < piece ? len - at : piece};
        struct event_stream_message message = {.payload = NULL};

        do {
            if (event_stream_next(&stream, &input, &message, err) < 0)
                return -1;
            if (message.payload != NULL)
                strbuf_appendf(out, "%s/%s/%s=%.*s|", message.kind, message.type, message.words,
                               (int)message.payload_len, message.payload);
        } while (message.payload != NULL);
        assert_int_equal(input.len, 0);
    }
    return 0;
}

static void assert_read(const char *bytes, size_t len, const char *expected)
{
    for (size_t piece = 1; piece <= len; piece++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(read_all(bytes, len, piece, &out, &err), 0);
        assert_string_equal(out.text, expected);
    }
}

static void assert_refused(const char *bytes, size_t len, enum error_code code, const char *words)
{
    for (size_t piece = 1; piece <= len; piece++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(read_all(bytes, len, piece, &out, &err), -1);
        assert_int_equal(err.code, code);
        assert_non_null(strstr(err.message, words));
    }
}

/* Messages that the vendor's own clients are tested with. */
static const char empty_message[] = "\0\0\0\x10\0\0\0\0\x05\xc2\x48\xeb\x7d\x98\xc8\xff";
static const char plain_message[] =
    "\0\0\0\x1d\0\0\0\0\xfd\x52\x8c\x5a{'foo':'bar'}\xc3\x65\x39\x36";
static const char number_message[] = "\0\0\0\x2d\0\0\0\x10\x41\xc4\x24\xb8\x0a"
                                     "event-type\x04\0\0\xa0\x0c{'foo':'bar'}\x36\xf4\x80\xa0";
static const char text_message[] = "\0\0\0\x3d\0\0\0\x20\x07\xfd\x83\x96\x0c"
                                   "content-type\x07\0\x10"
                                   "application/json{'foo':'bar'}\x8d\x9c\x08\xb1";

static void the_vendors_messages_are_read(void **state)
{
    CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;

    (void)state;
    strbuf_append_bytes(&all, empty_message, sizeof(empty_message) - 1);
    strbuf_append_bytes(&all, plain_message, sizeof(plain_message) - 1);
    strbuf_append_bytes(&all, number_message, sizeof(number_message) - 1);
    strbuf_append_bytes(&all, text_message, sizeof(text_message) - 1);
    assert_read(all.text, all.len, "//=|//={'foo':'bar'}|//={'foo':'bar'}|//={'foo':'bar'}|");
}

static void headers_tell_what_a_message_is(void **state)
{
    CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;

    (void)state;
    frame_append(&all, "event", "messageStart", "{}");
    frame_append(&all, "exception", "throttlingException", "{\"message\":\"slow\"}");
    frame_append_header(&headers, ":message-type", "error");
    frame_append_header(&headers, ":error-code", "Gone");
    frame_append_header(&headers, ":error-message", "went away");
    frame_append_raw(&all, &headers, "", 0);
    strbuf_append_bytes(&all, empty_message, sizeof(empty_message) - 1);
    assert_read(all.text, all.len,
                "event/messageStart/={}|exception/throttlingException/={\"message\":\"slow\"}|"
                "error/Gone/went away=|//=|");
}

/* Each type of header, the last of them a text. */
static void headers_of_other_types_are_passed_over(void **state)
{
    static const char others[] =
        "\1a\0\1b\1\1c\2x\1d\3xx\1e\4xxxx\1f\5xxxxxxxx\1g\6\0\2xx\1h\7\0\1x\1i\x08xxxxxxxx"
        "\1j\x09xxxxxxxxxxxxxxxx\0\1";
    CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;

    (void)state;
    strbuf_append_bytes(&headers, others, sizeof(others) - 1);
    frame_append_header(&headers, ":event-type", "first");
    frame_append_header(&headers, ":event-type", "yes");
    frame_append_header(&headers, ":event-typ", "no");
    /* A number, where a text is expected. */
    strbuf_append_bytes(&headers, "\x0b:event-type\x02x", 14);
    frame_append_raw(&all, &headers, "{}", 2);
    assert_read(all.text, all.len, "/yes/={}|");
}

static void odd_headers_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } headers[] = {
        {"\1", 1},
        {"\1a", 2},
        {"\1a\x0a", 3},
        {"\1a\xff", 3},
        {"\1a\4xxx", 6},
        {"\1a\7\0", 4},
        {"\1a\7\0\2x", 6},
        {"\1a\7", 3},
        {"\2a", 2},
        {"\1a\0\1b\7\xff\xff"
         "x",
         9},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;

        strbuf_append_bytes(&bytes, headers[i].bytes, headers[i].len);
        frame_append_raw(&all, &bytes, "{}", 2);
        assert_refused(all.text, all.len, ERROR_INVALID, "odd headers");
    }
}

/* Whichever bit is wrong, the message is not taken. */
static void a_wrong_checksum_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;

    (void)state;
    frame_append(&all, "event", "x", "{\"a\":1}");
    for (size_t i = 0; i < all.len * 8; i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct error err = ERROR_INIT;

        all.text[i / 8] = (char)(all.text[i / 8] ^ (1 << i % 8));
        assert_int_equal(read_all(all.text, all.len, all.len, &out, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_non_null(strstr(err.message, "checksum"));
        all.text[i / 8] = (char)(all.text[i / 8] ^ (1 << i % 8));
    }
    assert_read(all.text, all.len, "event/x/={\"a\":1}|");
}

/* Lengths with a right checksum of their own. */
static void assert_lengths_refused(size_t total, size_t headers, enum error_code code,
                                   const char *words)
{
    CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;

    frame_append_number(&all, total);
    frame_append_number(&all, headers);
    frame_append_sum(&all, 0);
    assert_refused(all.text, all.len, code, words);
}

static void odd_lengths_are_refused_before_the_message_has_come(void **state)
{
    (void)state;
    assert_lengths_refused(0, 0, ERROR_INVALID, "odd lengths");
    assert_lengths_refused(15, 0, ERROR_INVALID, "odd lengths");
    assert_lengths_refused(16, 1, ERROR_INVALID, "odd lengths");
    assert_lengths_refused(100, 0xffffffff, ERROR_INVALID, "odd lengths");
    assert_lengths_refused(MAX_BYTES + 1, 0, ERROR_TOO_LARGE, "longer than 1000 bytes");
    assert_lengths_refused(0xffffffff, 0, ERROR_TOO_LARGE, "longer than 1000 bytes");
}

static void the_longest_message_is_taken(void **state)
{
    CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf payload = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    const struct strbuf none = STRBUF_INIT;

    (void)state;
    while (payload.len < MAX_BYTES - 16)
        strbuf_append_char(&payload, 'x');
    frame_append_raw(&all, &none, payload.text, payload.len);
    strbuf_appendf(&expected, "//=%s|", payload.text);
    assert_read(all.text, all.len, expected.text);
}

static void a_torn_message_is_not_returned(void **state)
{
    CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;

    (void)state;
    frame_append(&all, "event", "x", "{}");
    frame_append(&all, "event", "y", "{}");
    assert_read(all.text, all.len - 1, "event/x/={}|");
    assert_read(all.text, 11, "");
}

int event_stream_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vendors_messages_are_read),
        cmocka_unit_test(headers_tell_what_a_message_is),
        cmocka_unit_test(headers_of_other_types_are_passed_over),
        cmocka_unit_test(odd_headers_are_refused),
        cmocka_unit_test(a_wrong_checksum_is_refused),
        cmocka_unit_test(odd_lengths_are_refused_before_the_message_has_come),
        cmocka_unit_test(the_longest_message_is_taken),
        cmocka_unit_test(a_torn_message_is_not_returned),
    };

    return cmocka_run_group_tests_name("event_stream", tests, NULL, NULL);
}
