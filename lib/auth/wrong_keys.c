#include "auth/wrong_keys.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"

enum {
    SETS = 1024,
    WAYS = 4,
    WINDOW_MS = 60000,
    COST_MS = WINDOW_MS / WRONG_KEYS_PER_MINUTE,
    ADDRESS_BYTES = 16,
    NETWORK_BYTES = 8,
};

/* An address and the time when all its keys are forgotten: each key adds its share of a minute. */
struct wrong_key_address {
    uint64_t network;
    int64_t forgotten_ms;
};

struct wrong_keys {
    uint64_t seed;
    struct lock lock; /* guards the addresses */
    struct wrong_key_address addresses[SETS][WAYS];
};

struct wrong_keys *wrong_keys_new(void)
{
    struct wrong_keys *keys = NEW(struct wrong_keys);

    crypto_random(&keys->seed, sizeof(keys->seed));
    lock_init(&keys->lock);
    return keys;
}

void wrong_keys_free(struct wrong_keys *keys)
{
    if (keys == NULL)
        return;
    lock_done(&keys->lock);
    mem_free(keys);
}

/*
 * The significant bits: all of an IPv4 address, the first half of an IPv6 one, which is one
 * household's.
 */
static uint64_t network_of(const char *address)
{
    static const unsigned char mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    unsigned char bytes[ADDRESS_BYTES] = {0};
    uint64_t network = 0;

    if (address == NULL)
        return 0;
    if (inet_pton(AF_INET6, address, bytes) == 1 && memcmp(bytes, mapped, sizeof(mapped)) != 0) {
        memcpy(&network, bytes, NETWORK_BYTES);
        return network;
    }
    if (inet_pton(AF_INET, address, bytes + sizeof(mapped)) == 1 ||
        memcmp(bytes, mapped, sizeof(mapped)) == 0) {
        memcpy(&network, bytes + sizeof(mapped), sizeof(uint32_t));
        return network;
    }
    return 0;
}

/* splitmix64: without the seed a sender cannot choose its set. */
static size_t set_of(const struct wrong_keys *keys, uint64_t network)
{
    uint64_t mixed = network ^ keys->seed;

    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ mixed >> 31) % SETS;
}

/* The network's entry; without one, the entry that expires first is reused. */
static struct wrong_key_address *find_locked(struct wrong_keys *keys, uint64_t network)
    REQUIRES(keys -> lock);

static struct wrong_key_address *find_locked(struct wrong_keys *keys, uint64_t network)
{
    struct wrong_key_address *set = keys->addresses[set_of(keys, network)];
    struct wrong_key_address *first = &set[0];

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].network == network && set[i].forgotten_ms > 0)
            return &set[i];
        if (set[i].forgotten_ms < first->forgotten_ms)
            first = &set[i];
    }
    *first = (struct wrong_key_address){.network = network};
    return first;
}

bool wrong_keys_count(struct wrong_keys *keys, const char *address)
{
    uint64_t network = network_of(address);
    int64_t now_ms = clock_monotonic_ms();
    struct wrong_key_address *sender = NULL;
    bool may = false;

    lock_take(&keys->lock);
    sender = find_locked(keys, network);
    if (sender->forgotten_ms < now_ms)
        sender->forgotten_ms = now_ms;
    may = sender->forgotten_ms + COST_MS <= now_ms + WINDOW_MS;
    if (may)
        sender->forgotten_ms += COST_MS;
    lock_release(&keys->lock);
    return may;
}

int wrong_keys_refuse(struct wrong_keys *keys, const char *address, struct error *err)
{
    if (keys == NULL || err->code != ERROR_UNAUTHENTICATED || wrong_keys_count(keys, address))
        return -1;
    return error_set(err, ERROR_RATE_LIMITED,
                     "Too many wrong keys came from this address; try again in a minute");
}
