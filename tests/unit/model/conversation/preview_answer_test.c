#include "model/conversation/preview_answer.h"

#include <string.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "unit/model/model_test.h"

static void kinds_follow_from_the_status_line(void **state)
{
    static const struct {
        const char *bytes;
        enum preview_answer_kind kind;
        int status;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\n", PREVIEW_ANSWER_FINAL, 200},
        {"HTTP/1.0 599 X", PREVIEW_ANSWER_FINAL, 599},
        {"HTTP/1.1 204\n\n", PREVIEW_ANSWER_FINAL, 204},
        {"HTTP/1.1 101 X\r\n", PREVIEW_ANSWER_UPGRADE, 101},
        {"HTTP/1.1 100 Continue\r\n\r\n", PREVIEW_ANSWER_INFORMATIONAL, 100},
        {"HTTP/1.1 199\n\n", PREVIEW_ANSWER_INFORMATIONAL, 199},
        {"HTTP/1.1 103 Early Hints\r\nA: b\r\n", PREVIEW_ANSWER_PARTIAL, 103},
        {"", PREVIEW_ANSWER_PARTIAL, 0},
        {"HTTP/1.1 20", PREVIEW_ANSWER_PARTIAL, 0},
        {"HTTP/1.1 200", PREVIEW_ANSWER_PARTIAL, 0},
        {"HTTP/1.1 099 X", PREVIEW_ANSWER_REFUSED, 99},
        {"HTTP/1.1 600 X", PREVIEW_ANSWER_REFUSED, 600},
        {"HTTP/1.1 999 X", PREVIEW_ANSWER_REFUSED, 999},
        {"HTTP/1.1 2000 ", PREVIEW_ANSWER_REFUSED, 0},
        {"HTTP/2 200 OK\r\n", PREVIEW_ANSWER_REFUSED, 0},
        {"http/1.1 200 OK", PREVIEW_ANSWER_REFUSED, 0},
        {"<", PREVIEW_ANSWER_REFUSED, 0},
        {"HTTP/1.1 \r\n", PREVIEW_ANSWER_REFUSED, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct preview_answer answer = preview_answer_read(rows[i].bytes, strlen(rows[i].bytes));

        if (answer.kind != rows[i].kind || answer.status != rows[i].status)
            fail_msg("%s: kind %d, status %d", rows[i].bytes, (int)answer.kind, answer.status);
    }
}

static void an_informational_head_ends_at_its_empty_line(void **state)
{
    static const char *const heads[] = {"HTTP/1.1 100 Continue\r\n\r\n",
                                        "HTTP/1.1 103 X\r\nA: b\r\nC: d\r\n\r\n",
                                        "HTTP/1.1 103 X\nA: b\n\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;

        strbuf_appendf(&bytes, "%sHTTP/1.1 200 OK\r\n\r\n", heads[i]);
        assert_int_equal(preview_answer_read(bytes.text, bytes.len).n_head_bytes, strlen(heads[i]));
        for (size_t len = 0; len < strlen(heads[i]); len++)
            assert_int_equal(preview_answer_read(bytes.text, len).kind, PREVIEW_ANSWER_PARTIAL);
    }
}

int preview_answer_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_follow_from_the_status_line),
        cmocka_unit_test(an_informational_head_ends_at_its_empty_line),
    };

    return cmocka_run_group_tests_name("preview answer", tests, NULL, NULL);
}
