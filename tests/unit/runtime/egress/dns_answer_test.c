#include "runtime/egress/dns_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "runtime/core/service.h"
#include "runtime/egress/dns_message.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_denials.h"
#include "unit/runtime/runtime_test.h"

/* A service whose sandboxes may reach `localhost` and `allowed.test`; nothing is loaded or stored.
 */
struct fixture {
    struct runtime_settings settings;
    struct service service;
    struct dns_source source;
};

static int setup(void **state)
{
    struct fixture *fixture = NEW(struct fixture);
    struct error err = ERROR_INIT;

    fixture->settings = (struct runtime_settings){.backend = "docker",
                                                  .has_network_rules = 1,
                                                  .egress = "list",
                                                  .egress_allow = "localhost allowed.test:443",
                                                  .docker = {.instance = "one"},
                                                  .process = {.network = "none"}};
    assert_int_equal(egress_new(&fixture->settings, &fixture->service.egress, &err), 0);
    fixture->settings.has_network_rules = 0;
    fixture->service.denials = egress_denials_new(&fixture->settings);
    fixture->source = (struct dns_source){.bridge_index = 7, .bridge = "dsb0000000007"};
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    egress_denials_free(fixture->service.denials);
    egress_free(fixture->service.egress);
    mem_free(fixture);
    return 0;
}

/* Writes a query without EDNS; its length. */
static size_t make_query(const char *name, uint8_t type, unsigned char packet[DNS_PACKET_BYTES])
{
    static const unsigned char header[] = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    const unsigned char tail[] = {0, 0, type, 0, 1};
    size_t at = sizeof(header);

    memcpy(packet, header, sizeof(header));
    while (*name != '\0') {
        size_t len = strcspn(name, ".");

        packet[at] = (unsigned char)len;
        memcpy(packet + at + 1, name, len);
        at += 1 + len;
        name += len + (name[len] == '.');
    }
    memcpy(packet + at, tail, sizeof(tail));
    return at + sizeof(tail);
}

enum { RCODE_OK = 0, RCODE_NO_NAME = 3 };

/* The reply's code; it has no record. */
static int ask(struct fixture *fixture, const char *name, uint8_t type)
{
    unsigned char packet[DNS_PACKET_BYTES];
    unsigned char reply[DNS_PACKET_BYTES];
    size_t len = make_query(name, type, packet);

    assert_int_equal(dns_answer(&fixture->service, &fixture->source, packet, len, reply), len);
    assert_memory_equal(reply + 4, "\0\1\0\0", 4);
    assert_memory_equal(reply + 12, packet + 12, len - 12);
    return reply[3] & 15;
}

static void listed_name_has_empty_answers_for_other_types(void **state)
{
    static const uint8_t types[] = {DNS_TYPE_AAAA, 5, 15, 16, 33, 65};

    for (size_t i = 0; i < sizeof(types); i++)
        assert_int_equal(ask(*state, "Allowed.TEST", types[i]), RCODE_OK);
}

static void unlisted_name_does_not_exist_whatever_its_type(void **state)
{
    static const uint8_t types[] = {DNS_TYPE_A, DNS_TYPE_AAAA, 16, DNS_TYPE_ANY};

    for (size_t i = 0; i < sizeof(types); i++) {
        assert_int_equal(ask(*state, "evil.test", types[i]), RCODE_NO_NAME);
        assert_int_equal(ask(*state, "sub.allowed.test", types[i]), RCODE_NO_NAME);
    }
}

static void listed_name_with_private_addresses_has_none(void **state)
{
    assert_int_equal(ask(*state, "localhost", DNS_TYPE_A), RCODE_OK);
    assert_int_equal(ask(*state, "localhost", DNS_TYPE_ANY), RCODE_OK);
}

static void packet_that_is_no_query_gets_no_reply(void **state)
{
    struct fixture *fixture = *state;
    unsigned char packet[DNS_PACKET_BYTES];
    unsigned char reply[DNS_PACKET_BYTES];
    size_t len = make_query("allowed.test", DNS_TYPE_A, packet);

    packet[2] |= 0x80;
    assert_int_equal(dns_answer(&fixture->service, &fixture->source, packet, len, reply), 0);
}

int test_dns_answer(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_name_has_empty_answers_for_other_types),
        cmocka_unit_test(unlisted_name_does_not_exist_whatever_its_type),
        cmocka_unit_test(listed_name_with_private_addresses_has_none),
        cmocka_unit_test(packet_that_is_no_query_gets_no_reply),
    };

    return cmocka_run_group_tests_name("runtime/dns_answer", tests, setup, teardown);
}
