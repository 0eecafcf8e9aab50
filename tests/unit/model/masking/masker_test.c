#include "unit/model/model_test.h"

#include <string.h>

#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/masking/mask_forms.h"
#include "model/masking/masker.h"

/* Quotes, blanks, signs that escapes and URLs change, and a character of two bytes. */
static const char value[] = "p\"ss w'rd+/\\=%é\nend~";

static void masker_freep(struct masker **masker)
{
    masker_free(*masker);
}

static struct masker *masker_of(const char *const *values, size_t n)
{
    struct masker *masker = masker_new();

    for (size_t i = 0; i < n; i++)
        masker_add(masker, values[i]);
    return masker;
}

static void assert_masked(struct masker *masker, const char *text, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf twice = STRBUF_INIT;

    masker_append(masker, text, strlen(text), &out);
    assert_string_equal(out.text, expected);
    masker_append(masker, out.text, out.len, &twice);
    assert_string_equal(twice.text, expected);
}

/* The same, however the text is cut. */
static void assert_masked_in_pieces(struct masker *masker, const char *text, const char *expected)
{
    size_t len = strlen(text);

    assert_masked(masker, text, expected);
    for (size_t piece = 1; piece <= len; piece++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct masking *masking = masking_new(masker);

        for (size_t at = 0; at < len; at += piece)
            masking_feed(masking, text + at, len - at < piece ? len - at : piece, &out);
        masking_finish(masking, &out);
        masking_free(masking);
        assert_string_equal(out.text, expected);
    }
}

static void values_are_hidden_as_they_are(void **state)
{
    static const char *const values[] = {"abcdef", "abcdefghi", "xabcdefyz", "secret", "short"};
    CLEANUP(masker_freep) struct masker *masker = masker_of(values, ARRAY_SIZE(values));

    (void)state;
    assert_masked_in_pieces(masker, "abcdef, abcdefghi, abcde.",
                            "<secret-hidden>, <secret-hidden>, abcde.");
    assert_masked_in_pieces(masker, "abcdefabcdef", "<secret-hidden><secret-hidden>");
    assert_masked_in_pieces(masker, "xabcdefyz xabcdefy", "<secret-hidden> x<secret-hidden>y");
    assert_masked_in_pieces(masker, "a <secret-hidden> secret",
                            "a <secret-hidden> <secret-hidden>");
    assert_masked_in_pieces(masker, "a short one, <secr", "a short one, <secr");
    assert_masked(masker, "", "");
}

static void white_space_around_a_value_is_not_part_of_it(void **state)
{
    static const char *const values[] = {" \tabcdef\r\n", "      "};
    CLEANUP(masker_freep) struct masker *masker = masker_of(values, ARRAY_SIZE(values));

    (void)state;
    assert_masked_in_pieces(masker, "      =abcdef\n", "      =<secret-hidden>\n");
}

static void append_json(struct strbuf *out, const char *text, size_t flags)
{
    json_auto_t *string = json_string(text);
    char *dumped = json_dumps(string, JSON_ENCODE_ANY | flags);

    strbuf_append(out, dumped);
    mem_free(dumped);
}

enum form {
    FORM_RAW,
    FORM_PERCENT,
    FORM_JSON,
    FORM_JSON_ASCII,
    FORM_JSON_SLASH,
    FORM_SHELL,
    FORM_HEX,
    FORM_N,
};

static void append_form(struct strbuf *out, enum form form)
{
    switch (form) {
    case FORM_RAW:
        strbuf_append(out, value);
        break;
    case FORM_PERCENT:
        percent_append(out, value);
        break;
    case FORM_JSON:
        append_json(out, value, 0);
        break;
    case FORM_JSON_ASCII:
        append_json(out, value, JSON_ENSURE_ASCII);
        break;
    case FORM_JSON_SLASH:
        append_json(out, value, JSON_ESCAPE_SLASH);
        break;
    case FORM_SHELL:
        shell_word_append(out, value);
        break;
    case FORM_HEX:
        for (size_t i = 0; i < strlen(value); i++)
            strbuf_appendf(out, "%02X", (unsigned char)value[i]);
        break;
    case FORM_N:
        break;
    }
}

static void forms_are_hidden_wherever_they_are_cut(void **state)
{
    static const char *const values[] = {value};
    CLEANUP(masker_freep) struct masker *masker = masker_of(values, ARRAY_SIZE(values));

    (void)state;
    for (enum form form = 0; form < FORM_N; form++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
        bool is_quoted = form >= FORM_JSON && form <= FORM_SHELL;

        strbuf_append(&text, "<- ");
        append_form(&text, form);
        strbuf_append(&text, " ->");
        strbuf_appendf(&expected, is_quoted ? "<- %c<secret-hidden>%c ->" : "<- <secret-hidden> ->",
                       text.text[3], text.text[3]);
        assert_masked_in_pieces(masker, text.text, expected.text);
    }
}

static void other_ways_to_write_a_form_are_known(void **state)
{
    static const char *const values[] = {"swordfish 4711"};
    /* clang-format off */
    static const char *const texts[] = {
        "swordfish+4711", "swordfish%204711", "%73%77%6F%72%64%66%69%73%68%20%34%37%31%31",
        "%73%77%6f%72%64%66%69%73%68+4711", "swordfish\\ 4711", "swordfish\\u00204711",
        "\\u0073wordfish 4711", "\\x73\\x77ordfish 4711", "\\163wordfish 4711",
        "sword'fish 47'11", "sword\"fish 47\"11", "sword\\\nfish 4711",
        "73776f7264666973682034373131", "73776F7264666973682034373131",
        "73 77 6f 72 64 66 69 73 68 20 34 37 31 31", "73:77:6f:72:64:66:69:73:68:20:34:37:31:31",
        "7377 6f72 6466 6973 6820 3437 3131", "c3dvcmRmaXNoIDQ3MTE=", "c3dvcmRmaXNoIDQ3MTE",
        "c3dvcmRm\naXNoIDQ3\nMTE=", "c3dvcmRm\r\n    aXNoIDQ3MTE=", "c3dvcmRmaXNoIDQ3MTE\\u003d",
        "c3dvcmRmaXNoIDQ3MTE%3D",
    };
    /* clang-format on */
    CLEANUP(masker_freep) struct masker *masker = masker_of(values, ARRAY_SIZE(values));

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        strbuf_appendf(&text, "[%s]", texts[i]);
        assert_masked_in_pieces(masker, text.text, "[<secret-hidden>]");
    }
    assert_masked_in_pieces(masker, "%7", "%7");
    assert_masked_in_pieces(masker, "swordfish\\u00", "swordfish\\u00");
    assert_masked_in_pieces(masker, "swordfish+471", "swordfish+471");
}

/* The part of the text's base64 that reveals the value, at each alignment in the text. */
static void base64_is_hidden_at_each_alignment(void **state)
{
    static const char secret[] = "k?>~\xC3\xBF?>?4711";
    static const char *const values[] = {secret};
    static const char *const around[] = {"", "a", "bc", "def", "\n"};
    CLEANUP(masker_freep) struct masker *masker = masker_of(values, ARRAY_SIZE(values));

    (void)state;
    for (size_t before = 0; before < ARRAY_SIZE(around); before++) {
        for (size_t after = 0; after < 2 * ARRAY_SIZE(around); after++) {
            CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
            CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
            CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;
            const char *end = NULL;

            strbuf_appendf(&plain, "%s%s%s", around[before], secret, around[after / 2]);
            if (after % 2 == 0)
                base64_append(&text, (const unsigned char *)plain.text, plain.len);
            else
                base64url_append(&text, (const unsigned char *)plain.text, plain.len);
            masker_append(masker, text.text, text.len, &masked);
            end = strstr(masked.text, MASKER_HIDDEN);
            assert_non_null(end);
            /* Characters that it shares with its neighbours stay: less than a byte on each side. */
            assert_in_range(end - masked.text, 0, 4);
            assert_in_range(strlen(end + strlen(MASKER_HIDDEN)), 0, 7);
        }
    }
}

/* Also where the text goes another way than the value. */
static void long_values_are_hidden_as_far_as_they_go(void **state)
{
    CLEANUP(strbuf_done) struct strbuf secret = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(masker_freep) struct masker *masker = masker_new();
    const char *middle = NULL;

    (void)state;
    for (int i = 0; i < 100; i++)
        strbuf_appendf(&secret, "line é %d\n", i);
    masker_add(masker, secret.text);
    strbuf_appendf(&text, "<%s>", secret.text);
    assert_masked(masker, text.text, "<<secret-hidden>\n>");
    strbuf_reset(&text);
    strbuf_append_bytes(&text, secret.text, MASKER_HEAD_BYTES - 1);
    assert_masked(masker, text.text, text.text);
    middle = strchr(secret.text + text.len, '\xC3') + 1;
    strbuf_append_bytes(&text, secret.text + text.len, (size_t)(middle - secret.text) - text.len);
    strbuf_append(&text, "\xA8 other");
    assert_masked_in_pieces(masker, text.text, "<secret-hidden> other");
    strbuf_reset(&text);
    append_json(&text, secret.text, 0);
    assert_masked(masker, text.text, "\"<secret-hidden>\\n\"");
}

static void values_added_later_are_known(void **state)
{
    CLEANUP(masker_freep) struct masker *masker = masker_new();

    (void)state;
    masker_add(masker, "first-one");
    assert_masked(masker, "first-one second-one", "<secret-hidden> second-one");
    masker_add(masker, "second-one");
    assert_masked(masker, "first-one second-one", "<secret-hidden> <secret-hidden>");
}

#define CLIPPED "<response clipped><NOTE>The middle was left out.</NOTE>"

/* Whatever the sandbox left out, neither side shows a part of a value that says something. */
static void parts_at_a_border_are_hidden(void **state)
{
    static const char secret[] = "swordfish-4711-abcdef";
    static const char *const values[] = {secret};
    CLEANUP(masker_freep) struct masker *masker = masker_of(values, ARRAY_SIZE(values));

    (void)state;
    for (size_t left = 0; left < sizeof(secret); left++) {
        for (size_t right = left; right < sizeof(secret); right++) {
            CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
            CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
            size_t n_right = sizeof(secret) - 1 - right;

            strbuf_append(&text, "one, ");
            strbuf_append_bytes(&text, secret, left);
            strbuf_append(&text, CLIPPED);
            strbuf_append(&text, secret + right);
            strbuf_append(&text, ", two");
            strbuf_append(&expected, "one, ");
            if (left < 3)
                strbuf_append_bytes(&expected, secret, left);
            else
                strbuf_append(&expected, "<secret-hidden>");
            strbuf_append(&expected, CLIPPED);
            strbuf_append(&expected, n_right < 3 ? secret + right : "<secret-hidden>");
            strbuf_append(&expected, ", two");
            assert_masked(masker, text.text, expected.text);
        }
    }
    /* A whole value after a border, though its own end is its beginning or what is cut ends in it.
     */
    masker_add(masker, "abcd-wxyz-abcd");
    assert_masked(masker, CLIPPED "abcd-wxyz-abcd.", CLIPPED "<secret-hidden>.");
    assert_masked(masker, CLIPPED "-abcd-wxyz-abcd.", CLIPPED "<secret-hidden>.");
    assert_masked(masker, "of words" CLIPPED "and more", "of words" CLIPPED "and more");
    assert_masked(masker, CLIPPED, CLIPPED);
    assert_masked(masker, "<response clipped>swordfish-4711-abcdef</NOTE>",
                  "<response clipped><secret-hidden></NOTE>");
}

/* Wrapped base64 goes on over lines, and a long value far beyond its head. */
static void parts_of_other_forms_at_a_border_are_hidden(void **state)
{
    CLEANUP(strbuf_done) struct strbuf secret = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf base64 = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf wrapped = STRBUF_INIT;
    CLEANUP(masker_freep) struct masker *masker = masker_new();

    (void)state;
    for (int i = 0; i < 60; i++)
        strbuf_appendf(&secret, "key line %d/%d;", i * 7919, i);
    masker_add(masker, secret.text);
    base64_append(&base64, (const unsigned char *)secret.text, secret.len);
    for (size_t at = 0; at < base64.len; at += 60)
        strbuf_appendf(&wrapped, "%.60s\n", base64.text + at);
    for (size_t cut = 5; cut < secret.len - 5; cut += 31) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        strbuf_append_bytes(&text, secret.text, cut);
        strbuf_append(&text, CLIPPED);
        strbuf_append(&text, secret.text + cut);
        assert_masked(masker, text.text, "<secret-hidden>" CLIPPED "<secret-hidden>");
    }
    for (size_t cut = 5; cut < wrapped.len - 5; cut += 31) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

        strbuf_append_bytes(&text, wrapped.text, cut);
        strbuf_append(&text, CLIPPED);
        strbuf_append(&text, wrapped.text + cut);
        masker_append(masker, text.text, text.len, &out);
        assert_true(out.len <= strlen("<secret-hidden>\n" CLIPPED "\n<secret-hidden>"));
    }
}

/* A short one would be found in words; one with white space or a colon is not written so. */
static void only_long_values_are_found_when_wrapped(void **state)
{
    static const char *const values[] = {
        "abcdefghijklmnopqrstuvwx", /* 24 bytes */
        "ABCDEFGHIJKLMNOPQRSTUVW",  /* 23 bytes */
        "0123456789:0123456789abcdefgh",
    };
    CLEANUP(masker_freep) struct masker *masker = masker_of(values, ARRAY_SIZE(values));

    (void)state;
    assert_masked_in_pieces(masker, "(abcdefghijkl\r\n\t mnopqrstuvwx)", "(<secret-hidden>)");
    assert_masked_in_pieces(masker, "(a:b:cdefghijklmnopqrstuvwx)", "(<secret-hidden>)");
    assert_masked_in_pieces(masker, "(ABCDEFGHIJKL\nMNOPQRSTUVW)", "(ABCDEFGHIJKL\nMNOPQRSTUVW)");
    assert_masked_in_pieces(masker, "(01234\n56789:0123456789abcdefgh)",
                            "(01234\n56789:0123456789abcdefgh)");
    /* up to 32 bytes between two of a value */
    assert_masked(masker, "(abcdefghijkl                                mnopqrstuvwx)",
                  "(<secret-hidden>)");
    assert_masked(masker, "(abcdefghijkl                                 mnopqrstuvwx)",
                  "(abcdefghijkl                                 mnopqrstuvwx)");
}

/* A stream gives out what can be no value's beginning any more. */
static void little_is_held_back(void **state)
{
    static const char *const values[] = {"abcdef"};
    CLEANUP(masker_freep) struct masker *masker = masker_of(values, ARRAY_SIZE(values));
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct masking *masking = masking_new(masker);

    (void)state;
    masking_feed(masking, "words and abc", 13, &out);
    assert_string_equal(out.text, "words and ");
    masking_feed(masking, "x", 1, &out);
    assert_string_equal(out.text, "words and abcx");
    for (int i = 0; i < 100; i++)
        masking_feed(masking, "\n", 1, &out);
    assert_int_equal(out.len, 114);
    masking_feed(masking, "6", 1, &out);
    for (int i = 0; i < 1000; i++)
        masking_feed(masking, " ", 1, &out);
    assert_int_equal(out.len, 1115);
    masking_free(masking);
}

int masker_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_hidden_as_they_are),
        cmocka_unit_test(white_space_around_a_value_is_not_part_of_it),
        cmocka_unit_test(forms_are_hidden_wherever_they_are_cut),
        cmocka_unit_test(other_ways_to_write_a_form_are_known),
        cmocka_unit_test(base64_is_hidden_at_each_alignment),
        cmocka_unit_test(long_values_are_hidden_as_far_as_they_go),
        cmocka_unit_test(values_added_later_are_known),
        cmocka_unit_test(parts_at_a_border_are_hidden),
        cmocka_unit_test(parts_of_other_forms_at_a_border_are_hidden),
        cmocka_unit_test(only_long_values_are_found_when_wrapped),
        cmocka_unit_test(little_is_held_back),
    };

    return cmocka_run_group_tests_name("masker", tests, NULL, NULL);
}
