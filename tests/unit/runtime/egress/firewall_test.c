#include "runtime/egress/firewall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "runtime/egress/denial_counter.h"
#include "unit/runtime/runtime_test.h"

static size_t place_of(const struct strbuf *text, const char *line)
{
    const char *found = strstr(text->text, line);

    assert_non_null(found);
    return (size_t)(found - text->text);
}

static void private_networks_are_refused_before_the_end_lets_pass(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    static const char *const refused[] = {"-d 10.0.0.0/8 -j REJECT",
                                          "-d 172.16.0.0/12 -j REJECT",
                                          "-d 192.168.0.0/16 -j REJECT",
                                          "-d 169.254.0.0/16 -j REJECT",
                                          "-d 127.0.0.0/8 -j REJECT",
                                          "-d 100.64.0.0/10 -j REJECT",
                                          "-o dsb+ -j REJECT"};

    (void)state;
    firewall_append_rules(&text);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_true(place_of(&text, refused[i]) < place_of(&text, "-A DEFT-OUT -j RETURN"));
    assert_true(place_of(&text, "-A DEFT-IN -j REJECT") < place_of(&text, "COMMIT"));
}

/* Their names are looked up by a resolver of deft's, which the packet filter leads to. */
static void no_name_server_of_a_private_network_may_be_asked(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    firewall_append_rules(&text);
    assert_null(strstr(text.text, "--dport 53"));
}

/* Jumps of other instances may be there when an instance finds the common one missing. */
static void jump_follows_those_of_instances(void **state)
{
    (void)state;
    assert_int_equal(firewall_jump_number(""), 1);
    assert_int_equal(firewall_jump_number("-P INPUT ACCEPT\n-A INPUT -i lo -j ACCEPT\n"), 1);
    assert_int_equal(firewall_jump_number("-P INPUT ACCEPT\n"
                                          "-A INPUT -i dsb0f+ -j DEFT-IN-0f\n"
                                          "-A INPUT -i dsb0f+ -j DEFT-ASK-0f\n"
                                          "-A INPUT -i lo -j ACCEPT\n"),
                     3);
    assert_int_equal(firewall_jump_number("-P INPUT ACCEPT\n-A INPUT -i lo -j ACCEPT\n"
                                          "-A INPUT -i dsb0f+ -j DEFT-IN-0f\n"),
                     3);
}

/* RFC 6890, and what is no unicast address. */
static void rules_are_these(void **state)
{
    static const char *const ranges[] = {
        "0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4"};
    static const enum denial_reason reasons[] = {
        DENIED_RESERVED, DENIED_PRIVATE,  DENIED_PRIVATE,  DENIED_RESERVED, DENIED_LINK_LOCAL,
        DENIED_PRIVATE,  DENIED_RESERVED, DENIED_RESERVED, DENIED_RESERVED, DENIED_PRIVATE,
        DENIED_RESERVED, DENIED_RESERVED, DENIED_RESERVED, DENIED_RESERVED, DENIED_RESERVED};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    (void)state;
    strbuf_append(&expected, "*filter\n:DEFT-IN - [0:0]\n:DEFT-OUT - [0:0]\n"
                             "-A DEFT-IN -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT\n"
                             "-A DEFT-IN -j REJECT\n"
                             "-A DEFT-OUT -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n"
                             "-A DEFT-OUT -o dsb+ -j REJECT\n");
    assert_int_equal(firewall_n_denied, sizeof(ranges) / sizeof(ranges[0]));
    for (size_t i = 0; i < firewall_n_denied; i++) {
        strbuf_appendf(&expected, "-A DEFT-OUT -d %s -j REJECT\n", ranges[i]);
        assert_string_equal(firewall_denied[i].range, ranges[i]);
        assert_int_equal(firewall_denied[i].reason, reasons[i]);
    }
    strbuf_append(&expected, "-A DEFT-OUT -j RETURN\nCOMMIT\n");
    firewall_append_rules(&text);
    assert_string_equal(text.text, expected.text);
}

int test_firewall(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(private_networks_are_refused_before_the_end_lets_pass),
        cmocka_unit_test(no_name_server_of_a_private_network_may_be_asked),
        cmocka_unit_test(rules_are_these),
        cmocka_unit_test(jump_follows_those_of_instances),
    };

    return cmocka_run_group_tests_name("runtime/firewall", tests, NULL, NULL);
}
