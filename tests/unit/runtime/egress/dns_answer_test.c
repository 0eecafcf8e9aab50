#include "runtime/egress/dns_answer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/core/service.h"
#include "runtime/egress/dns_message.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_denials.h"
#include "runtime/egress/egress_state.h"
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

/* --- the host's resolver: two names --- */

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the library's result is so */
static struct sockaddr_in found_address;
static struct addrinfo found = {.ai_family = AF_INET,
                                .ai_addrlen = sizeof(found_address),
                                .ai_addr = (struct sockaddr *)&found_address};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict wanted, struct addrinfo **restrict found_out)
{
    bool is_local = text_equal(name, "localhost");

    (void)service;
    (void)wanted;
    if (!is_local && !text_equal(name, "allowed.test"))
        return EAI_NONAME;
    found_address.sin_addr.s_addr = inet_addr(is_local ? "127.0.0.1" : "140.82.112.3");
    *found_out = &found;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}

/* --- queries --- */

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

enum { RCODE_OK = 0, RCODE_FAILED = 2, RCODE_NO_NAME = 3 };

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

/* An answer that comes before its rule would lead to a refused connection. */
static void address_is_answered_once_its_rule_is_loaded(void **state)
{
    struct fixture *fixture = *state;
    struct egress *egress = fixture->service.egress;
    unsigned char packet[DNS_PACKET_BYTES];
    unsigned char reply[DNS_PACKET_BYTES];
    size_t len = make_query("allowed.test", DNS_TYPE_A, packet);

    /* The next load is over at once, with this result. */
    egress->done = egress->wanted + 1;
    error_set(&egress->state, ERROR_UNAVAILABLE, "no rules");
    assert_int_equal(ask(fixture, "allowed.test", DNS_TYPE_A), RCODE_FAILED);
    /* Its rule is still missing, so the next query loads again. */
    egress->done = egress->wanted + 1;
    assert_int_equal(ask(fixture, "allowed.test", DNS_TYPE_A), RCODE_FAILED);
    assert_int_equal(egress->wanted, egress->done);
    egress->done = egress->wanted + 1;
    egress->state = (struct error)ERROR_INIT;
    assert_int_equal(dns_answer(&fixture->service, &fixture->source, packet, len, reply), len + 16);
    assert_memory_equal(reply + len + 12, "\x8c\x52\x70\x03", 4);
    assert_int_equal(egress->wanted, egress->done);
    /* From then on it is answered from the table. */
    assert_int_equal(dns_answer(&fixture->service, &fixture->source, packet, len, reply), len + 16);
    assert_int_equal(egress->wanted, egress->done);
    /* Later its name is looked up again, but its rule is there. */
    egress->table.known[0].seen_ms -= 3600000 / 2;
    assert_int_equal(dns_answer(&fixture->service, &fixture->source, packet, len, reply), len + 16);
    assert_int_equal(egress->wanted, egress->done);
    assert_true(egress->table.known[0].seen_ms > clock_monotonic_ms() - 60000);
    egress->table.n_known = 0;
}

/* Two of one sandbox at once: its further queries fail, those of others do not. */
static void lookups_at_once_of_a_sandbox_are_bounded(void **state)
{
    struct fixture *fixture = *state;
    unsigned *asking = fixture->service.egress->asking;

    asking[0] = fixture->source.bridge_index;
    assert_int_equal(ask(fixture, "localhost", DNS_TYPE_A), RCODE_OK);
    asking[1] = fixture->source.bridge_index;
    assert_int_equal(ask(fixture, "localhost", DNS_TYPE_A), RCODE_FAILED);
    asking[1] = fixture->source.bridge_index + 1;
    assert_int_equal(ask(fixture, "localhost", DNS_TYPE_A), RCODE_OK);
    for (size_t i = 1; i < EGRESS_LOOKUPS_MAX; i++)
        asking[i] = fixture->source.bridge_index + 1;
    assert_int_equal(ask(fixture, "localhost", DNS_TYPE_A), RCODE_FAILED);
    memset(asking, 0, sizeof(fixture->service.egress->asking));
    /* Each gives its place back. */
    for (size_t i = 0; i < 2 * EGRESS_LOOKUPS_MAX; i++)
        assert_int_equal(ask(fixture, "localhost", DNS_TYPE_A), RCODE_OK);
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
        cmocka_unit_test(address_is_answered_once_its_rule_is_loaded),
        cmocka_unit_test(lookups_at_once_of_a_sandbox_are_bounded),
        cmocka_unit_test(packet_that_is_no_query_gets_no_reply),
    };

    return cmocka_run_group_tests_name("runtime/dns_answer", tests, setup, teardown);
}
