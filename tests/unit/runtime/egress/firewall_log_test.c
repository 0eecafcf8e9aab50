#include "runtime/egress/firewall_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "unit/runtime/runtime_test.h"

static const struct firewall_log rules = {.tag = "12ab", .group = 4711};

static void they_show_and_decide_nothing(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    firewall_log_append_text(&text, &rules);
    assert_non_null(strstr(text.text, ":DEFT-IN-12ab - [0:0]\n:DEFT-OUT-12ab - [0:0]\n"));
    assert_null(strstr(text.text, "ACCEPT"));
    assert_null(strstr(text.text, "REJECT"));
    assert_null(strstr(text.text, "DROP"));
    assert_null(strstr(text.text, "-A DEFT-OUT "));
    assert_string_equal(text.text + text.len - 7, "COMMIT\n");
}

static void each_shown_packet_bears_its_reason_and_is_rationed(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    static const char *const shown[] = {"-A DEFT-IN-12ab -m hashlimit",
                                        "-A DEFT-OUT-12ab -o dsb+ -m hashlimit",
                                        "-A DEFT-OUT-12ab -d 10.0.0.0/8 -m hashlimit",
                                        "-A DEFT-OUT-12ab -d 169.254.0.0/16 -m hashlimit"};
    static const char *const reasons[] = {"host", "sandbox", "private", "link_local"};

    (void)state;
    firewall_log_append_text(&text, &rules);
    for (size_t i = 0; i < 4; i++) {
        const char *at = strstr(text.text, shown[i]);
        CLEANUP(strbuf_done) struct strbuf end = STRBUF_INIT;
        const char *line_end = NULL;

        assert_non_null(at);
        line_end = strchr(at, '\n');
        assert_non_null(line_end);
        strbuf_appendf(&end, "-j NFLOG --nflog-group 4711 --nflog-prefix %s", reasons[i]);
        assert_memory_equal(line_end - end.len, end.text, end.len);
        assert_non_null(strstr(at, "--hashlimit-mode srcip --hashlimit-upto"));
    }
}

#define SHOW                                                                                       \
    " -m hashlimit --hashlimit-name deft-12ab --hashlimit-mode srcip --hashlimit-upto 20/second"   \
    " --hashlimit-burst 50 -j NFLOG --nflog-group 4711 --nflog-prefix "

static void rules_are_these(void **state)
{
    static const char begin[] =
        "*filter\n:DEFT-IN-12ab - [0:0]\n:DEFT-OUT-12ab - [0:0]\n"
        "-A DEFT-IN-12ab -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n"
        "-A DEFT-IN-12ab" SHOW "host\n"
        "-A DEFT-OUT-12ab -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n"
        "-A DEFT-OUT-12ab -o dsb+" SHOW "sandbox\n"
        "-A DEFT-OUT-12ab -o dsb+ -j RETURN\n"
        "-A DEFT-OUT-12ab -d 0.0.0.0/8" SHOW "reserved\n"
        "-A DEFT-OUT-12ab -d 10.0.0.0/8" SHOW "private\n";
    static const char end[] = "-A DEFT-OUT-12ab -d 240.0.0.0/4" SHOW "reserved\nCOMMIT\n";
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    firewall_log_append_text(&text, &rules);
    assert_true(text_starts_with(text.text, begin));
    assert_true(text_ends_with(text.text, end));
}

int test_firewall_log(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_these),
        cmocka_unit_test(they_show_and_decide_nothing),
        cmocka_unit_test(each_shown_packet_bears_its_reason_and_is_rationed),
    };

    return cmocka_run_group_tests_name("runtime/firewall_log", tests, NULL, NULL);
}
