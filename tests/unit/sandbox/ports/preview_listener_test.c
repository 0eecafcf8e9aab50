#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/ports/preview_listener.h"
#include "unit/sandbox/sandbox_test.h"

static void port_is_taken_out_of_the_head(void **state)
{
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
    int port = 0;

    (void)state;
    strbuf_append(&head, "GET / HTTP/1.1\r\nHost: x\r\nx-deft-port: 5173\r\nA: b\r\n\r\nrest");
    assert_true(preview_listener_take_port(&head, &port));
    assert_int_equal(port, 5173);
    assert_string_equal(head.text, "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\nrest");
}

static void what_is_no_port_is_refused(void **state)
{
    static const char *const lines[] = {"",
                                        "X-Deft-Port: ",
                                        "X-Deft-Port: 0",
                                        "X-Deft-Port: 65536",
                                        "X-Deft-Port: -1",
                                        "X-Deft-Port: 80x",
                                        "Y-X-Deft-Port: 80"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
        int port = 0;

        strbuf_appendf(&head, "GET / HTTP/1.1\r\n%s\r\n\r\n", lines[i]);
        assert_false(preview_listener_take_port(&head, &port));
    }
}

int preview_listener_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_is_taken_out_of_the_head),
        cmocka_unit_test(what_is_no_port_is_refused),
    };

    return cmocka_run_group_tests_name("preview_listener", tests, NULL, NULL);
}
