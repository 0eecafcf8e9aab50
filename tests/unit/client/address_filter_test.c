#include "client/address_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static const char *const private_addresses[] = {
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "::127.0.0.1",
    "fe80::1",
    "fc00::1",
    "fd00:ec2::254",
    "fec0::1",
    "ff02::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a9fe:a9fe::",
    "3fff::1",
    "5f00::1",
    "4000::1",
    "not an address",
    "",
};

static const char *const public_addresses[] = {
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
    "2001:4860:4860::8888",
};

static void private_addresses_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(private_addresses); i++) {
        if (address_filter_allows_text(private_addresses[i], false))
            fail_msg("%s passed", private_addresses[i]);
    }
}

static void public_addresses_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(public_addresses); i++) {
        if (!address_filter_allows_text(public_addresses[i], false))
            fail_msg("%s was refused", public_addresses[i]);
    }
}

/* First and last address of each block that IANA's special-purpose registries call not global. */
static const struct {
    const char *first;
    const char *last;
} special[] = {
    {"0.0.0.0", "0.255.255.255"},
    {"10.0.0.0", "10.255.255.255"},
    {"100.64.0.0", "100.127.255.255"},
    {"127.0.0.0", "127.255.255.255"},
    {"169.254.0.0", "169.254.255.255"},
    {"172.16.0.0", "172.31.255.255"},
    {"192.0.0.0", "192.0.0.255"},
    {"192.0.2.0", "192.0.2.255"},
    {"192.88.99.0", "192.88.99.255"},
    {"192.168.0.0", "192.168.255.255"},
    {"198.18.0.0", "198.19.255.255"},
    {"198.51.100.0", "198.51.100.255"},
    {"203.0.113.0", "203.0.113.255"},
    {"224.0.0.0", "239.255.255.255"},
    {"240.0.0.0", "255.255.255.255"},
    {"::", "::ffff:ffff"},
    {"::ffff:0.0.0.0", "::ffff:0.255.255.255"},
    {"::ffff:127.0.0.0", "::ffff:127.255.255.255"},
    {"64:ff9b::10.0.0.0", "64:ff9b::10.255.255.255"},
    {"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"},
    {"100::", "100::ffff:ffff:ffff:ffff"},
    {"100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff"},
    {"2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"},
    {"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"},
    {"2002:7f00::", "2002:7fff:ffff:ffff:ffff:ffff:ffff:ffff"},
    {"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"},
    {"5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    {"fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    {"fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    {"fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    {"ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
};

static void special_purpose_blocks_are_refused_to_their_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
        if (address_filter_allows_text(special[i].first, false) ||
            address_filter_allows_text(special[i].last, false))
            fail_msg("%s to %s passed", special[i].first, special[i].last);
    }
}

/* What lies before and after the blocks inside the public ranges. */
static void neighbours_of_special_blocks_pass(void **state)
{
    static const char *const public[] = {
        "1.0.0.0",         "9.255.255.255",   "11.0.0.0",        "100.63.255.255",
        "100.128.0.0",     "126.255.255.255", "128.0.0.0",       "169.253.255.255",
        "169.255.0.0",     "172.15.255.255",  "172.32.0.0",      "191.255.255.255",
        "192.0.1.0",       "192.0.1.255",     "192.0.3.0",       "192.88.98.255",
        "192.88.100.0",    "192.167.255.255", "192.169.0.0",     "198.17.255.255",
        "198.20.0.0",      "198.51.99.255",   "198.51.101.0",    "203.0.112.255",
        "203.0.114.0",     "223.255.255.255", "2000::",          "2000:ffff::",
        "2001:200::",      "2001:db7:ffff::", "2001:db9::",      "2003::",
        "3ffe:ffff::",     "3fff:1000::",     "2002:bff:ffff::", "2002:900:0::",
        "64:ff9b::1.1.1.1"};

    (void)state;
    for (size_t i = 0; i < sizeof(public) / sizeof(public[0]); i++) {
        if (!address_filter_allows_text(public[i], false))
            fail_msg("%s was refused", public[i]);
    }
}

/* The metadata services alone, whatever is next to them. */
static void neighbours_of_metadata_services_are_private(void **state)
{
    static const char *const allowed[] = {
        "100.100.100.199", "100.100.100.201", "168.63.129.15",     "168.63.129.17",
        "192.0.0.191",     "192.0.0.193",     "169.253.255.255",   "169.255.0.0",
        "fe7f:ffff::",     "fec0::",          "fd00:ec1:ffff::",   "fd00:ec3::",
        "fd20:cd:ffff::",  "fd20:cf::",       "64:ff9b:0:ffff::1", "64:ff9b:2::"};
    static const char *const refused[] = {
        "169.254.0.0",       "169.254.255.255", "fe80::",
        "febf:ffff::",       "fd00:ec2::",      "fd00:ec2:ffff:ffff:ffff:ffff:ffff:ffff",
        "fd20:ce::",         "fd20:ce:ffff::",  "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
        "64:ff9b::6464:64c8"};

    (void)state;
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        if (!address_filter_allows_text(allowed[i], true))
            fail_msg("%s was refused", allowed[i]);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (address_filter_allows_text(refused[i], true))
            fail_msg("%s passed", refused[i]);
    }
}

static void private_addresses_are_for_the_administrator_and_trusted_users(void **state)
{
    (void)state;
    for (int trusted = 0; trusted < 2; trusted++) {
        assert_true(address_filter_allows_private(ADDRESS_OF_DEFT, trusted));
        assert_true(address_filter_allows_private(ADDRESS_OF_ADMINISTRATOR, trusted));
        assert_int_equal(address_filter_allows_private(ADDRESS_OF_USER, trusted), trusted);
        assert_false(address_filter_allows_private(ADDRESS_OF_SANDBOX, trusted));
        assert_false(address_filter_allows_private(ADDRESS_UNSTATED, trusted));
    }
}

static void link_local_addresses_are_refused_whatever_is_allowed(void **state)
{
    static const char *const refused[] = {
        "169.254.169.254",          "169.254.0.1",  "::ffff:169.254.169.254",
        "64:ff9b::169.254.169.254", "fe80::1",      "fd00:ec2::254",
        "100.100.100.200",          "192.0.0.192",  "168.63.129.16",
        "::ffff:168.63.129.16",     "fd20:ce::254", "64:ff9b:1::a9fe:a9fe",
        "169.254.255.255",          "febf:ffff::1", "2002:a9fe:a9fe::"};
    static const char *const allowed[] = {"127.0.0.1", "10.1.2.3", "192.168.1.1", "169.253.255.255",
                                          "::1",       "fd12::1",  "8.8.8.8",     "fec0::1"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        if (address_filter_allows_text(refused[i], true))
            fail_msg("%s passed", refused[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
        if (!address_filter_allows_text(allowed[i], true))
            fail_msg("%s was refused", allowed[i]);
    }
}

static void socket_addresses_are_judged_alike(void **state)
{
    struct sockaddr_storage storage = {0};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    (void)state;
    assert_int_equal(inet_pton(AF_INET, "8.8.4.4", &v4.sin_addr), 1);
    memcpy(&storage, &v4, sizeof(v4));
    assert_true(address_filter_allows((struct sockaddr *)&storage, false));
    assert_int_equal(inet_pton(AF_INET, "10.1.1.1", &v4.sin_addr), 1);
    memcpy(&storage, &v4, sizeof(v4));
    assert_false(address_filter_allows((struct sockaddr *)&storage, false));
    assert_true(address_filter_allows((struct sockaddr *)&storage, true));
    assert_int_equal(inet_pton(AF_INET6, "::ffff:10.1.1.1", &v6.sin6_addr), 1);
    memcpy(&storage, &v6, sizeof(v6));
    assert_false(address_filter_allows((struct sockaddr *)&storage, false));
    assert_int_equal(inet_pton(AF_INET6, "2606:4700::1111", &v6.sin6_addr), 1);
    memcpy(&storage, &v6, sizeof(v6));
    assert_true(address_filter_allows((struct sockaddr *)&storage, false));
    assert_int_equal(inet_pton(AF_INET6, "fd12::1", &v6.sin6_addr), 1);
    memcpy(&storage, &v6, sizeof(v6));
    assert_false(address_filter_allows((struct sockaddr *)&storage, false));
    assert_true(address_filter_allows((struct sockaddr *)&storage, true));
    storage.ss_family = AF_UNIX;
    assert_false(address_filter_allows((struct sockaddr *)&storage, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(private_addresses_are_refused),
        cmocka_unit_test(public_addresses_pass),
        cmocka_unit_test(special_purpose_blocks_are_refused_to_their_ends),
        cmocka_unit_test(neighbours_of_special_blocks_pass),
        cmocka_unit_test(neighbours_of_metadata_services_are_private),
        cmocka_unit_test(private_addresses_are_for_the_administrator_and_trusted_users),
        cmocka_unit_test(link_local_addresses_are_refused_whatever_is_allowed),
        cmocka_unit_test(socket_addresses_are_judged_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
