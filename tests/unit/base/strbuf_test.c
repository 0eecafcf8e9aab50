#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"

static void fresh_buffer_is_empty_text(void **state)
{
    CLEANUP(strbuf_done) struct strbuf buf = STRBUF_INIT;

    (void)state;
    assert_string_equal(buf.text, "");
    assert_int_equal(buf.len, 0);
    strbuf_reset(&buf);
    strbuf_truncate(&buf, 10);
    strbuf_remove_head(&buf, 0);
    strbuf_append_bytes(&buf, NULL, 0);
    assert_string_equal(buf.text, "");
}

static void text_grows_and_ends_in_a_nul(void **state)
{
    CLEANUP(strbuf_done) struct strbuf buf = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < 1000; i++)
        strbuf_appendf(&buf, "%d,", i);
    strbuf_append_char(&buf, '!');
    assert_int_equal(strlen(buf.text), buf.len);
    assert_int_equal(buf.text[buf.len - 1], '!');
    assert_int_equal(strncmp(buf.text, "0,1,2,", 6), 0);
}

/* Around the room that is reserved for a formatted text, and the sizes of buffers. */
static void formatted_text_of_any_length_is_whole(void **state)
{
    char text[301];

    (void)state;
    memset(text, 'x', sizeof(text));
    for (size_t len = 0; len < sizeof(text); len++) {
        CLEANUP(strbuf_done) struct strbuf buf = STRBUF_INIT;

        strbuf_append(&buf, "a");
        strbuf_appendf(&buf, "<%.*s>", (int)len, text);
        assert_int_equal(buf.len, len + 3);
        assert_int_equal(strlen(buf.text), buf.len);
        assert_memory_equal(buf.text, "a<", 2);
        assert_memory_equal(buf.text + 2, text, len);
        assert_int_equal(buf.text[len + 2], '>');
    }
}

static void bytes_may_hold_nuls(void **state)
{
    CLEANUP(strbuf_done) struct strbuf buf = STRBUF_INIT;

    (void)state;
    strbuf_append_bytes(&buf, "a\0b", 3);
    assert_int_equal(buf.len, 3);
    assert_memory_equal(buf.text, "a\0b", 4);
}

static void head_and_tail_can_go(void **state)
{
    CLEANUP(strbuf_done) struct strbuf buf = STRBUF_INIT;

    (void)state;
    strbuf_append(&buf, "0123456789");
    strbuf_remove_head(&buf, 3);
    strbuf_truncate(&buf, 4);
    assert_string_equal(buf.text, "3456");
    strbuf_remove_head(&buf, 4);
    assert_string_equal(buf.text, "");
    strbuf_append(&buf, "x");
    strbuf_done(&buf);
    assert_string_equal(buf.text, "");
    assert_int_equal(buf.len + buf.size + buf.head, 0);
    strbuf_done(NULL);
}

/* Against a plain copy: what is removed, appended, taken and forgotten in any order. */
static void removed_heads_leave_the_rest_as_it_was(void **state)
{
    CLEANUP(strbuf_done) struct strbuf buf = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    char expected[4096] = "";
    size_t begin = 0;
    size_t end = 0;

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        size_t n_removed = i % 7 < 3 ? i % 5 : 0;

        n_removed = n_removed < end - begin ? n_removed : end - begin;
        strbuf_append_char(&buf, (char)('a' + i % 26));
        strbuf_append(&buf, "-x");
        expected[end++] = (char)('a' + i % 26);
        expected[end++] = '-';
        expected[end++] = 'x';
        strbuf_remove_head(&buf, n_removed);
        begin += n_removed;
        assert_int_equal(buf.len, end - begin);
        assert_memory_equal(buf.text, expected + begin, end - begin + 1);
    }
    text = strbuf_take(&buf);
    assert_string_equal(text, expected + begin);
    assert_string_equal(buf.text, "");
    strbuf_append(&buf, "abc");
    strbuf_remove_head(&buf, 2);
    strbuf_truncate(&buf, 0);
    assert_string_equal(buf.text, "");
    strbuf_append(&buf, "d");
    assert_string_equal(buf.text, "d");
}

static void taken_text_leaves_a_fresh_buffer(void **state)
{
    CLEANUP(strbuf_done) struct strbuf buf = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    CLEANUP(mem_freep) char *empty = NULL;

    (void)state;
    strbuf_append(&buf, "mine");
    text = strbuf_take(&buf);
    assert_string_equal(text, "mine");
    assert_string_equal(buf.text, "");
    empty = strbuf_take(&buf);
    assert_string_equal(empty, "");
}

static void reserved_room_is_not_moved(void **state)
{
    CLEANUP(strbuf_done) struct strbuf buf = STRBUF_INIT;
    const char *before = NULL;

    (void)state;
    strbuf_reserve(&buf, 100);
    before = buf.text;
    for (int i = 0; i < 100; i++)
        strbuf_append_char(&buf, 'x');
    assert_ptr_equal(buf.text, before);
}

int strbuf_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fresh_buffer_is_empty_text),
        cmocka_unit_test(text_grows_and_ends_in_a_nul),
        cmocka_unit_test(formatted_text_of_any_length_is_whole),
        cmocka_unit_test(bytes_may_hold_nuls),
        cmocka_unit_test(head_and_tail_can_go),
        cmocka_unit_test(removed_heads_leave_the_rest_as_it_was),
        cmocka_unit_test(taken_text_leaves_a_fresh_buffer),
        cmocka_unit_test(reserved_room_is_not_moved),
    };

    return cmocka_run_group_tests_name("base/strbuf", tests, NULL, NULL);
}
