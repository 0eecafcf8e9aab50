#include "runtime/egress/dns_message.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "unit/runtime/runtime_test.h"

/* www.Example.org, type A. */
static const unsigned char query[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                                     "\x03www\x07"
                                     "Example\x03org\x00\x00\x01\x00\x01";
#define QUERY_BYTES (sizeof(query) - 1)

static void question_is_read_in_one_form(void **state)
{
    struct dns_query question = {.id = 0};

    (void)state;
    assert_true(dns_query_parse(query, QUERY_BYTES, &question));
    assert_int_equal(question.id, 0x1234);
    assert_int_equal(question.type, DNS_TYPE_A);
    assert_true(question.wants_recursion);
    assert_string_equal(question.name, "www.example.org");
    assert_int_equal(question.end, QUERY_BYTES);
}

static void answer_holds_question_and_addresses(void **state)
{
    struct dns_query question = {.id = 0};
    const uint32_t addresses[] = {inet_addr("140.82.112.3"), inet_addr("140.82.112.4")};
    unsigned char answer[DNS_PACKET_BYTES];
    size_t len = 0;

    (void)state;
    assert_true(dns_query_parse(query, QUERY_BYTES, &question));
    len = dns_reply_write(query, &question, DNS_OK, addresses, 2, answer);
    assert_int_equal(len, QUERY_BYTES + 2 * 16);
    assert_memory_equal(answer, "\x12\x34\x81\x80\x00\x01\x00\x02\x00\x00\x00\x00", 12);
    assert_memory_equal(answer + 12, query + 12, QUERY_BYTES - 12);
    assert_memory_equal(answer + QUERY_BYTES,
                        "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x8c\x52\x70\x03", 16);
    len = dns_reply_write(query, &question, DNS_UNKNOWN, NULL, 0, answer);
    assert_int_equal(len, QUERY_BYTES);
    assert_memory_equal(answer, "\x12\x34\x81\x83\x00\x01\x00\x00\x00\x00\x00\x00", 12);
}

/* A query for a name of four labels, the last one of that length; its length. */
static size_t make_long(size_t last_len, unsigned char packet[DNS_PACKET_BYTES])
{
    static const unsigned char tail[] = {0, 0, 1, 0, 1};
    size_t at = 12;

    memcpy(packet, query, 12);
    for (int i = 0; i < 4; i++) {
        size_t len = i < 3 ? 63 : last_len;

        packet[at] = (unsigned char)len;
        memset(packet + at + 1, 'a', len);
        at += len + 1;
    }
    memcpy(packet + at, tail, sizeof(tail));
    return at + sizeof(tail);
}

static void the_longest_answer_fits(void **state)
{
    unsigned char longest[DNS_PACKET_BYTES];
    uint32_t addresses[20] = {0};
    unsigned char answer[DNS_PACKET_BYTES];
    struct dns_query question = {.id = 0};
    size_t len = make_long(60, longest);

    (void)state;
    assert_true(dns_query_parse(longest, len, &question));
    assert_int_equal(strlen(question.name), 252);
    assert_true(dns_reply_write(longest, &question, DNS_OK, addresses, 20, answer) <=
                DNS_PACKET_BYTES);
}

static void names_are_bounded(void **state)
{
    unsigned char packet[DNS_PACKET_BYTES];
    struct dns_query question = {.id = 0};

    (void)state;
    for (size_t last_len = 61; last_len <= 63; last_len++)
        assert_false(dns_query_parse(packet, make_long(last_len, packet), &question));
}

/* Other spellings of a name that might mean two things have no name at all. */
static void tricks_have_no_name(void **state)
{
    static const unsigned char dot[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                                       "\x0bwww.example\x03org\x00\x00\x01\x00\x01";
    static const unsigned char nul[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                                       "\x03org\x04"
                                       "a\0.b\x00\x00\x01\x00\x01";
    struct dns_query question = {.id = 0};

    (void)state;
    assert_true(dns_query_parse(dot, sizeof(dot) - 1, &question));
    assert_string_equal(question.name, "");
    assert_true(dns_query_parse(nul, sizeof(nul) - 1, &question));
    assert_string_equal(question.name, "");
}

static void what_is_no_question_is_left_alone(void **state)
{
    unsigned char packet[QUERY_BYTES];
    struct dns_query question = {.id = 0};

    (void)state;
    for (size_t len = 0; len < QUERY_BYTES; len++)
        assert_false(dns_query_parse(query, len, &question));
    memcpy(packet, query, QUERY_BYTES);
    packet[2] |= 0x80; /* an answer */
    assert_false(dns_query_parse(packet, QUERY_BYTES, &question));
    memcpy(packet, query, QUERY_BYTES);
    packet[5] = 2; /* two of them */
    assert_false(dns_query_parse(packet, QUERY_BYTES, &question));
    memcpy(packet, query, QUERY_BYTES);
    packet[12] = 0xc0; /* a pointer */
    assert_false(dns_query_parse(packet, QUERY_BYTES, &question));
}

/* Each byte of a header and of a question that decides. */
static void header_says_whether_it_is_a_question(void **state)
{
    static const struct {
        size_t at;
        unsigned char value;
        bool is_question;
    } cases[] = {
        {2, 0x00, true},  /* recursion is not wanted */
        {2, 0x81, false}, /* an answer */
        {2, 0x09, false}, /* other operations */
        {2, 0x11, false},
        {2, 0x21, false},
        {2, 0x41, false},
        {2, 0x07, true}, /* flags of answers */
        {3, 0xff, true},
        {4, 1, false}, /* the number of questions */
        {5, 0, false},
        {QUERY_BYTES - 1, 3, false}, /* the class */
        {QUERY_BYTES - 2, 1, false},
        {QUERY_BYTES - 3, 28, true}, /* the type */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct dns_query question = {.id = 0};
        unsigned char packet[QUERY_BYTES];

        memcpy(packet, query, QUERY_BYTES);
        packet[cases[i].at] = cases[i].value;
        assert_int_equal(dns_query_parse(packet, QUERY_BYTES, &question), cases[i].is_question);
        if (cases[i].at == 2 && cases[i].is_question)
            assert_int_equal(question.wants_recursion, cases[i].value & 1);
        if (cases[i].at == QUERY_BYTES - 3)
            assert_int_equal(question.type, 28);
    }
}

/* What follows the question does not matter, up to the size of a packet. */
static void packet_has_a_size(void **state)
{
    unsigned char packet[DNS_PACKET_BYTES + 1] = {0};
    struct dns_query question = {.id = 0};

    (void)state;
    memcpy(packet, query, QUERY_BYTES);
    assert_true(dns_query_parse(packet, DNS_PACKET_BYTES, &question));
    assert_int_equal(question.end, QUERY_BYTES);
    assert_false(dns_query_parse(packet, DNS_PACKET_BYTES + 1, &question));
}

/* The last label ends the packet, without the end of the name. */
static void name_needs_its_end(void **state)
{
    unsigned char packet[12 + 1 + 63];
    struct dns_query question = {.id = 0};

    (void)state;
    memcpy(packet, query, 12);
    memset(packet + 12, 'a', sizeof(packet) - 12);
    for (unsigned char label = 1; label <= 64; label++) {
        packet[12] = label;
        assert_false(dns_query_parse(packet, 12 + 1 + label, &question));
    }
}

static void root_has_no_name(void **state)
{
    static const unsigned char root[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                                        "\x00\x00\x01\x00\x01";
    struct dns_query question = {.id = 0};

    (void)state;
    assert_true(dns_query_parse(root, sizeof(root) - 1, &question));
    assert_string_equal(question.name, "");
    assert_int_equal(question.end, sizeof(root) - 1);
}

static void reply_repeats_what_was_wanted(void **state)
{
    struct dns_query question = {.id = 0};
    const uint32_t addresses[DNS_ADDRESSES_MAX + 1] = {0};
    unsigned char answer[DNS_PACKET_BYTES];

    (void)state;
    assert_true(dns_query_parse(query, QUERY_BYTES, &question));
    question.wants_recursion = false;
    assert_int_equal(dns_reply_write(query, &question, DNS_FAILED, NULL, 0, answer), QUERY_BYTES);
    assert_memory_equal(answer, "\x12\x34\x80\x82\x00\x01\x00\x00\x00\x00\x00\x00", 12);
    assert_int_equal(
        dns_reply_write(query, &question, DNS_OK, addresses, DNS_ADDRESSES_MAX + 1, answer),
        QUERY_BYTES + DNS_ADDRESSES_MAX * 16);
    assert_int_equal(answer[7], DNS_ADDRESSES_MAX);
}

static void lies_are_survived(void **state)
{
    unsigned char answer[DNS_PACKET_BYTES];

    (void)state;
    for (int round = 0; round < 20000; round++) {
        unsigned char *exact = test_malloc(QUERY_BYTES);
        struct dns_query question = {.id = 0};
        uint32_t random[3];

        crypto_random(random, sizeof(random));
        memcpy(exact, query, QUERY_BYTES);
        exact[random[0] % QUERY_BYTES] = (unsigned char)random[1];
        exact[random[1] % QUERY_BYTES] = (unsigned char)random[2];
        if (dns_query_parse(exact, QUERY_BYTES, &question))
            assert_true(dns_reply_write(exact, &question, DNS_OK, NULL, 0, answer) <= QUERY_BYTES);
        test_free(exact);
    }
}

int test_dns_message(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(question_is_read_in_one_form),
        cmocka_unit_test(answer_holds_question_and_addresses),
        cmocka_unit_test(the_longest_answer_fits),
        cmocka_unit_test(names_are_bounded),
        cmocka_unit_test(tricks_have_no_name),
        cmocka_unit_test(what_is_no_question_is_left_alone),
        cmocka_unit_test(header_says_whether_it_is_a_question),
        cmocka_unit_test(packet_has_a_size),
        cmocka_unit_test(name_needs_its_end),
        cmocka_unit_test(root_has_no_name),
        cmocka_unit_test(reply_repeats_what_was_wanted),
        cmocka_unit_test(lies_are_survived),
    };

    return cmocka_run_group_tests_name("runtime/dns_message", tests, NULL, NULL);
}
