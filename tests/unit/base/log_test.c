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

/* The only line that was written, parsed; NULL if there is none. */
static json_t *capture_end(struct capture *capture)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(fd_close) int saved = capture->saved;
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(file_read(capture->path, LOG_MAX_BYTES, &text, &err), 0);
    assert_int_equal(unlink(capture->path), 0);
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

int log_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_is_one_line_of_json),
        cmocka_unit_test(context_is_on_every_line_until_removed),
        cmocka_unit_test(texts_go_through_the_mask_of_the_thread),
        cmocka_unit_test(lower_levels_are_silent),
        cmocka_unit_test(errors_are_logged_with_code_and_place),
        cmocka_unit_test(level_reads_in_any_case),
    };

    return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
