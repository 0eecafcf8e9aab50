#include "runtime/subnet.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/text.h"

struct range {
    uint32_t address; /* host order */
    unsigned prefix;
};

static int range_parse(const char *text, struct range *range_out, struct error *err)
{
    char address[INET_ADDRSTRLEN] = "";
    const char *slash = strchr(text, '/');
    struct in_addr parsed = {0};
    int64_t prefix = 0;

    if (slash == NULL || (size_t)(slash - text) >= sizeof(address))
        return error_set(err, ERROR_INVALID, "%s is no IPv4 range", text);
    memcpy(address, text, (size_t)(slash - text));
    if (inet_pton(AF_INET, address, &parsed) != 1)
        return error_set(err, ERROR_INVALID, "%s is no IPv4 range", text);
    if (text_parse_int(slash + 1, 8, SUBNET_PREFIX, &prefix, err) < 0)
        return error_wrap(err, "%s", text);
    range_out->prefix = (unsigned)prefix;
    range_out->address = ntohl(parsed.s_addr) & ~(uint32_t)(0xffffffffU >> prefix);
    return 0;
}

int subnet_random(const char *range, char subnet_out[SUBNET_TEXT_BYTES], struct error *err)
{
    struct range parsed = {0};
    char address[INET_ADDRSTRLEN] = "";
    struct in_addr in = {0};
    uint32_t n = 0;

    if (range_parse(range, &parsed, err) < 0)
        return -1;
    crypto_random(&n, sizeof(n));
    n &= (1U << (SUBNET_PREFIX - parsed.prefix)) - 1;
    in.s_addr = htonl(parsed.address + (n << (32 - SUBNET_PREFIX)));
    if (inet_ntop(AF_INET, &in, address, sizeof(address)) == NULL)
        return error_set(err, ERROR_INTERNAL, "inet_ntop: %m");
    (void)snprintf(subnet_out, SUBNET_TEXT_BYTES, "%s/%d", address, SUBNET_PREFIX);
    return 0;
}
