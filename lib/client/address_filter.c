#include "client/address_filter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum { IPV6_BYTES = 16, IPV4_BYTES = 4 };

struct block {
    unsigned char prefix[IPV6_BYTES];
    unsigned n_bits;
};

static const struct block private_v4[] = {
    {{0}, 8},             /* this network */
    {{10}, 8},            /* private use */
    {{100, 64}, 10},      /* shared by carriers; also metadata services of some clouds */
    {{127}, 8},           /* loopback */
    {{169, 254}, 16},     /* link-local: metadata services */
    {{172, 16}, 12},      /* private use: container networks */
    {{192, 0, 0}, 24},    /* protocol assignments */
    {{192, 0, 2}, 24},    /* documentation */
    {{192, 88, 99}, 24},  /* 6to4 relays */
    {{192, 168}, 16},     /* private use */
    {{198, 18}, 15},      /* benchmarks */
    {{198, 51, 100}, 24}, /* documentation */
    {{203, 0, 113}, 24},  /* documentation */
    {{224}, 4},           /* multicast */
    {{240}, 4},           /* reserved, broadcast */
};

/* Metadata services of clouds; nothing else of use is in these blocks. Never allowed. */
static const struct block metadata_v4[] = {
    {{169, 254}, 16},           /* link-local: most clouds */
    {{100, 100, 100, 200}, 32}, /* Alibaba */
    {{168, 63, 129, 16}, 32},   /* Azure; else a public address */
    {{192, 0, 0, 192}, 32},     /* Oracle */
};
static const struct block metadata_v6[] = {
    {{0xfe, 0x80}, 10},                         /* link-local */
    {{0xfd, 0x00, 0x0e, 0xc2}, 32},             /* Amazon's own network */
    {{0xfd, 0x20, 0x00, 0xce}, 32},             /* Google's */
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48}, /* local-use NAT64: may map any IPv4 address */
};

/* 2000::/3, the only IPv6 range allocated for the public internet. */
static const struct block global_v6 = {{0x20}, 3};
static const struct block private_v6[] = {
    {{0x20, 0x01, 0x00}, 23},       /* protocol assignments: Teredo, ORCHID, benchmarks */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x3f, 0xff}, 20},             /* documentation */
};

/* IPv6 blocks that embed an IPv4 address, and its byte offset. */
static const struct {
    struct block block;
    size_t offset;
} embedding_v6[] = {
    {{{[10] = 0xff, [11] = 0xff}, 96}, 12}, /* v4-mapped */
    {{{0x00, 0x64, 0xff, 0x9b}, 96}, 12},   /* NAT64 */
    {{{0x20, 0x02}, 16}, 2},                /* 6to4 */
};

static bool is_in_block(const unsigned char *address, const struct block *block)
{
    size_t n_bytes = block->n_bits / 8;
    unsigned n_rest = block->n_bits % 8;
    unsigned mask = 0xffU & (0xffU << (8 - n_rest));

    if (memcmp(address, block->prefix, n_bytes) != 0)
        return false;
    return n_rest == 0 || ((address[n_bytes] ^ block->prefix[n_bytes]) & mask) == 0;
}

static bool is_in_any(const unsigned char *address, const struct block *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_in_block(address, &blocks[i]))
            return true;
    }
    return false;
}

static bool v4_is_public(const unsigned char *address)
{
    return !is_in_any(address, private_v4, ARRAY_SIZE(private_v4));
}

/* The IPv4 address embedded in an IPv6 address, or NULL. */
static const unsigned char *find_embedded(const unsigned char *address)
{
    for (size_t i = 0; i < ARRAY_SIZE(embedding_v6); i++) {
        if (is_in_block(address, &embedding_v6[i].block))
            return address + embedding_v6[i].offset;
    }
    return NULL;
}

static bool v6_is_public(const unsigned char *address)
{
    return is_in_block(address, &global_v6) &&
           !is_in_any(address, private_v6, ARRAY_SIZE(private_v6));
}

static bool v4_is_allowed(const unsigned char *address, bool allow_private)
{
    if (is_in_any(address, metadata_v4, ARRAY_SIZE(metadata_v4)))
        return false;
    return allow_private || v4_is_public(address);
}

static bool v6_is_allowed(const unsigned char *address, bool allow_private)
{
    const unsigned char *embedded = find_embedded(address);

    if (embedded != NULL)
        return v4_is_allowed(embedded, allow_private);
    if (is_in_any(address, metadata_v6, ARRAY_SIZE(metadata_v6)))
        return false;
    return allow_private || v6_is_public(address);
}

bool address_filter_allows_private(enum address_owner owner, bool are_users_trusted)
{
    switch (owner) {
    case ADDRESS_OF_DEFT:
    case ADDRESS_OF_ADMINISTRATOR:
        return true;
    case ADDRESS_OF_USER:
        return are_users_trusted;
    case ADDRESS_OF_SANDBOX:
    case ADDRESS_UNSTATED:
        break;
    }
    return false;
}

bool address_filter_allows(const struct sockaddr *address, bool allow_private)
{
    /* Copies, because a struct sockaddr may not be aligned for the specific types. */
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    unsigned char bytes[IPV4_BYTES];

    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof(v4));
        memcpy(bytes, &v4.sin_addr, sizeof(bytes));
        return v4_is_allowed(bytes, allow_private);
    }
    if (address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof(v6));
        return v6_is_allowed(v6.sin6_addr.s6_addr, allow_private);
    }
    return false;
}

bool address_filter_allows_text(const char *address, bool allow_private)
{
    unsigned char bytes[IPV6_BYTES];

    if (inet_pton(AF_INET, address, bytes) == 1)
        return v4_is_allowed(bytes, allow_private);
    if (inet_pton(AF_INET6, address, bytes) == 1)
        return v6_is_allowed(bytes, allow_private);
    return false;
}
