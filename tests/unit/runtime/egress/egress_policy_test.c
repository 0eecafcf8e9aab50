#include "runtime/egress/egress_policy.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "unit/runtime/runtime_test.h"

static void places_are_names_names_below_and_ranges(void **state)
{
    CLEANUP(egress_policy_done) struct egress_policy policy = EGRESS_POLICY_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(egress_policy_parse("list",
                                         " GitHub.com:443,*.PyPI.org.\n140.82.112.0/20:22 8.8.8.8",
                                         &policy, &err),
                     0);
    assert_int_equal(policy.n, 4);
    assert_string_equal(policy.destinations[0].name, "github.com");
    assert_int_equal(policy.destinations[0].port, 443);
    assert_int_equal(policy.destinations[1].kind, DESTINATION_BELOW);
    assert_string_equal(policy.destinations[1].name, "pypi.org");
    assert_int_equal(policy.destinations[2].address, ntohl(inet_addr("140.82.112.0")));
    assert_int_equal(policy.destinations[2].prefix, 20);
    assert_int_equal(policy.destinations[2].port, 22);
    assert_int_equal(policy.destinations[3].prefix, 32);
    assert_true(egress_policy_holds(&policy, "github.com"));
    assert_true(egress_policy_holds(&policy, "files.pypi.org"));
    assert_true(egress_policy_holds(&policy, "a.b.pypi.org"));
    assert_false(egress_policy_holds(&policy, "pypi.org"));
    assert_false(egress_policy_holds(&policy, "evilpypi.org"));
    assert_false(egress_policy_holds(&policy, "api.github.com"));
    assert_false(egress_policy_holds(&policy, "github.com.evil.org"));
}

static void refused(const char *mode, const char *list, const char *words)
{
    struct egress_policy policy = EGRESS_POLICY_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(egress_policy_parse(mode, list, &policy, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    if (strstr(err.message, words) == NULL)
        fail_msg("%s: %s", list, err.message);
    assert_int_equal(policy.n, 0);
}

static void what_is_no_place_is_refused_in_words(void **state)
{
    static const char *const none[] = {
        "http://a.org", "a.org/path", "user@a.org", "a..org",     ".a.org",       "*",
        "*.",           "a.*.org",    "**.a.org",   "*a.org",     "b\xc3\xbc.de", "a.org:0",
        "a.org:65536",  "a.org:x",    "a.org:",     "0x7f.1",     "127.1",        "2130706433",
        "1.2.3.4.5",    "8.8.8.8/33", "8.8.8.8/",   "8.8.8.0/2x", "a.org:1:2",    "[::1]:80",
        "a.0x7f",       "a.1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        refused("list", none[i], "");
    refused("list", "a.org b!c", "b!c: it is not a host name");
    refused("list", "", "empty");
    refused("all", "", "must be internet, none or list");
    refused("", "", "must be internet, none or list");
    refused("internet", "a..b", "a..b");
}

static void private_ranges_are_never_a_place(void **state)
{
    static const char *const ranges[] = {"10.0.0.0/8", "192.168.1.1", "169.254.169.254:80",
                                         "0.0.0.0/0", "100.64.0.0/11", "127.0.0.1", "172.16.0.0/12",
                                         "192.0.0.0/8", "224.0.0.1",
                                         /* ranges that hold such ones, not at their beginning */
                                         "8.0.0.0/5", "192.128.0.0/9", "160.0.0.0/3"};

    (void)state;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        refused("list", ranges[i], "can never reach");
    refused("list", "8.8.8.8/24", "beyond its prefix");
    assert_true(egress_is_denied(ntohl(inet_addr("192.168.7.7"))));
    assert_true(egress_is_denied(ntohl(inet_addr("169.254.169.254"))));
    assert_false(egress_is_denied(ntohl(inet_addr("140.82.112.3"))));
}

static void a_list_has_an_end(void **state)
{
    CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
    CLEANUP(egress_policy_done) struct egress_policy policy = EGRESS_POLICY_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    for (int i = 0; i < EGRESS_PLACES_MAX; i++)
        strbuf_appendf(&list, "h%d.org ", i);
    assert_int_equal(egress_policy_parse("list", list.text, &policy, &err), 0);
    assert_int_equal(policy.n, EGRESS_PLACES_MAX);
    strbuf_append(&list, "more.org");
    refused("list", list.text, "at most");
    strbuf_reset(&list);
    for (int i = 0; i < 299; i++)
        strbuf_append(&list, "a");
    refused("list", list.text, "aaaa");
    strbuf_append(&list, "a");
    refused("list", list.text, "longer");
}

static void names_have_one_form(void **state)
{
    char name[EGRESS_NAME_BYTES] = "";

    (void)state;
    assert_true(egress_name_read("WWW.Example.ORG.", 16, name));
    assert_string_equal(name, "www.example.org");
    assert_true(egress_name_read("xn--bcher-kva.example", 21, name));
    assert_false(egress_name_read("a.org\0.b.org", 12, name));
    assert_false(egress_name_read("a.org..", 7, name));
    assert_false(egress_name_read(".", 1, name));
    assert_false(egress_name_read("", 0, name));
    assert_false(egress_name_read("a b", 3, name));
    assert_false(egress_name_read("a.127", 5, name));
}

int test_egress_policy(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_names_names_below_and_ranges),
        cmocka_unit_test(what_is_no_place_is_refused_in_words),
        cmocka_unit_test(private_ranges_are_never_a_place),
        cmocka_unit_test(a_list_has_an_end),
        cmocka_unit_test(names_have_one_form),
    };

    return cmocka_run_group_tests_name("runtime/egress_policy", tests, NULL, NULL);
}
