#include "sandbox/files/files.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/server_request.h"
#include "unit/sandbox/sandbox_test.h"

enum { SIZE = 10 };

static void on_answered(struct http_connection *connection)
{
    (void)connection;
}

/* The request that asks for a range of a file of SIZE bytes, answered. */
static struct server_request *ask_for(struct action_server *server, struct http_head *head,
                                      const char *range)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct opened_file file = {.fd = memfd_create("file", MFD_CLOEXEC)};
    struct server_request *request = NULL;
    struct error err = ERROR_INIT;
    size_t used = 0;

    assert_int_equal(ftruncate(file.fd, SIZE), 0);
    assert_int_equal(fstat(file.fd, &file.info), 0);
    strbuf_appendf(&text, "GET / HTTP/1.1\r\nRange: %s\r\n\r\n", range);
    assert_int_equal(http_head_read(head, text.text, text.len, &used, &err), 0);
    request = server_request_new(server, head);
    request->answered = on_answered;
    files_answer(request, &file, "text/plain");
    return request;
}

static void range_is_cut_to_the_file(void **state)
{
    static const struct {
        const char *range;
        int status;
        int64_t at;
        int64_t end;
    } cases[] = {
        {"bytes=0-", 206, 0, 10},
        {"bytes=2-3", 206, 2, 4},
        {"bytes=9-99", 206, 9, 10},
        {"bytes=-3", 206, 7, 10},
        {"bytes=-99", 206, 0, 10},
        {"bytes=2-9223372036854775807", 206, 2, 10},
        /* Numbers that no file reaches. */
        {"bytes=2-9223372036854775808", 206, 2, 10},
        {"bytes=2-99999999999999999999", 206, 2, 10},
        {"bytes=-99999999999999999999", 206, 0, 10},
        {"bytes=99999999999999999999-", 416, 0, 0},
        {"bytes=9223372036854775808-9", 416, 0, 0},
        {"bytes=99999999999999999999-99999999999999999999", 416, 0, 0},
        {"bytes=10-", 416, 0, 0},
        {"bytes=-0", 416, 0, 0},
        {"bytes=-", 200, 0, 10},
        {"bytes=1-2,4-5", 200, 0, 10},
        {"lines=1-2", 200, 0, 10},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
        struct action_server server = {.config = NULL};
        struct server_request *request = ask_for(&server, &head, cases[i].range);

        if (request->status != cases[i].status ||
            (request->status != 416 &&
             (request->file_at != cases[i].at || request->file_end != cases[i].end)))
            fail_msg("%s: %d", cases[i].range, request->status);
        server_request_free(request);
    }
}

int files_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(range_is_cut_to_the_file),
    };

    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
