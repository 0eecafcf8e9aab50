#include "runtime/egress/egress_table.h"
#include "runtime/egress/egress_table_rules.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/egress/firewall.h"
#include "unit/runtime/runtime_test.h"

static const struct egress_rules rules = {
    .tag = "12ab", .resolver_port = 4052, .dns_port = 4053, .group = 4711};

static size_t policy_of(struct egress_table *table, const char *mode, const char *list)
{
    struct error err = ERROR_INIT;
    size_t policy = 99;

    assert_int_equal(egress_table_policy(table, mode, list, &policy, &err), 0);
    return policy;
}

static uint32_t address_of(const char *text)
{
    return ntohl(inet_addr(text));
}

static void a_seat_says_which_policy_counts(void **state)
{
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};
    size_t list = 0;

    (void)state;
    assert_int_equal(policy_of(&table, "internet", ""), 0);
    list = policy_of(&table, "list", "a.org");
    assert_int_equal(policy_of(&table, "list", "a.org"), list);
    assert_false(egress_table_assign(&table, "dsb12ab00000001", 0));
    assert_true(egress_table_assign(&table, "dsb12ab00000002", list));
    assert_false(egress_table_assign(&table, "dsb12ab00000002", list));
    assert_int_equal(egress_table_find(&table, "dsb12ab00000002")->mode, EGRESS_LIST);
    assert_int_equal(egress_table_find(&table, "dsb12ab00000001")->mode, EGRESS_INTERNET);
    assert_true(egress_table_assign(&table, "dsb12ab00000002", 0));
}

static void a_list_lets_its_places_through_and_nothing_else(void **state)
{
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *end = NULL;

    (void)state;
    (void)policy_of(&table, "internet", "");
    (void)egress_table_assign(&table, "dsb12ab00000002",
                              policy_of(&table, "list", "a.org:443 *.b.org 140.82.112.0/20:22"));
    (void)egress_table_learn(&table, "a.org", address_of("45.1.1.1"), 1);
    (void)egress_table_learn(&table, "x.b.org", address_of("45.1.1.2"), 1);
    (void)egress_table_learn(&table, "c.org", address_of("45.1.1.3"), 1);
    egress_table_append_rules(&table, &rules, &text);
    assert_non_null(strstr(text.text, "-A DEFT-GO-12ab -i dsb12ab00000002 -g DEFT-P1-12ab\n"));
    assert_non_null(
        strstr(text.text, "-A DEFT-P1-12ab -d 45.1.1.1/32 -p tcp --dport 443 -j RETURN\n"));
    assert_non_null(strstr(text.text, "-A DEFT-P1-12ab -d 45.1.1.2/32 -j RETURN\n"));
    assert_non_null(
        strstr(text.text, "-A DEFT-P1-12ab -d 140.82.112.0/20 -p udp --dport 22 -j RETURN\n"));
    assert_null(strstr(text.text, "45.1.1.3"));
    end = strstr(text.text, "-A DEFT-P1-12ab -j REJECT\n");
    assert_non_null(end);
    assert_null(strstr(end + 1, "-A DEFT-P1-12ab"));
    assert_non_null(strstr(text.text, "--nflog-prefix policy\n"));
    assert_non_null(strstr(
        text.text,
        "-A DEFT-DNS-12ab -i dsb12ab00000002 -p udp --dport 53 -j REDIRECT --to-ports 4053\n"));
    assert_non_null(strstr(
        text.text,
        "-A DEFT-DNS-12ab -i dsb12ab00000002 -p tcp --dport 53 -j REDIRECT --to-ports 4053\n"));
    assert_null(strstr(text.text, "-g DEFT-P0-12ab"));
}

static void restricted_by_setting_holds_for_whoever_has_no_seat(void **state)
{
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *free_one = NULL;
    const char *all = NULL;

    (void)state;
    (void)policy_of(&table, "none", "");
    (void)egress_table_assign(&table, "dsb12ab00000002", policy_of(&table, "internet", ""));
    egress_table_append_rules(&table, &rules, &text);
    free_one = strstr(text.text, "-A DEFT-GO-12ab -i dsb12ab00000002 -j RETURN\n");
    all = strstr(text.text, "-A DEFT-GO-12ab -g DEFT-P0-12ab\n");
    assert_non_null(free_one);
    assert_non_null(all);
    assert_true(free_one < all);
    assert_true(strstr(text.text, "-A DEFT-DNS-12ab -i dsb12ab00000002 -g DEFT-NAMES-12ab\n") <
                strstr(text.text, "-A DEFT-DNS-12ab -p udp --dport 53 -j REDIRECT"));
    assert_non_null(strstr(text.text, "-A DEFT-DNS-12ab -p tcp --dport 53 -j REDIRECT"));
}

static void who_may_go_everywhere_asks_the_resolver_instead_of_private_servers(void **state)
{
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    static const char *const lines[] = {
        "-A DEFT-NAMES-12ab -d 192.0.2.0/24 -p udp --dport 53 -j REDIRECT --to-ports 4052\n",
        "-A DEFT-NAMES-12ab -d 192.0.2.0/24 -p tcp --dport 53 -j REDIRECT --to-ports 4052\n",
        "-A DEFT-NAMES-12ab -d 10.0.0.0/8 -p tcp --dport 53 -j REDIRECT --to-ports 4052\n",
        "-A DEFT-NAMES-12ab -d 169.254.0.0/16 -p udp --dport 53 -j REDIRECT --to-ports 4052\n",
        "-A DEFT-DNS-12ab -g DEFT-NAMES-12ab\n"};

    (void)state;
    (void)policy_of(&table, "internet", "");
    egress_table_append_rules(&table, &rules, &text);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_non_null(strstr(text.text, lines[i]));
    assert_null(strstr(text.text, "REDIRECT --to-ports 4053"));
}

/* The sandbox's own gateway, by the redirection alone, and of each sandbox so much. */
static void the_ports_of_resolvers_take_what_was_redirected_and_a_bounded_share(void **state)
{
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *line = NULL;
    size_t n = 0;

    (void)state;
    (void)policy_of(&table, "internet", "");
    egress_table_append_rules(&table, &rules, &text);
    for (line = strstr(text.text, "-A DEFT-ASK-12ab"); line != NULL;
         line = strstr(line + 1, "-A DEFT-ASK-12ab")) {
        CLEANUP(strbuf_done) struct strbuf one = STRBUF_INIT;

        strbuf_append_bytes(&one, line, strcspn(line, "\n"));
        assert_non_null(strstr(one.text, " -m conntrack --ctstate DNAT "));
        if (strstr(one.text, "-j ACCEPT") != NULL)
            assert_non_null(strstr(one.text, "--hashlimit-mode srcip --hashlimit-upto "));
        n++;
    }
    assert_int_equal(n, 8);
    assert_non_null(strstr(text.text, "-p tcp --syn --dport 4053 -m conntrack --ctstate DNAT"
                                      " -m connlimit --connlimit-upto "));
    assert_non_null(strstr(text.text, "-p tcp --syn --dport 4052 -m conntrack --ctstate DNAT"
                                      " -m connlimit --connlimit-upto "));
}

static void addresses_are_known_for_a_while_and_bounded(void **state)
{
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};
    uint32_t found[4] = {0};

    (void)state;
    assert_true(egress_table_learn(&table, "a.org", 7, 1000));
    egress_table_confirm(&table, "a.org", 7);
    assert_false(egress_table_learn(&table, "a.org", 7, 2000));
    assert_true(egress_table_learn(&table, "a.org", 8, 3000));
    egress_table_confirm(&table, "a.org", 8);
    assert_int_equal(egress_table_addresses(&table, "a.org", 2500, found, 4), 1);
    assert_int_equal(found[0], 8);
    assert_int_equal(egress_table_addresses(&table, "b.org", 0, found, 4), 0);
    assert_true(egress_table_learn(&table, "b.org", 9, 3001 + EGRESS_KNOWN_MS));
    assert_int_equal(table.n_known, 1);
    for (uint32_t i = 0; i < EGRESS_KNOWN_MAX + 10; i++)
        (void)egress_table_learn(&table, "c.org", i, 4000 + EGRESS_KNOWN_MS);
    assert_int_equal(table.n_known, EGRESS_KNOWN_MAX);
}

/* An answer before that would lead to a refused connection. */
static void address_is_given_once_its_rules_are_loaded(void **state)
{
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};
    uint32_t found[4] = {0};

    (void)state;
    assert_true(egress_table_learn(&table, "a.org", 7, 1000));
    assert_int_equal(egress_table_addresses(&table, "a.org", 0, found, 4), 0);
    assert_true(egress_table_learn(&table, "a.org", 7, 1000));
    egress_table_confirm(&table, "b.org", 7);
    egress_table_confirm(&table, "a.org", 8);
    assert_int_equal(egress_table_addresses(&table, "a.org", 0, found, 4), 0);
    egress_table_confirm(&table, "a.org", 7);
    assert_int_equal(egress_table_addresses(&table, "a.org", 0, found, 4), 1);
    assert_int_equal(table.n_known, 1);
}

/* Without the ranges of firewall.h, which have a line each at three places. */
static void assert_rules(const struct egress_table *table, const struct egress_rules *given,
                         const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf rest = STRBUF_INIT;
    size_t n_ranges = 0;

    egress_table_append_rules(table, given, &text);
    for (const char *line = text.text; line[0] != '\0'; line = strchr(line, '\n') + 1) {
        size_t len = strcspn(line, "\n") + 1;

        if (text_starts_with(line, "-A DEFT-NAMES-12ab -d ") ||
            text_starts_with(line, "-A DEFT-GO-12ab -d "))
            n_ranges++;
        else
            strbuf_append_bytes(&rest, line, len);
    }
    assert_int_equal(n_ranges, 3 * firewall_n_denied);
    assert_string_equal(rest.text, expected);
}

#define ASK(port, udp, tcp)                                                                        \
    "-A DEFT-ASK-12ab -p udp --dport " port " -m conntrack --ctstate DNAT -m hashlimit"            \
    " --hashlimit-name deft" udp "-12ab --hashlimit-mode srcip --hashlimit-upto 100/second"        \
    " --hashlimit-burst 200 -j ACCEPT\n"                                                           \
    "-A DEFT-ASK-12ab -p udp --dport " port " -m conntrack --ctstate DNAT -j DROP\n"               \
    "-A DEFT-ASK-12ab -p tcp --syn --dport " port " -m conntrack --ctstate DNAT"                   \
    " -m connlimit --connlimit-upto 3 -m hashlimit --hashlimit-name deft" tcp "-12ab"              \
    " --hashlimit-mode srcip --hashlimit-upto 20/second --hashlimit-burst 40 -j ACCEPT\n"          \
    "-A DEFT-ASK-12ab -p tcp --syn --dport " port " -m conntrack --ctstate DNAT"                   \
    " -j REJECT --reject-with tcp-reset\n"

static void rules_are_these(void **state)
{
    static const char expected[] =
        "*nat\n:DEFT-DNS-12ab - [0:0]\n:DEFT-NAMES-12ab - [0:0]\n"
        "-A DEFT-DNS-12ab -i dsb12ab00000002 -p udp --dport 53 -j REDIRECT --to-ports 4053\n"
        "-A DEFT-DNS-12ab -i dsb12ab00000002 -p tcp --dport 53 -j REDIRECT --to-ports 4053\n"
        "-A DEFT-DNS-12ab -g DEFT-NAMES-12ab\nCOMMIT\n"
        "*filter\n:DEFT-ASK-12ab - [0:0]\n:DEFT-GO-12ab - [0:0]\n"
        ":DEFT-P0-12ab - [0:0]\n:DEFT-P1-12ab - [0:0]\n" ASK("4053", "q", "u") ASK(
            "4052", "r",
            "t") "-A DEFT-GO-12ab -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n"
                 "-A DEFT-GO-12ab -o dsb+ -j RETURN\n"
                 "-A DEFT-GO-12ab -i dsb12ab00000002 -g DEFT-P1-12ab\n"
                 "-A DEFT-P1-12ab -d 45.1.1.1/32 -p tcp --dport 443 -j RETURN\n"
                 "-A DEFT-P1-12ab -d 45.1.1.1/32 -p udp --dport 443 -j RETURN\n"
                 "-A DEFT-P1-12ab -d 140.82.112.0/20 -j RETURN\n"
                 "-A DEFT-P1-12ab -m hashlimit --hashlimit-name deft-12ab --hashlimit-mode srcip"
                 " --hashlimit-upto 20/second --hashlimit-burst 50 -j NFLOG --nflog-group 4711"
                 " --nflog-prefix policy\n"
                 "-A DEFT-P1-12ab -j REJECT\nCOMMIT\n";
    static const char unlogged[] =
        "*nat\n:DEFT-DNS-12ab - [0:0]\n:DEFT-NAMES-12ab - [0:0]\n"
        "-A DEFT-DNS-12ab -p udp --dport 53 -j REDIRECT --to-ports 4053\n"
        "-A DEFT-DNS-12ab -p tcp --dport 53 -j REDIRECT --to-ports 4053\nCOMMIT\n"
        "*filter\n:DEFT-ASK-12ab - [0:0]\n:DEFT-GO-12ab - [0:0]\n:DEFT-P0-12ab - [0:0]\n" ASK(
            "4053", "q", "u")
            ASK("4052", "r",
                "t") "-A DEFT-GO-12ab -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n"
                     "-A DEFT-GO-12ab -o dsb+ -j RETURN\n"
                     "-A DEFT-GO-12ab -g DEFT-P0-12ab\n"
                     "-A DEFT-P0-12ab -j REJECT\nCOMMIT\n";
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};
    CLEANUP(egress_table_done) struct egress_table closed = {.policies = NULL};
    struct egress_rules silent = rules;

    (void)state;
    (void)policy_of(&table, "internet", "");
    (void)egress_table_assign(&table, "dsb12ab00000002",
                              policy_of(&table, "list", "a.org:443 140.82.112.0/20"));
    (void)egress_table_learn(&table, "a.org", address_of("45.1.1.1"), 1);
    assert_rules(&table, &rules, expected);
    (void)policy_of(&closed, "none", "a.org");
    (void)egress_table_learn(&closed, "a.org", address_of("45.1.1.1"), 1);
    silent.group = -1;
    assert_rules(&closed, &silent, unlogged);
}

static void oldest_address_makes_room(void **state)
{
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};
    uint32_t found[4] = {0};

    (void)state;
    for (uint32_t i = 0; i < EGRESS_KNOWN_MAX; i++) {
        assert_true(egress_table_learn(&table, "c.org", i, i == 9 ? 999 : 1000 + i));
        egress_table_confirm(&table, "c.org", i);
    }
    assert_true(egress_table_learn(&table, "d.org", 5, 9000));
    egress_table_confirm(&table, "d.org", 5);
    assert_int_equal(egress_table_addresses(&table, "d.org", 9000, found, 4), 1);
    assert_int_equal(egress_table_addresses(&table, "d.org", 9001, found, 4), 0);
    assert_int_equal(egress_table_addresses(&table, "c.org", 0, found, 4), 4);
    /* The oldest one is gone, the next one is not. */
    assert_true(egress_table_learn(&table, "c.org", 9, 9000));
    assert_false(egress_table_learn(&table, "c.org", 1, 9000));
    assert_true(egress_table_learn(&table, "c.org", 0, 9000));
}

static void address_is_kept_to_the_end_of_its_time(void **state)
{
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};

    (void)state;
    assert_true(egress_table_learn(&table, "a.org", 7, 1000));
    assert_true(egress_table_learn(&table, "b.org", 7, 1000 + EGRESS_KNOWN_MS));
    assert_int_equal(table.n_known, 2);
    assert_true(egress_table_learn(&table, "c.org", 7, 1001 + EGRESS_KNOWN_MS));
    assert_int_equal(table.n_known, 2);
}

static void assignment_is_removed_by_number(void **state)
{
    CLEANUP(egress_table_done) struct egress_table table = {.policies = NULL};
    size_t list = 0;

    (void)state;
    (void)policy_of(&table, "internet", "");
    list = policy_of(&table, "none", "");
    assert_true(egress_table_assign(&table, "dsb12ab00000001", list));
    assert_true(egress_table_assign(&table, "dsb12ab00000002", list));
    assert_true(egress_table_assign(&table, "dsb12ab00000003", list));
    egress_table_unassign(&table, 0);
    assert_int_equal(table.n_assignments, 2);
    assert_int_equal(egress_table_find(&table, "dsb12ab00000001")->mode, EGRESS_INTERNET);
    assert_int_equal(egress_table_find(&table, "dsb12ab00000002")->mode, EGRESS_NONE);
    assert_int_equal(egress_table_find(&table, "dsb12ab00000003")->mode, EGRESS_NONE);
}

int test_egress_table(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seat_says_which_policy_counts),
        cmocka_unit_test(a_list_lets_its_places_through_and_nothing_else),
        cmocka_unit_test(restricted_by_setting_holds_for_whoever_has_no_seat),
        cmocka_unit_test(who_may_go_everywhere_asks_the_resolver_instead_of_private_servers),
        cmocka_unit_test(the_ports_of_resolvers_take_what_was_redirected_and_a_bounded_share),
        cmocka_unit_test(rules_are_these),
        cmocka_unit_test(oldest_address_makes_room),
        cmocka_unit_test(address_is_kept_to_the_end_of_its_time),
        cmocka_unit_test(assignment_is_removed_by_number),
        cmocka_unit_test(addresses_are_known_for_a_while_and_bounded),
        cmocka_unit_test(address_is_given_once_its_rules_are_loaded),
    };

    return cmocka_run_group_tests_name("runtime/egress_table", tests, NULL, NULL);
}
