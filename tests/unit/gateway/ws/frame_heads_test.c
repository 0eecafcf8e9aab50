/*
 * Where frames begin: the length of a payload in its three forms, and input in pieces of any size.
 */
#include "gateway/ws/frame_heads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strbuf.h"

enum { FIRST_BYTE = 0x81, MASK_BIT = 0x80, LENGTH_OF_16 = 126, LENGTH_OF_64 = 127 };

static void append_number(struct strbuf *frames, uint64_t number, int n_bytes)
{
    for (int i = n_bytes - 1; i >= 0; i--)
        strbuf_append_char(frames, (char)(number >> (8 * i)));
}

/* The head of a masked frame, in the form that is given. */
static void append_head(struct strbuf *frames, int form, uint64_t length)
{
    append_number(frames, FIRST_BYTE, 1);
    append_number(frames, (uint64_t)(MASK_BIT | form), 1);
    if (form == LENGTH_OF_16)
        append_number(frames, length, 2);
    if (form == LENGTH_OF_64)
        append_number(frames, length, 8);
    strbuf_append(frames, "mask");
}

/* Its payload looks like a frame that is not masked. */
static void append_frame(struct strbuf *frames, int form, size_t length)
{
    append_head(frames, form, length);
    for (size_t i = 0; i < length; i++)
        append_number(frames, i % 2 == 0 ? FIRST_BYTE : 1, 1);
}

static int form_of(size_t length)
{
    if (length < LENGTH_OF_16)
        return (int)length;
    return length <= UINT16_MAX ? LENGTH_OF_16 : LENGTH_OF_64;
}

/* Passes the frames in pieces; returns how many bytes are of masked ones. */
static size_t read_pieces(const struct strbuf *frames, size_t piece)
{
    struct frame_heads heads = {.n_head = 0};
    size_t at = 0;

    while (at < frames->len) {
        size_t len = frames->len - at < piece ? frames->len - at : piece;
        size_t n = frame_heads_read(&heads, (const unsigned char *)frames->text + at, len);

        at += n;
        if (n < len)
            break;
    }
    return at;
}

static void assert_ends(const struct strbuf *frames, size_t n_expected)
{
    static const size_t pieces[] = {1, 2, 3, 7, 4096, SIZE_MAX};

    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
        assert_int_equal(read_pieces(frames, pieces[i]), n_expected);
}

static void next_frame_begins_after_the_payload(void **state)
{
    static const size_t lengths[] = {0,   1,      2,      124,    125,     126,    127,
                                     128, 0x0102, 0xff01, 0xffff, 0x10000, 0x10203};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        CLEANUP(strbuf_done) struct strbuf frames = STRBUF_INIT;
        size_t n_masked = 0;

        append_frame(&frames, form_of(lengths[i]), lengths[i]);
        append_frame(&frames, form_of(lengths[i]), lengths[i]);
        assert_ends(&frames, frames.len);
        n_masked = frames.len;
        append_number(&frames, FIRST_BYTE, 1);
        append_number(&frames, 0, 1);
        append_frame(&frames, 1, 1);
        /* Its first byte does not say yet that it is not masked. */
        assert_ends(&frames, n_masked + 1);
    }
}

/* RFC 6455 wants the shortest form; a longer one must not hide a frame. */
static void length_may_be_in_a_longer_form(void **state)
{
    static const int forms[] = {LENGTH_OF_16, LENGTH_OF_64};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        CLEANUP(strbuf_done) struct strbuf frames = STRBUF_INIT;
        size_t n_masked = 0;

        append_frame(&frames, forms[i], 3);
        append_frame(&frames, forms[i], 0);
        n_masked = frames.len;
        append_number(&frames, FIRST_BYTE, 1);
        append_number(&frames, LENGTH_OF_16, 1);
        assert_ends(&frames, n_masked + 1);
    }
}

static void payload_may_be_longer_than_all_input(void **state)
{
    CLEANUP(strbuf_done) struct strbuf frames = STRBUF_INIT;

    (void)state;
    append_head(&frames, LENGTH_OF_64, (uint64_t)1 << 62);
    append_frame(&frames, LENGTH_OF_16, 1000);
    append_number(&frames, FIRST_BYTE, 1);
    append_number(&frames, 0, 1);
    assert_ends(&frames, frames.len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_frame_begins_after_the_payload),
        cmocka_unit_test(length_may_be_in_a_longer_form),
        cmocka_unit_test(payload_may_be_longer_than_all_input),
    };

    return cmocka_run_group_tests_name("gateway/frame_heads", tests, NULL, NULL);
}
