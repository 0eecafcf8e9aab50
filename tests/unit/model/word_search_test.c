#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "model/word_search.h"
#include "unit/model/model_test.h"

enum { ROUNDS = 3000, WORDS = 12, WORD_MAX_CHARS = 5, TEXT_MAX_CHARS = 40 };

static uint64_t next_number(uint64_t *state)
{
    *state ^= *state << 13U;
    *state ^= *state >> 7U;
    *state ^= *state << 17U;
    return *state;
}

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* As it is said: at each place. */
static bool has_word(const char *text, const char *word, enum word_place place)
{
    size_t len = strlen(word);

    for (size_t i = 0; len > 0 && i + len <= strlen(text); i++) {
        bool is_alone =
            (i == 0 || !is_word_character(text[i - 1])) && !is_word_character(text[i + len]);

        if (strncasecmp(text + i, word, len) == 0 && (place == WORD_ANYWHERE || is_alone))
            return true;
    }
    return false;
}

static void make_text(uint64_t *state, size_t max_chars, char *out)
{
    static const char characters[] = "aaAbB1. -";
    size_t len = next_number(state) % (max_chars + 1);

    for (size_t i = 0; i < len; i++)
        out[i] = characters[next_number(state) % (sizeof(characters) - 1)];
    out[len] = '\0';
}

static void words_are_found_where_they_stand_by_themselves(void **state)
{
    uint64_t numbers = 0x9e3779b97f4a7c15U;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        char text[TEXT_MAX_CHARS + 1] = "";
        char words[WORDS][WORD_MAX_CHARS + 1] = {""};
        enum word_place place = round % 2 == 0 ? WORD_ALONE : WORD_ANYWHERE;
        struct word_search *search = NULL;

        make_text(&numbers, TEXT_MAX_CHARS, text);
        search = word_search_new(text, place);
        for (size_t i = 0; i < WORDS; i++) {
            make_text(&numbers, WORD_MAX_CHARS, words[i]);
            assert_int_equal(word_search_add(search, words[i]), i);
            /* Some are asked for before others are added. */
            if (round % 7 == 0)
                assert_int_equal(word_search_has(search, i), has_word(text, words[i], place));
        }
        for (size_t i = 0; i < WORDS; i++)
            assert_int_equal(word_search_has(search, i), has_word(text, words[i], place));
        word_search_free(search);
    }
}

/* More than is looked for at once. */
static void many_words_are_found(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;
    CLEANUP(word_search_freep) struct word_search *search = NULL;

    (void)state;
    for (int i = 0; i < 300000; i++)
        strbuf_append_char(&text, 'x');
    strbuf_append(&text, " last");
    for (int i = 0; i < 299999; i++)
        strbuf_append_char(&word, 'x');
    search = word_search_new(text.text, WORD_ALONE);
    for (int c = 'a'; c < 'k'; c++) {
        word.text[0] = (char)c;
        (void)word_search_add(search, word.text);
    }
    word.text[0] = 'x';
    strbuf_append_char(&word, 'X');
    assert_int_equal(word_search_add(search, word.text), 10);
    assert_int_equal(word_search_add(search, "LAST"), 11);
    for (size_t i = 0; i < 10; i++)
        assert_false(word_search_has(search, i));
    assert_true(word_search_has(search, 10));
    assert_true(word_search_has(search, 11));
}

int word_search_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_found_where_they_stand_by_themselves),
        cmocka_unit_test(many_words_are_found),
    };

    return cmocka_run_group_tests_name("word_search", tests, NULL, NULL);
}
