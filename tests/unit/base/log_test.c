#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"

enum { LOG_MAX_BYTES = 1 << 16 };

/* Standard error, lent to a file. */
struct capture {
    char path[32];
    int saved;
};

static void capture_start(struct capture *capture)
{
    CLEANUP(fd_close) int fd = -1;

    *capture = (struct capture){.path = "/tmp/deft-log-test-XXXXXX"};
    fd = mkostemp(capture->path, O_CLOEXEC);
    capture->saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
}

static void capture_text(struct capture *capture, struct strbuf *text)
{
    CLEANUP(fd_close) int saved = capture->saved;
    struct error err = ERROR_INIT;

    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(file_read(capture->path, LOG_MAX_BYTES, text, &err), 0);
    assert_int_equal(unlink(capture->path), 0);
}

/* The only line that was written, parsed; NULL if there is none. */
static json_t *capture_end(struct capture *capture)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    capture_text(capture, &text);
    if (text.len == 0)
        return NULL;
    assert_int_equal(strchr(text.text, '\n') - text.text, (ptrdiff_t)text.len - 1);
    if (json_parse(text.text, text.len, &json, &err) < 0)
        fail_msg("%s: %s", text.text, err.message);
    return json;
}

static void event_is_one_line_of_json(void **state)
{
    struct capture capture;
    json_auto_t *line = NULL;

    (void)state;
    log_setup("deft-test", LOG_LEVEL_INFO);
    capture_start(&capture);
    log_info("sandbox.started", LOG_STR("text", "quote \" back \\ line\n bad \xff"),
             LOG_INT("n", -5), LOG_DOUBLE("d", 1.5), LOG_DOUBLE("nan", NAN), LOG_STR("none", NULL));
    line = capture_end(&capture);
    assert_string_equal(json_text_or(line, "message", ""), "sandbox.started");
    assert_string_equal(json_text_or(line, "severity", ""), "info");
    assert_string_equal(json_text_or(line, "process", ""), "deft-test");
    assert_string_equal(json_text_or(line, "text", ""), "quote \" back \\ line\n bad \xef\xbf\xbd");
    assert_int_equal(json_int_or(line, "n", 0), -5);
    assert_true(json_is_number(json_object_get(line, "nan")));
    assert_true(json_is_null(json_object_get(line, "none")));
}

static void context_is_on_every_line_until_removed(void **state)
{
    struct capture capture;
    json_auto_t *with = NULL;
    json_auto_t *without = NULL;

    (void)state;
    log_context_set("request_id", "r1");
    capture_start(&capture);
    log_warning("a.happened");
    with = capture_end(&capture);
    log_context_set("request_id", NULL);
    capture_start(&capture);
    log_warning("a.happened");
    without = capture_end(&capture);
    assert_string_equal(json_text_or(with, "request_id", ""), "r1");
    assert_null(json_object_get(without, "request_id"));
}

static void hide_digits(const void *owner, const char *text, struct strbuf *out)
{
    for (; *text != '\0'; text++) {
        if (*text >= '0' && *text <= '9')
            strbuf_append(out, owner);
        else
            strbuf_append_char(out, *text);
    }
}

static void texts_go_through_the_mask_of_the_thread(void **state)
{
    struct capture capture;
    json_auto_t *masked = NULL;
    json_auto_t *plain = NULL;

    (void)state;
    log_mask_set(hide_digits, "#");
    capture_start(&capture);
    log_warning("a.happened", LOG_STR("text", "a1b2"), LOG_STR("none", NULL), LOG_INT("n", 12));
    masked = capture_end(&capture);
    log_mask_set(NULL, NULL);
    capture_start(&capture);
    log_warning("a.happened", LOG_STR("text", "a1b2"));
    plain = capture_end(&capture);
    assert_string_equal(json_text_or(masked, "text", ""), "a#b#");
    assert_true(json_is_null(json_object_get(masked, "none")));
    assert_int_equal(json_int_or(masked, "n", 0), 12);
    assert_string_equal(json_text_or(plain, "text", ""), "a1b2");
}

static void lower_levels_are_silent(void **state)
{
    struct capture capture;
    json_auto_t *line = NULL;

    (void)state;
    log_setup("deft-test", LOG_LEVEL_WARNING);
    capture_start(&capture);
    log_info("a.happened");
    line = capture_end(&capture);
    log_setup("deft-test", LOG_LEVEL_INFO);
    assert_null(line);
}

static void errors_are_logged_with_code_and_place(void **state)
{
    struct capture capture;
    struct error err = ERROR_INIT;
    json_auto_t *line = NULL;

    (void)state;
    assert_int_equal(error_set(&err, ERROR_STALE, "too late"), -1);
    capture_start(&capture);
    log_error("write.failed", LOG_ERROR(&err));
    line = capture_end(&capture);
    assert_string_equal(json_text_or(line, "error_code", ""), "stale");
    assert_string_equal(json_text_or(line, "error", ""), "too late");
    assert_string_equal(json_text_or(line, "where", ""), err.where);
}

static void level_reads_in_any_case(void **state)
{
    struct error err = ERROR_INIT;
    enum log_level level = LOG_LEVEL_ERROR;

    (void)state;
    assert_int_equal(log_level_parse("DEBUG", &level, &err), 0);
    assert_int_equal(level, LOG_LEVEL_DEBUG);
    assert_int_equal(log_level_parse("loud", &level, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

static void each_level_has_its_name(void **state)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};

    (void)state;
    log_setup("deft-test", LOG_LEVEL_DEBUG);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        enum log_level level = LOG_LEVEL_DEBUG;
        struct error err = ERROR_INIT;
        struct capture capture;
        json_auto_t *line = NULL;

        assert_int_equal(log_level_parse(names[i], &level, &err), 0);
        assert_int_equal(level, i);
        capture_start(&capture);
        LOG_AT(level, "a.happened");
        line = capture_end(&capture);
        assert_string_equal(json_text_or(line, "severity", ""), names[i]);
    }
    log_setup("deft-test", LOG_LEVEL_INFO);
}

/* A fifth one is left out until another is removed. */
static void context_has_four_fields(void **state)
{
    static const char *const names[] = {"one", "two", "three", "four", "five"};
    struct capture capture;
    json_auto_t *full = NULL;
    json_auto_t *other = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        log_context_set(names[i], names[i]);
    capture_start(&capture);
    log_warning("a.happened");
    full = capture_end(&capture);
    log_context_set("two", NULL);
    log_context_set("one", "changed");
    log_context_set("five", "five");
    capture_start(&capture);
    log_warning("a.happened");
    other = capture_end(&capture);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        log_context_set(names[i], NULL);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(json_text_or(full, names[i], ""), names[i]);
    assert_null(json_object_get(full, "five"));
    assert_null(json_object_get(other, "two"));
    assert_string_equal(json_text_or(other, "one", ""), "changed");
    assert_string_equal(json_text_or(other, "five", ""), "five");
    /* Removing what is not there changes nothing. */
    log_context_set("six", NULL);
    capture_start(&capture);
    log_warning("a.happened");
    json_decref(full);
    full = capture_end(&capture);
    assert_int_equal(json_object_size(full), 4);
}

static void long_context_is_cut(void **state)
{
    static const char name[] = "a_name_of_more_than_23_bytes";
    static const char value[] =
        "a value of more than 63 bytes, which is what there is room for here";
    struct capture capture;
    json_auto_t *line = NULL;

    (void)state;
    log_context_set(name, value);
    capture_start(&capture);
    log_warning("a.happened");
    line = capture_end(&capture);
    assert_string_equal(json_text_or(line, "a_name_of_more_than_23_", ""),
                        "a value of more than 63 bytes, which is what there is room for ");
    log_context_set("a_name_of_more_than_23_", NULL);
}

static void lines_written_later_wait(void **state)
{
    CLEANUP(strbuf_done) struct strbuf nothing = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf flushed = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf both = STRBUF_INIT;
    struct capture capture;

    (void)state;
    capture_start(&capture);
    log_access("first.happened", LOG_INT("n", 1));
    capture_text(&capture, &nothing);
    assert_string_equal(nothing.text, "");
    capture_start(&capture);
    log_flush();
    log_flush();
    capture_text(&capture, &flushed);
    assert_non_null(strstr(flushed.text, "\"first.happened\",\"n\":1}\n"));
    assert_int_equal(strchr(flushed.text, '\n') - flushed.text, (ptrdiff_t)flushed.len - 1);
    /* Another line takes them along, in order. */
    capture_start(&capture);
    log_access("second.happened");
    log_warning("third.happened");
    capture_text(&capture, &both);
    assert_null(strstr(both.text, "first.happened"));
    assert_non_null(strstr(both.text, "second.happened"));
    assert_true(strstr(both.text, "third.happened") > strstr(both.text, "second.happened"));
}

/* Sixteen kilobytes wait at most. */
static void full_buffer_is_written(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf rest = STRBUF_INIT;
    struct capture capture;

    (void)state;
    capture_start(&capture);
    for (int i = 0; i < 200; i++)
        log_access("a.happened");
    capture_text(&capture, &text);
    capture_start(&capture);
    log_flush();
    capture_text(&capture, &rest);
    assert_in_range(text.len, 16384, 16384 + 200);
    assert_int_equal(text.text[text.len - 1], '\n');
    assert_true(rest.len > 0);
}

static void lower_levels_are_silent_later_too(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct capture capture;

    (void)state;
    log_setup("deft-test", LOG_LEVEL_WARNING);
    capture_start(&capture);
    log_access("a.happened");
    log_flush();
    capture_text(&capture, &text);
    log_setup("deft-test", LOG_LEVEL_INFO);
    assert_string_equal(text.text, "");
}

static void line_is_written_as_it_reads(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct capture capture;
    static const char start[] = "{\"timestamp\":\"";
    const char *rest = NULL;

    (void)state;
    capture_start(&capture);
    log_info("a \"b\"", LOG_STR("t\\", "\x01 \x1f\n\x7f"), LOG_DOUBLE("d", 0.25),
             LOG_DOUBLE("inf", INFINITY), LOG_INT("n", INT64_MIN));
    capture_text(&capture, &text);
    assert_int_equal(strncmp(text.text, start, strlen(start)), 0);
    rest = strchr(text.text, 'Z');
    assert_non_null(rest);
    assert_int_equal(rest - text.text, (ptrdiff_t)strlen(start) + 26);
    assert_string_equal(
        rest, "Z\",\"severity\":\"info\",\"process\":\"deft-test\",\"message\":\"a \\\"b\\\"\","
              "\"t\\\\\":\"\\u0001 \\u001f\\u000a\x7f\",\"d\":0.25,\"inf\":0,"
              "\"n\":-9223372036854775808}\n");
}

int log_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_is_one_line_of_json),
        cmocka_unit_test(context_is_on_every_line_until_removed),
        cmocka_unit_test(texts_go_through_the_mask_of_the_thread),
        cmocka_unit_test(lower_levels_are_silent),
        cmocka_unit_test(errors_are_logged_with_code_and_place),
        cmocka_unit_test(level_reads_in_any_case),
        cmocka_unit_test(each_level_has_its_name),
        cmocka_unit_test(context_has_four_fields),
        cmocka_unit_test(long_context_is_cut),
        cmocka_unit_test(lines_written_later_wait),
        cmocka_unit_test(full_buffer_is_written),
        cmocka_unit_test(lower_levels_are_silent_later_too),
        cmocka_unit_test(line_is_written_as_it_reads),
    };

    return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
