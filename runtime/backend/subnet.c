#include "runtime/backend/subnet.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* Wider routes are for whole networks; a bridge's more specific route takes precedence. */
#define ROUTE_MIN_PREFIX 17

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
        return error_set(err, ERROR_INVALID, "%s is not an IPv4 range", text);
    memcpy(address, text, (size_t)(slash - text));
    if (inet_pton(AF_INET, address, &parsed) != 1)
        return error_set(err, ERROR_INVALID, "%s is not an IPv4 range", text);
    if (text_parse_int(slash + 1, 8, SUBNET_PREFIX, &prefix, err) < 0)
        return error_wrap(err, "%s", text);
    range_out->prefix = (unsigned)prefix;
    range_out->address = ntohl(parsed.s_addr) & ~(uint32_t)(0xffffffffU >> prefix);
    return 0;
}

int subnet_of_range(const char *range, uint32_t n, char subnet_out[SUBNET_TEXT_BYTES],
                    struct error *err)
{
    struct range parsed = {0};
    char address[INET_ADDRSTRLEN] = "";
    struct in_addr in = {0};

    if (range_parse(range, &parsed, err) < 0)
        return -1;
    n &= (1U << (SUBNET_PREFIX - parsed.prefix)) - 1;
    in.s_addr = htonl(parsed.address + (n << (32 - SUBNET_PREFIX)));
    if (inet_ntop(AF_INET, &in, address, sizeof(address)) == NULL)
        return error_set(err, ERROR_INTERNAL, "inet_ntop: %m");
    (void)snprintf(subnet_out, SUBNET_TEXT_BYTES, "%s/%d", address, SUBNET_PREFIX);
    return 0;
}

enum column { COLUMN_DESTINATION = 1, COLUMN_MASK = 7 };

/* The file shows network byte order, read as a native integer, in hex. */
static bool parse_column(const char *line, enum column column, uint32_t *address_out)
{
    char *end = NULL;

    for (int i = 0; i < (int)column; i++) {
        line += strcspn(line, "\t\n");
        if (*line != '\t')
            return false;
        line++;
    }
    *address_out = ntohl((uint32_t)strtoul(line, &end, 16));
    return end != line;
}

static bool is_in_the_way(const char *line, const struct range *subnet)
{
    uint32_t destination = 0;
    uint32_t mask = 0;
    uint32_t common = 0;

    if (!parse_column(line, COLUMN_DESTINATION, &destination) ||
        !parse_column(line, COLUMN_MASK, &mask))
        return false;
    if (mask < 0xffffffffU << (32 - ROUTE_MIN_PREFIX))
        return false;
    common = mask & (0xffffffffU << (32 - subnet->prefix));
    return (destination & common) == (subnet->address & common);
}

bool subnet_is_routed(const char *subnet, const char *routes)
{
    struct range wanted = {0};
    struct error ignored = ERROR_INIT;
    const char *line = strchr(routes, '\n'); /* skips the header line */

    if (range_parse(subnet, &wanted, &ignored) < 0)
        return false;
    for (; line != NULL; line = strchr(line + 1, '\n')) {
        if (is_in_the_way(line + 1, &wanted))
            return true;
    }
    return false;
}
