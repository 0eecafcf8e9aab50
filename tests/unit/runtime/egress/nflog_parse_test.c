#include "runtime/egress/nflog_parse.h"

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "runtime/backend/bridge.h"
#include "runtime/egress/denial_counter.h"
#include "unit/runtime/runtime_test.h"

#define MESSAGE_MAX_BYTES 512

struct heard {
    struct denied_packet last;
    int n;
};

static void hear(void *context, const struct denied_packet *packet)
{
    struct heard *heard = context;

    heard->last = *packet;
    heard->n++;
}

struct message {
    _Alignas(struct nlmsghdr) unsigned char bytes[MESSAGE_MAX_BYTES];
    size_t len;
};

static void set_length(struct message *message)
{
    uint32_t len = (uint32_t)message->len;

    memcpy(message->bytes, &len, sizeof(len));
}

static struct message begin(void)
{
    const struct nlmsghdr header = {.nlmsg_type = (NFNL_SUBSYS_ULOG << 8) | NFULNL_MSG_PACKET};
    struct message message = {.len = NLMSG_LENGTH(sizeof(struct nfgenmsg))};

    memcpy(message.bytes, &header, sizeof(header));
    set_length(&message);
    return message;
}

static void put(struct message *message, uint16_t type, const void *value, size_t len)
{
    const struct nlattr attribute = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};

    memcpy(message->bytes + message->len, &attribute, sizeof(attribute));
    memcpy(message->bytes + message->len + NLA_HDRLEN, value, len);
    message->len += NLA_ALIGN(NLA_HDRLEN + len);
    set_length(message);
}

/* TCP from 10.201.0.2 to 192.168.9.7, port 5432. */
static const unsigned char tcp[] = {
    0x45, 0, 0,  40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10,   201, 0, 2, 192, 168, 9, 7, /* IP */
    0xc0, 0, 21, 56, 0, 0, 0,    0, 0,  0, 0, 0, 0x50, 2,   0, 0, 0,   0,   0, 0, /* TCP */
};

static struct message whole(const unsigned char *payload, size_t len)
{
    const uint32_t bridge = htonl(77);
    struct message message = begin();

    put(&message, NFULA_IFINDEX_INDEV, &bridge, sizeof(bridge));
    put(&message, NFULA_PREFIX, "private", sizeof("private"));
    put(&message, NFULA_PAYLOAD, payload, len);
    return message;
}

static void packet_is_told_with_where_it_was_to_go(void **state)
{
    struct message message = whole(tcp, sizeof(tcp));
    struct heard heard = {.n = 0};

    (void)state;
    nflog_parse(message.bytes, message.len, hear, &heard);
    assert_int_equal(heard.n, 1);
    assert_int_equal(heard.last.bridge_index, 77);
    assert_int_equal(heard.last.reason, DENIED_PRIVATE);
    assert_int_equal(heard.last.protocol, 6);
    assert_int_equal(heard.last.port, 5432);
    assert_int_equal(heard.last.address_be, inet_addr("192.168.9.7"));
}

static void several_come_at_once(void **state)
{
    struct message message = whole(tcp, sizeof(tcp));
    _Alignas(struct nlmsghdr) unsigned char both[2 * MESSAGE_MAX_BYTES];
    struct heard heard = {.n = 0};

    (void)state;
    memcpy(both, message.bytes, message.len);
    memcpy(both + message.len, message.bytes, message.len);
    nflog_parse(both, 2 * message.len, hear, &heard);
    assert_int_equal(heard.n, 2);
    nflog_parse(both, 2 * message.len - 1, hear, &heard);
    assert_int_equal(heard.n, 3);
}

static void later_fragments_and_short_headers_have_no_port(void **state)
{
    unsigned char packet[sizeof(tcp)];
    struct heard heard = {.n = 0};
    struct message message = whole(tcp, 22);

    (void)state;
    nflog_parse(message.bytes, message.len, hear, &heard);
    assert_int_equal(heard.n, 1);
    assert_int_equal(heard.last.port, 0);
    memcpy(packet, tcp, sizeof(tcp));
    packet[7] = 8;
    message = whole(packet, sizeof(packet));
    nflog_parse(message.bytes, message.len, hear, &heard);
    assert_int_equal(heard.n, 2);
    assert_int_equal(heard.last.port, 0);
    memcpy(packet, tcp, sizeof(tcp));
    packet[0] = 0x4f; /* more options than there are bytes */
    message = whole(packet, sizeof(packet));
    nflog_parse(message.bytes, message.len, hear, &heard);
    assert_int_equal(heard.n, 3);
    assert_int_equal(heard.last.port, 0);
}

static void what_is_no_packet_of_ours_is_left_out(void **state)
{
    static const char long_word[] = "a word that is longer than any of ours could ever be";
    unsigned char packet[sizeof(tcp)];
    const uint32_t bridge = htonl(77);
    struct message message = whole(tcp, 19);
    struct heard heard = {.n = 0};

    (void)state;
    nflog_parse(message.bytes, message.len, hear, &heard); /* too short */
    memcpy(packet, tcp, sizeof(tcp));
    packet[0] = 0x65;
    message = whole(packet, sizeof(packet));
    nflog_parse(message.bytes, message.len, hear, &heard); /* IPv6 */
    packet[0] = 0x44;
    message = whole(packet, sizeof(packet));
    nflog_parse(message.bytes, message.len, hear, &heard); /* header of 16 bytes */
    message = begin();
    put(&message, NFULA_IFINDEX_INDEV, &bridge, sizeof(bridge));
    put(&message, NFULA_PREFIX, long_word, sizeof(long_word));
    put(&message, NFULA_PAYLOAD, tcp, sizeof(tcp));
    nflog_parse(message.bytes, message.len, hear, &heard);
    message = begin();
    put(&message, NFULA_PREFIX, "host", sizeof("host"));
    put(&message, NFULA_PAYLOAD, tcp, sizeof(tcp));
    nflog_parse(message.bytes, message.len, hear, &heard); /* from nowhere */
    message = whole(tcp, sizeof(tcp));
    message.bytes[4] ^= 0xff;
    nflog_parse(message.bytes, message.len, hear, &heard); /* another message */
    assert_int_equal(heard.n, 0);
}

/* Every length and every byte may lie; a sanitizer sees what is read beyond the end. */
static void lies_are_survived(void **state)
{
    struct message good = whole(tcp, sizeof(tcp));
    struct heard heard = {.n = 0};

    (void)state;
    for (size_t len = 0; len <= good.len; len++) {
        unsigned char *exact = test_malloc(len + 1);

        memcpy(exact, good.bytes, len);
        nflog_parse(exact, len, hear, &heard);
        test_free(exact);
    }
    assert_int_equal(heard.n, 1);
    for (int round = 0; round < 20000; round++) {
        unsigned char *exact = test_malloc(good.len);
        uint32_t random[3];

        crypto_random(random, sizeof(random));
        memcpy(exact, good.bytes, good.len);
        exact[(uint64_t)random[0] * good.len >> 32] = (unsigned char)random[1];
        exact[(uint64_t)random[1] * good.len >> 32] = (unsigned char)random[2];
        nflog_parse(exact, good.len, hear, &heard);
        test_free(exact);
    }
}

static void bridge_tells_its_network_and_instance(void **state)
{
    char id[BRIDGE_ID_BYTES] = "";
    char network[PREALLOC_NAME_BYTES] = "";
    char found[PREALLOC_NAME_BYTES] = "";
    char bridge[BRIDGE_NAME_BYTES] = "";

    (void)state;
    bridge_new_id("one", id);
    bridge_network_name("one", id, network);
    bridge_name(id, bridge);
    assert_true(bridge_find_network("one", bridge, found));
    assert_string_equal(found, network);
    assert_true(bridge_is_seen("one", network));
    assert_false(bridge_find_network("two", bridge, found));
    assert_false(bridge_is_seen("two", network));
    assert_false(bridge_is_seen("one", "one-net-0123456789"));
    assert_false(bridge_is_seen("one", ""));
    assert_false(bridge_find_network("one", "dsb", found));
    assert_false(bridge_find_network("one", "eth0", found));
}

/* As signed numbers these are negative, and the largest one is 0 when it is aligned. */
static void lengths_beyond_any_message_end_the_reading(void **state)
{
    static const uint32_t lengths[] = {UINT32_MAX, UINT32_MAX - 3, 0x80000000U, 0x80000010U};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        struct message message = whole(tcp, sizeof(tcp));
        struct heard heard = {.n = 0};

        memcpy(message.bytes, &lengths[i], sizeof(lengths[i]));
        nflog_parse(message.bytes, message.len, hear, &heard);
        assert_int_equal(heard.n, 0);
    }
}

int test_nflog_parse(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packet_is_told_with_where_it_was_to_go),
        cmocka_unit_test(several_come_at_once),
        cmocka_unit_test(later_fragments_and_short_headers_have_no_port),
        cmocka_unit_test(what_is_no_packet_of_ours_is_left_out),
        cmocka_unit_test(lies_are_survived),
        cmocka_unit_test(bridge_tells_its_network_and_instance),
        cmocka_unit_test(lengths_beyond_any_message_end_the_reading),
    };

    return cmocka_run_group_tests_name("runtime/nflog_parse", tests, NULL, NULL);
}
