#include "runtime/backend/bridge.h"

#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/text.h"

#define PREFIX "dsb"
#define PREFIX_BYTES (sizeof(PREFIX) - 1)
#define TAG_DIGITS (BRIDGE_TAG_BYTES - 1)

void bridge_tag(const char *instance, char tag[BRIDGE_TAG_BYTES])
{
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    crypto_sha256_hex(instance, strlen(instance), hash);
    memcpy(tag, hash, TAG_DIGITS);
    tag[TAG_DIGITS] = '\0';
}

void bridge_new_id(const char *instance, char id[BRIDGE_ID_BYTES])
{
    unsigned char bytes[(BRIDGE_ID_BYTES - BRIDGE_TAG_BYTES) / 2];

    bridge_tag(instance, id);
    crypto_random(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), id + TAG_DIGITS);
}

void bridge_network_name(const char *instance, const char *id, char network[PREALLOC_NAME_BYTES])
{
    (void)snprintf(network, PREALLOC_NAME_BYTES, "%.40s-net-%s", instance, id);
}

void bridge_name(const char *id, char name[BRIDGE_NAME_BYTES])
{
    (void)snprintf(name, BRIDGE_NAME_BYTES, PREFIX "%s", id);
}

bool bridge_find_network(const char *instance, const char *bridge,
                         char network[PREALLOC_NAME_BYTES])
{
    char tag[BRIDGE_TAG_BYTES] = "";

    bridge_tag(instance, tag);
    if (strlen(bridge) != PREFIX_BYTES + BRIDGE_ID_BYTES - 1 || !text_starts_with(bridge, PREFIX) ||
        !text_starts_with(bridge + PREFIX_BYTES, tag))
        return false;
    bridge_network_name(instance, bridge + PREFIX_BYTES, network);
    return true;
}

bool bridge_is_seen(const char *instance, const char *network)
{
    char name[BRIDGE_NAME_BYTES] = "";
    char again[PREALLOC_NAME_BYTES] = "";
    const char *id = strrchr(network, '-');

    if (id == NULL || strlen(id + 1) != BRIDGE_ID_BYTES - 1)
        return false;
    bridge_name(id + 1, name);
    return bridge_find_network(instance, name, again) && text_equal(network, again);
}
