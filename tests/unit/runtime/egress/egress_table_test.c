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

int test_egress_table(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seat_says_which_policy_counts),
        cmocka_unit_test(a_list_lets_its_places_through_and_nothing_else),
        cmocka_unit_test(restricted_by_setting_holds_for_whoever_has_no_seat),
        cmocka_unit_test(who_may_go_everywhere_asks_the_resolver_instead_of_private_servers),
        cmocka_unit_test(the_ports_of_resolvers_take_what_was_redirected_and_a_bounded_share),
        cmocka_unit_test(addresses_are_known_for_a_while_and_bounded),
        cmocka_unit_test(address_is_given_once_its_rules_are_loaded),
    };

    return cmocka_run_group_tests_name("runtime/egress_table", tests, NULL, NULL);
}
