#include "runtime/build/dockerfile_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "unit/runtime/runtime_test.h"

static int join(const char *text, char escape, struct strbuf *out, struct error *err)
{
    struct dockerfile_text lines = {.end = text + strlen(text), .escape = escape};

    return dockerfile_join(&lines, text, out, err);
}

static void lines_that_continue_are_one_instruction(void **state)
{
    static const struct {
        const char *text;
        char escape;
        const char *joined;
    } cases[] = {
        {"RUN a\nRUN b\n", '\\', "RUN a"},    {"RUN a \\\n  b\nRUN c", '\\', "RUN a   b"},
        {"RUN a \\  \n b", '\\', "RUN a  b"}, {"RUN a \\\n# not this\n\n b", '\\', "RUN a  b"},
        {"RUN a \\\n b", '`', "RUN a \\"},    {"RUN a `\n b", '`', "RUN a  b"},
        {"RUN a \\", '\\', "RUN a "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(join(cases[i].text, cases[i].escape, &out, &err), 0);
        assert_string_equal(out.text, cases[i].joined);
    }
}

static void instruction_over_64_kilobytes_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    while (text.len < 64UL * 1024)
        strbuf_append_char(&text, 'x');
    assert_int_equal(join(text.text, '\\', &out, &err), 0);
    strbuf_append_char(&text, 'x');
    strbuf_reset(&out);
    assert_int_equal(join(text.text, '\\', &out, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

static void white_space_of_unicode_is_skipped(void **state)
{
    static const char *const blank[] = {" \t", "\xc2\xa0", "\xe2\x80\x80", "\xe2\x80\x8a",
                                        "\xef\xbb\xbf"};

    (void)state;
    for (size_t i = 0; i < sizeof(blank) / sizeof(blank[0]); i++)
        assert_int_equal(*dockerfile_skip_blanks(blank[i], blank[i] + strlen(blank[i])), '\0');
    assert_memory_equal(dockerfile_skip_blanks("\xe2\x80\x8b.", "\xe2\x80\x8b." + 4), "\xe2", 1);
}

static void words_lose_their_quotes(void **state)
{
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;
    const char *at = " --fr\"om='a`\\ b\n";

    (void)state;
    assert_true(dockerfile_next_word(&at, &word));
    assert_string_equal(word.text, "--fr\"om='a`\\");
    dockerfile_unquote(&word);
    assert_string_equal(word.text, "--from=a");
    assert_true(dockerfile_next_word(&at, &word));
    assert_string_equal(word.text, "b");
    assert_false(dockerfile_next_word(&at, &word));
}

int test_dockerfile_text(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_continue_are_one_instruction),
        cmocka_unit_test(instruction_over_64_kilobytes_is_refused),
        cmocka_unit_test(white_space_of_unicode_is_skipped),
        cmocka_unit_test(words_lose_their_quotes),
    };

    return cmocka_run_group_tests_name("runtime/dockerfile_text", tests, NULL, NULL);
}
