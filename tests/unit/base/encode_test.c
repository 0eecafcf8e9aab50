#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"

struct base64_case {
    const char *bytes;
    const char *padded;
    const char *url;
};

/* RFC 4648, section 10, and bytes that tell the two alphabets apart. */
static const struct base64_case base64_cases[] = {
    {"", "", ""},
    {"f", "Zg==", "Zg"},
    {"fo", "Zm8=", "Zm8"},
    {"foo", "Zm9v", "Zm9v"},
    {"foob", "Zm9vYg==", "Zm9vYg"},
    {"fooba", "Zm9vYmE=", "Zm9vYmE"},
    {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
    {"\xfb\xff\xbf", "+/+/", "-_-_"},
};

static void base64_follows_the_rfc(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(base64_cases); i++) {
        const struct base64_case *c = &base64_cases[i];
        CLEANUP(strbuf_done) struct strbuf padded = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf back = STRBUF_INIT;
        struct error err = ERROR_INIT;

        base64_append(&padded, (const unsigned char *)c->bytes, strlen(c->bytes));
        base64url_append(&url, (const unsigned char *)c->bytes, strlen(c->bytes));
        assert_string_equal(padded.text, c->padded);
        assert_string_equal(url.text, c->url);
        assert_int_equal(base64url_decode(c->url, &back, &err), 0);
        assert_string_equal(back.text, c->bytes);
        strbuf_reset(&back);
        assert_int_equal(base64_decode(c->padded, strlen(c->padded), &back, &err), 0);
        assert_string_equal(back.text, c->bytes);
    }
}

static void foreign_base64_is_refused(void **state)
{
    static const char *const texts[] = {"Z", "Zg==", "Zm9+", "Zm 8", "Zm9vY"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(base64url_decode(texts[i], &out, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void base64_has_lines_and_nothing_else(void **state)
{
    static const char *const texts[] = {"Z", "Zm 8", "Zm9-", "Zm=8", "Zm9vY"};
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(base64_decode("Zm9v\r\nYmFy\n", 11, &out, &err), 0);
    assert_string_equal(out.text, "foobar");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_int_equal(base64_decode(texts[i], strlen(texts[i]), &out, &err), -1);
}

static void hex_reads_back_and_takes_no_other_length(void **state)
{
    const unsigned char bytes[] = {0x00, 0x7f, 0xff};
    unsigned char back[3] = {0};
    char hex[7];
    struct error err = ERROR_INIT;

    (void)state;
    hex_encode(bytes, sizeof(bytes), hex);
    assert_string_equal(hex, "007fff");
    assert_int_equal(hex_decode("007FfF", back, sizeof(back), &err), 0);
    assert_memory_equal(back, bytes, sizeof(bytes));
    assert_int_equal(hex_decode("007fg0", back, sizeof(back), &err), -1);
    assert_int_equal(hex_decode("007f", back, sizeof(back), &err), -1);
    assert_int_equal(hex_decode("007fff00", back, sizeof(back), &err), -1);
}

/* RFC 3986, section 2.3. */
static void only_unreserved_characters_stay_plain(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    percent_append(&out, "aZ09-._~ /?\xc3\xa4");
    assert_string_equal(out.text, "aZ09-._~%20%2F%3F%C3%A4");
    strbuf_reset(&out);
    percent_append_bytes(&out, "a\0/bc", 4);
    assert_string_equal(out.text, "a%00%2Fb");
}

static void percent_signs_decode_or_stay(void **state)
{
    CLEANUP(strbuf_done) struct strbuf query = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const char *text = "a+b%2Fc%zz%4%";

    (void)state;
    percent_decode(&query, text, strlen(text), ' ');
    percent_decode(&path, text, strlen(text), '+');
    assert_string_equal(query.text, "a b/c%zz%4%");
    assert_string_equal(path.text, "a+b/c%zz%4%");
}

static void a_word_of_the_shell_holds_anything(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    shell_word_append(&out, "");
    strbuf_append_char(&out, ' ');
    shell_word_append(&out, "it's $x `y`\n\"z\"\\");
    assert_string_equal(out.text, "'' 'it'\\''s $x `y`\n\"z\"\\'");
}

static void bytes_of_all_values_come_back(void **state)
{
    CLEANUP(strbuf_done) struct strbuf padded = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf back = STRBUF_INIT;
    unsigned char bytes[256];
    unsigned char from_hex[256];
    char hex[2 * sizeof(bytes) + 1];
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    base64_append(&padded, bytes, sizeof(bytes));
    base64url_append(&url, bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), hex);
    assert_int_equal(base64_decode(padded.text, padded.len, &back, &err), 0);
    assert_int_equal(back.len, sizeof(bytes));
    assert_memory_equal(back.text, bytes, sizeof(bytes));
    strbuf_reset(&back);
    assert_int_equal(base64url_decode(url.text, &back, &err), 0);
    assert_memory_equal(back.text, bytes, sizeof(bytes));
    assert_int_equal(hex_decode(hex, from_hex, sizeof(from_hex), &err), 0);
    assert_memory_equal(from_hex, bytes, sizeof(bytes));
}

static void digits_are_told_from_other_characters(void **state)
{
    static const char digits[] = "0123456789abcdefABCDEF";

    (void)state;
    for (int c = 0; c < 128; c++) {
        const char *at = c == 0 ? NULL : strchr(digits, c);
        int value = at == NULL ? -1 : (int)(at - digits);

        assert_int_equal(hex_value((char)c), value > 15 ? value - 6 : value);
    }
}

static void wrong_text_is_told_why(void **state)
{
    unsigned char bytes[2] = {0};
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(hex_decode("00", bytes, 2, &err), -1);
    assert_string_equal(err.message, "expected 4 hex digits");
    assert_int_equal(hex_decode("0g00", bytes, 2, &err), -1);
    assert_int_equal(hex_decode("g000", bytes, 2, &err), -1);
    assert_string_equal(err.message, "expected 4 hex digits");
    assert_int_equal(base64url_decode("A", &out, &err), -1);
    assert_string_equal(err.message, "not base64url: wrong length");
    assert_int_equal(base64url_decode("A.", &out, &err), -1);
    assert_string_equal(err.message, "not base64url: invalid character");
    assert_int_equal(base64_decode("A", 1, &out, &err), -1);
    assert_string_equal(err.message, "not base64: wrong length");
    assert_int_equal(base64_decode("A.", 2, &out, &err), -1);
    assert_string_equal(err.message, "not base64: invalid character");
    /* What lies behind the length does not count. */
    strbuf_reset(&out);
    assert_int_equal(base64_decode("Zg==!", 4, &out, &err), 0);
    assert_string_equal(out.text, "f");
    strbuf_reset(&out);
    assert_int_equal(base64_decode("=\r\n=", 4, &out, &err), 0);
    assert_int_equal(out.len, 0);
}

static void percent_sign_decodes_up_to_the_end(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    percent_decode(&out, "%41%4a%4A%4", 11, ' ');
    percent_decode(&out, "%41", 2, ' ');
    percent_decode(&out, "%g1%1g%00", 9, ' ');
    assert_int_equal(out.len, 5 + 2 + 7);
    assert_memory_equal(out.text, "AJJ%4%4%g1%1g\0", 15);
}

int encode_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_follows_the_rfc),
        cmocka_unit_test(foreign_base64_is_refused),
        cmocka_unit_test(base64_has_lines_and_nothing_else),
        cmocka_unit_test(hex_reads_back_and_takes_no_other_length),
        cmocka_unit_test(only_unreserved_characters_stay_plain),
        cmocka_unit_test(percent_signs_decode_or_stay),
        cmocka_unit_test(a_word_of_the_shell_holds_anything),
        cmocka_unit_test(bytes_of_all_values_come_back),
        cmocka_unit_test(digits_are_told_from_other_characters),
        cmocka_unit_test(wrong_text_is_told_why),
        cmocka_unit_test(percent_sign_decodes_up_to_the_end),
    };

    return cmocka_run_group_tests_name("base/encode", tests, NULL, NULL);
}
