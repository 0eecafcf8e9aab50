/*
 * Questions of a sandbox: what is read has a name in its one form or none, its answer fits, and is
 * no question itself.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "runtime/egress/dns_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const uint32_t addresses[DNS_ADDRESSES_MAX];
    struct dns_query question = {.id = 0};
    struct dns_query again = {.id = 0};
    unsigned char answer[DNS_PACKET_BYTES];
    char name[EGRESS_NAME_BYTES] = "";
    size_t answer_len = 0;

    if (!dns_query_parse(bytes, len, &question))
        return 0;
    assert(question.end <= len);
    if (question.name[0] != '\0') {
        assert(egress_name_read(question.name, strlen(question.name), name));
        assert(text_equal(name, question.name));
    }
    answer_len = dns_reply_write(bytes, &question, DNS_OK, addresses, DNS_ADDRESSES_MAX, answer);
    assert(answer_len <= sizeof(answer));
    assert(!dns_query_parse(answer, answer_len, &again));
    return 0;
}
