#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/ports/ports.h"
#include "unit/sandbox/sandbox_test.h"

static const char table[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    "   0: 00000000:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000 10001\n"
    "   1: 0100007F:1E61 00000000:0000 0A 00000000:00000000 00:00000000 00000000 10001\n"
    "   2: 020010AC:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
    "   3: 00000000:2EE0 0200A8C0:C350 01 00000000:00000000 00:00000000 00000000 10001\n";
static const char table6[] =
    "  sl  local_address remote_address st\n"
    "   0: 00000000000000000000000000000000:0BB9 00000000000000000000000000000000:0000 0A 0\n"
    "   1: 00000000000000000000000001000000:0BBA 00000000000000000000000000000000:0000 0A 0\n"
    "   2: 0000000000000000FFFF00000100007F:0BBB 00000000000000000000000000000000:0000 0A 0\n";

static void ports_for_others_are_found(void **state)
{
    CLEANUP(mem_freep) char *listens = mem_alloc(PORTS_MAX);
    CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;

    (void)state;
    ports_read(table, listens);
    ports_read(table6, listens);
    for (int port = 0; port < PORTS_MAX; port++) {
        if (listens[port] != 0)
            strbuf_appendf(&found, "%d ", port);
    }
    assert_string_equal(found.text, "80 3001 5173 ");
}

static void nonsense_is_no_port(void **state)
{
    static const char *const lines[] = {"",
                                        "\n\n",
                                        ":",
                                        "0: ",
                                        "0: 0:",
                                        "0: FF:FFFFF 0:0 0A",
                                        "0: 00000000:-1 0:0 0A",
                                        "0: 00000000:1435",
                                        "0: 000000000000000000000000000000000:1 0:0 0A",
                                        "0: 000000000000000000000000000000000000:1 0:0 0A"};
    CLEANUP(mem_freep) char *listens = mem_alloc(PORTS_MAX);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        ports_read(lines[i], listens);
    for (int port = 0; port < PORTS_MAX; port++)
        assert_int_equal(listens[port], 0);
}

int ports_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_for_others_are_found),
        cmocka_unit_test(nonsense_is_no_port),
    };

    return cmocka_run_group_tests_name("sandbox/ports", tests, NULL, NULL);
}
