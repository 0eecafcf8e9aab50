/*
 * Output that is too long: what is kept of it in memory, shown, and saved to a file.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/folder.h"
#include "sandbox/git/credentials.h"
#include "sandbox/terminal/output_file.h"
#include "sandbox/terminal/terminal_filter.h"
#include "unit/sandbox/sandbox_test.h"

enum {
    LINE_MAX_BYTES = 32 * 1024,
    SEQUENCE_MAX_BYTES = 4096,
    FILE_MAX_BYTES = 8 * 1024 * 1024,
    FILES_MAX = 32,
};

static const char clipped[] =
    "<response clipped><NOTE>The middle of the output was left out because it is too long. Send "
    "long output to a file and look at the parts you need with grep, head, tail or sed.</NOTE>";
static const char plainly_clipped[] = "\n[... Observation truncated due to length ...]\n";

static void feed(struct terminal_filter *filter, const char *bytes, size_t len)
{
    bool marked = false;

    assert_int_equal(terminal_filter_feed(filter, bytes, len, &marked), len);
    assert_false(marked);
}

static void feed_text(struct terminal_filter *filter, const char *text)
{
    feed(filter, text, strlen(text));
}

/* Lines of 8 bytes that differ, as many as fit into len bytes, and x. */
static void append_lines(struct strbuf *out, size_t len)
{
    for (int i = 0; out->len + 8 <= len; i++)
        strbuf_appendf(out, "%07d\n", i);
    while (out->len < len)
        strbuf_append_char(out, 'x');
}

/* --- what is shown --- */

static void assert_both_ends(const struct strbuf *out, const struct strbuf *all, const char *notice)
{
    size_t head = (MAX_OUTPUT_CHARS - strlen(notice) + 1) / 2;
    size_t tail = MAX_OUTPUT_CHARS - head - strlen(notice);

    assert_int_equal(out->len, MAX_OUTPUT_CHARS);
    assert_memory_equal(out->text, all->text, head);
    assert_memory_equal(out->text + head, notice, strlen(notice));
    assert_memory_equal(out->text + head + strlen(notice), all->text + all->len - tail, tail);
}

static void long_output_keeps_both_ends_in_the_cap(void **state)
{
    static const size_t more[] = {1, 2, 1000, 14999, 30000, 30001, 100000};

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_SIZE(more); i++) {
        CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

        terminal_filter_init(&filter);
        filter.is_plain = i % 2 == 1;
        append_lines(&all, MAX_OUTPUT_CHARS + more[i / 2]);
        strbuf_append_char(&all, 'y');
        feed(&filter, all.text, all.len);
        assert_int_equal(terminal_filter_extent(&filter), all.len);
        assert_true(filter.head.len <= MAX_OUTPUT_CHARS);
        assert_true(filter.tail.len <= 2 * (size_t)MAX_OUTPUT_CHARS);
        terminal_filter_take(&filter, &out);
        assert_both_ends(&out, &all, filter.is_plain ? plainly_clipped : clipped);
        assert_false(filter.was_saved);
        /* What was taken is gone. */
        strbuf_reset(&out);
        feed_text(&filter, "next");
        terminal_filter_take(&filter, &out);
        assert_string_equal(out.text, "next");
    }
}

static void characters_count_not_bytes(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

    (void)state;
    terminal_filter_init(&filter);
    feed_text(&filter, "first\n");
    for (int i = 0; i < 100000; i++)
        feed_text(&filter, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\n");
    feed_text(&filter, "last \n");
    assert_true(filter.tail.len <= 4 * (size_t)MAX_OUTPUT_CHARS);
    terminal_filter_take(&filter, &out);
    assert_int_equal(utf8_length(out.text, out.len), MAX_OUTPUT_CHARS);
    assert_true(utf8_is_valid(out.text, out.len));
    assert_true(text_starts_with(out.text, "first\n\xc3\xa9"));
    assert_true(text_ends_with(out.text, "\xc3\xa9\nlast"));
    assert_non_null(strstr(out.text, clipped));
}

static void output_just_at_the_cap_is_whole(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

    (void)state;
    terminal_filter_init(&filter);
    for (int i = 0; i < MAX_OUTPUT_CHARS; i++)
        feed_text(&filter, "x");
    /* White space at the end does not make it too long. */
    feed_text(&filter, " \n\t\n");
    terminal_filter_take(&filter, &out);
    assert_int_equal(out.len, MAX_OUTPUT_CHARS);
    assert_null(strstr(out.text, "clipped"));
    strbuf_reset(&out);
    for (int i = 0; i < MAX_OUTPUT_CHARS + 1; i++)
        feed_text(&filter, "x");
    terminal_filter_take(&filter, &out);
    assert_int_equal(out.len, MAX_OUTPUT_CHARS);
    assert_non_null(strstr(out.text, "clipped"));
}

/* --- what is kept in memory --- */

static void sequence_has_a_limit(void **state)
{
    static const struct {
        int n;
        const char *text;
    } cases[] = {
        {SEQUENCE_MAX_BYTES - 2, "z"},
        {SEQUENCE_MAX_BYTES - 1, "z"},
        {SEQUENCE_MAX_BYTES, "yz"},
        {SEQUENCE_MAX_BYTES + 1, "yyz"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

        terminal_filter_init(&filter);
        feed_text(&filter, "\x1b]");
        for (int n = 0; n < cases[i].n; n++)
            feed_text(&filter, "y");
        feed_text(&filter, "\x07z");
        terminal_filter_take(&filter, &out);
        assert_string_equal(out.text, cases[i].text);
    }
}

static void long_line_is_kept_in_pieces(void **state)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

    (void)state;
    for (int i = 0; i < 3 * LINE_MAX_BYTES + 5; i++)
        strbuf_append_char(&line, 'x');
    terminal_filter_init(&filter);
    feed(&filter, line.text, LINE_MAX_BYTES - 1);
    assert_int_equal(filter.line.len, LINE_MAX_BYTES - 1);
    assert_int_equal(filter.head.len, 0);
    feed_text(&filter, "x");
    assert_int_equal(filter.line.len, 0);
    assert_int_equal(filter.head_chars + filter.tail_chars, LINE_MAX_BYTES);
    feed(&filter, line.text, line.len);
    assert_int_equal(filter.line.len, 5);
}

/* Text under a line that is kept in pieces is not shown: it would follow the first piece. */
static void long_line_covers_what_was_there(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

    (void)state;
    terminal_filter_init(&filter);
    feed_text(&filter, "under\r");
    for (int i = 0; i < LINE_MAX_BYTES; i++)
        feed_text(&filter, "x");
    feed_text(&filter, "\n");
    terminal_filter_take(&filter, &out);
    assert_null(strstr(out.text, "under"));
    assert_null(strstr(out.text, "r"
                                 "\n"));
}

static void long_line_is_not_cut_within_a_character(void **state)
{
    static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};

    (void)state;
    for (size_t i = 0; i < 4 * ARRAY_SIZE(characters); i++) {
        CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

        for (size_t n = 0; n < i % 4; n++)
            strbuf_append_char(&line, 'x');
        while (line.len < 2 * (size_t)LINE_MAX_BYTES)
            strbuf_append(&line, characters[i / 4]);
        terminal_filter_init(&filter);
        feed(&filter, line.text, line.len);
        terminal_filter_take(&filter, &out);
        assert_true(utf8_is_valid(out.text, out.len));
        assert_null(strstr(out.text, "\xEF\xBF\xBD"));
    }
}

/* Bytes that are no text are no reason to wait for more. */
static void long_line_of_no_text_is_kept(void **state)
{
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

    (void)state;
    terminal_filter_init(&filter);
    for (int i = 0; i < LINE_MAX_BYTES; i++)
        feed_text(&filter, "\x80");
    assert_int_equal(filter.line.len, 0);
    for (int i = 0; i < LINE_MAX_BYTES - 1; i++)
        feed_text(&filter, "x");
    feed_text(&filter, "\xf0");
    assert_int_equal(filter.line.len, 1);
}

static void password_across_pieces_is_masked(void **state)
{
    static const char password[] = "correct-horse-battery";
    struct credentials *credentials = credentials_new();
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(
        credentials_keep(credentials,
                         &(struct credential_order){"https://host", "ann", password, 60000}, &err),
        0);
    for (size_t split = 0; split < sizeof(password); split += 5) {
        CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

        terminal_filter_init(&filter);
        filter.credentials = credentials;
        feed_text(&filter, "a correct-horse-battery\n");
        while (line.len < LINE_MAX_BYTES - split)
            strbuf_append_char(&line, '.');
        strbuf_append(&line, password);
        strbuf_append(&line, "correct-horse-battery end");
        feed(&filter, line.text, line.len);
        terminal_filter_take(&filter, &out);
        assert_true(text_starts_with(out.text, "a <secret-hidden>\n."));
        assert_true(text_ends_with(out.text, ".<secret-hidden><secret-hidden> end"));
    }
    credentials_free(credentials);
}

/* --- what is saved --- */

static void read_file(const char *path, struct strbuf *out)
{
    struct error err = ERROR_INIT;

    if (file_read(path, 2 * (size_t)FILE_MAX_BYTES, out, &err) < 0)
        fail_msg("%s", err.message);
}

static void long_output_is_saved_and_named(void **state)
{
    char folder[] = "/tmp/deft-saved-XXXXXX";
    CLEANUP(strbuf_done) struct strbuf sub = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf saved = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf notice = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};
    const char *at = NULL;

    (void)state;
    assert_non_null(mkdtemp(folder));
    strbuf_appendf(&sub, "%s/a/b", folder);
    terminal_filter_init(&filter);
    filter.save_dir = sub.text;
    /* Output that can be shown is not saved. */
    feed_text(&filter, "short\n");
    terminal_filter_take(&filter, &out);
    assert_false(filter.was_saved);
    assert_int_equal(access(sub.text, F_OK), -1);
    strbuf_reset(&out);
    append_lines(&all, 8 * 12500);
    feed(&filter, all.text, all.len);
    terminal_filter_take(&filter, &out);
    assert_true(filter.was_saved);
    at = strstr(out.text, "All of it is in ");
    assert_non_null(at);
    at += strlen("All of it is in ");
    strbuf_append_bytes(&path, at, strcspn(at, ";"));
    assert_int_equal(strncmp(path.text, sub.text, sub.len), 0);
    read_file(path.text, &saved);
    assert_string_equal(saved.text, all.text);
    /* The head ends in the line that the notice names. */
    at = strstr(out.text, "<response clipped>");
    strbuf_appendf(&notice,
                   "<response clipped><NOTE>The middle of the output was left out because it is "
                   "too long. All of it is in %s; what was left out begins in line %zu.</NOTE>",
                   path.text, (size_t)(at - out.text) / 8 + 1);
    assert_int_equal(strncmp(at, notice.text, notice.len), 0);
    /* The length of the line's number is not known before. */
    assert_in_range(out.len, MAX_OUTPUT_CHARS - 4, MAX_OUTPUT_CHARS);
    assert_in_range(labs((at - out.text) - (long)(out.len - notice.len) / 2), 0, 4);
    assert_true(text_ends_with(out.text, "0012499"));
    folder_remove(folder);
}

static void output_that_cannot_be_saved_is_clipped(void **state)
{
    static const char *const folders[] = {"/proc/none", "", NULL};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

        append_lines(&all, 100000);
        strbuf_append_char(&all, 'y');
        terminal_filter_init(&filter);
        filter.save_dir = folders[i];
        feed(&filter, all.text, all.len);
        assert_int_equal(filter.is_unsaved, i == 0);
        terminal_filter_take(&filter, &out);
        assert_both_ends(&out, &all, clipped);
        assert_false(filter.is_unsaved);
    }
}

static void saved_output_has_a_limit(void **state)
{
    char folder[] = "/tmp/deft-saved-XXXXXX";
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct output_file *file = NULL;
    struct stat info;

    (void)state;
    assert_non_null(mkdtemp(folder));
    append_lines(&text, 1024 * 1024);
    file = output_file_begin(folder);
    assert_non_null(file);
    for (int i = 0; i < 9; i++)
        output_file_write(file, text.text, text.len - 1);
    output_file_end(file, &path);
    assert_int_equal(stat(path.text, &info), 0);
    assert_int_equal(info.st_size, FILE_MAX_BYTES);
    assert_int_equal(info.st_mode & 07777, 0644);
    folder_remove(folder);
}

static void empty_and_dropped_files_are_removed(void **state)
{
    char folder[] = "/tmp/deft-saved-XXXXXX";
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct output_file *file = NULL;

    (void)state;
    assert_non_null(mkdtemp(folder));
    output_file_end(output_file_begin(folder), &path);
    assert_int_equal(path.len, 0);
    file = output_file_begin(folder);
    output_file_write(file, "x", 1);
    output_file_free(file);
    output_file_free(NULL);
    assert_null(output_file_begin("/proc/none"));
    /* Nothing is left in it. */
    assert_int_equal(rmdir(folder), 0);
}

/* Of names and times that a test sets, the oldest goes. */
static void oldest_of_too_many_files_is_removed(void **state)
{
    static const struct timespec times[] = {{100, 5}, {100, 3}, {100, 4}, {200, 0}};
    char folder[] = "/tmp/deft-saved-XXXXXX";
    CLEANUP(strbuf_done) struct strbuf newest = STRBUF_INIT;

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < FILES_MAX + 2; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct output_file *file = output_file_begin(folder);

        strbuf_appendf(&text, "text %d", i);
        output_file_write(file, text.text, text.len);
        output_file_end(file, &path);
        assert_true(path.len > 0);
        if (i < (int)ARRAY_SIZE(times)) {
            const struct timespec both[] = {times[i], times[i]};

            assert_int_equal(utimensat(AT_FDCWD, path.text, both, 0), 0);
        }
        if (i == 0) {
            /* A foreign file does not count. */
            CLEANUP(strbuf_done) struct strbuf foreign = STRBUF_INIT;

            strbuf_appendf(&foreign, "%s/foreign", folder);
            assert_int_equal(symlink("nothing", foreign.text), 0);
        }
        strbuf_append(&newest, path.text);
        strbuf_append_char(&newest, '\n');
    }
    /* Two too many: those of the times 100.3 and 100.4, which were the second and the third. */
    {
        int n = 0;
        char *at = newest.text;

        for (; *at != '\0'; n++) {
            size_t len = strcspn(at, "\n");

            at[len] = '\0';
            assert_int_equal(access(at, F_OK) == 0, n != 1 && n != 2);
            at += len + 1;
        }
        assert_int_equal(n, FILES_MAX + 2);
    }
    folder_remove(folder);
}

int filter_limits_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_output_keeps_both_ends_in_the_cap),
        cmocka_unit_test(characters_count_not_bytes),
        cmocka_unit_test(output_just_at_the_cap_is_whole),
        cmocka_unit_test(sequence_has_a_limit),
        cmocka_unit_test(long_line_is_kept_in_pieces),
        cmocka_unit_test(long_line_covers_what_was_there),
        cmocka_unit_test(long_line_is_not_cut_within_a_character),
        cmocka_unit_test(long_line_of_no_text_is_kept),
        cmocka_unit_test(password_across_pieces_is_masked),
        cmocka_unit_test(long_output_is_saved_and_named),
        cmocka_unit_test(output_that_cannot_be_saved_is_clipped),
        cmocka_unit_test(saved_output_has_a_limit),
        cmocka_unit_test(empty_and_dropped_files_are_removed),
        cmocka_unit_test(oldest_of_too_many_files_is_removed),
    };

    return cmocka_run_group_tests_name("terminal_filter_limits", tests, NULL, NULL);
}
