#include "runtime/egress/dns_message.h"

#include <string.h>

/* RFC 1035, section 4.1.1 */
#define HEADER_BYTES 12
#define FLAG_ANSWER 0x8000
#define FLAG_RECURSION_WANTED 0x0100
#define FLAG_RECURSION_HERE 0x0080
#define OPCODE_MASK 0x7800
#define CLASS_IN 1
#define LABEL_MAX_BYTES 63
/* A compressed name: points to the one in the question. */
#define POINTER_TO_QUESTION 0xc00c
#define RECORD_BYTES 16
/* Short, so that a sandbox's cached addresses stay within its rules. */
#define TTL_S 60

static uint16_t number16(const unsigned char *at)
{
    return (uint16_t)((at[0] << 8) | at[1]);
}

static void put16(unsigned char *at, unsigned value)
{
    at[0] = (unsigned char)(value >> 8);
    at[1] = (unsigned char)value;
}

/* A dot or NUL within a label would change the name as text. */
static bool is_plain(const unsigned char *label, size_t len)
{
    return memchr(label, '.', len) == NULL && memchr(label, '\0', len) == NULL;
}

/* Joins a name's labels with dots; returns the offset after it, 0 if invalid. Questions contain no
 * compression pointers. */
static size_t read_labels(const unsigned char *packet, size_t len, char text[EGRESS_NAME_BYTES],
                          bool *is_plain_out)
{
    size_t at = HEADER_BYTES;
    size_t used = 0;

    while (at < len && packet[at] != 0) {
        size_t label = packet[at];

        if (label > LABEL_MAX_BYTES || at + 1 + label >= len ||
            used + label + 1 >= EGRESS_NAME_BYTES)
            return 0;
        *is_plain_out = *is_plain_out && is_plain(packet + at + 1, label);
        memcpy(text + used, packet + at + 1, label);
        used += label;
        text[used++] = '.';
        at += 1 + label;
    }
    text[used] = '\0';
    return at < len ? at + 1 : 0;
}

bool dns_query_parse(const void *packet, size_t len, struct dns_query *question_out)
{
    const unsigned char *bytes = packet;
    char text[EGRESS_NAME_BYTES] = "";
    bool is_plain_name = true;
    unsigned flags = 0;
    size_t end = 0;

    if (len < HEADER_BYTES || len > DNS_PACKET_BYTES)
        return false;
    flags = number16(bytes + 2);
    if ((flags & (FLAG_ANSWER | OPCODE_MASK)) != 0 || number16(bytes + 4) != 1)
        return false;
    end = read_labels(bytes, len, text, &is_plain_name);
    if (end == 0 || end + 4 > len || number16(bytes + end + 2) != CLASS_IN)
        return false;
    *question_out = (struct dns_query){.id = number16(bytes),
                                       .type = number16(bytes + end),
                                       .wants_recursion = (flags & FLAG_RECURSION_WANTED) != 0,
                                       .end = end + 4};
    if (!is_plain_name || !egress_name_read(text, strlen(text), question_out->name))
        question_out->name[0] = '\0';
    return true;
}

static size_t put_record(unsigned char *at, uint32_t address_be)
{
    put16(at, POINTER_TO_QUESTION);
    put16(at + 2, DNS_TYPE_A);
    put16(at + 4, CLASS_IN);
    put16(at + 6, 0);
    put16(at + 8, TTL_S);
    put16(at + 10, sizeof(address_be));
    memcpy(at + 12, &address_be, sizeof(address_be));
    return RECORD_BYTES;
}

size_t dns_reply_write(const void *packet, const struct dns_query *question,
                       enum dns_result verdict, const uint32_t *addresses_be, size_t n,
                       unsigned char answer[DNS_PACKET_BYTES])
{
    size_t len = question->end;
    unsigned flags = FLAG_ANSWER | FLAG_RECURSION_HERE | (unsigned)verdict;

    if (question->wants_recursion)
        flags |= FLAG_RECURSION_WANTED;
    n = n < DNS_ADDRESSES_MAX ? n : DNS_ADDRESSES_MAX;
    memset(answer, 0, HEADER_BYTES);
    memcpy(answer + HEADER_BYTES, (const unsigned char *)packet + HEADER_BYTES, len - HEADER_BYTES);
    put16(answer, question->id);
    put16(answer + 2, flags);
    put16(answer + 4, 1);
    put16(answer + 6, (unsigned)n);
    for (size_t i = 0; i < n; i++)
        len += put_record(answer + len, addresses_be[i]);
    return len;
}
