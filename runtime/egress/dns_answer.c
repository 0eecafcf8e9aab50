#include "runtime/egress/dns_answer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "runtime/core/service.h"
#include "runtime/egress/dns_message.h"
#include "runtime/egress/egress_denials.h"
#include "runtime/egress/egress_loader.h"
#include "runtime/egress/egress_state.h"

/* The time to live of replies. */
#define FRESH_MS 60000
/* Maximum of one sandbox, so that slow lookups do not block other sandboxes. */
#define AT_ONCE_OF_ONE 2

struct lookup_result {
    uint32_t items[DNS_ADDRESSES_MAX]; /* in host order */
    size_t n;
    bool has_denied; /* some must not be reached by sandboxes */
};

static bool may_ask(struct egress *egress, const struct dns_source *source, const char *name)
{
    bool may = false;

    lock_take(&egress->lock);
    may = name[0] != '\0' &&
          egress_policy_holds(egress_table_find(&egress->table, source->bridge), name);
    lock_release(&egress->lock);
    return may;
}

static bool take_slot(struct egress *egress, unsigned bridge_index, size_t *slot_out)
{
    size_t n = 0;
    size_t slot = EGRESS_LOOKUPS_MAX;

    lock_take(&egress->lock);
    for (size_t i = 0; i < EGRESS_LOOKUPS_MAX; i++) {
        if (egress->asking[i] == bridge_index)
            n++;
        if (egress->asking[i] == 0)
            slot = i;
    }
    if (n < AT_ONCE_OF_ONE && slot < EGRESS_LOOKUPS_MAX)
        egress->asking[slot] = bridge_index;
    lock_release(&egress->lock);
    *slot_out = slot;
    return n < AT_ONCE_OF_ONE && slot < EGRESS_LOOKUPS_MAX;
}

static void release_slot(struct egress *egress, size_t slot)
{
    lock_take(&egress->lock);
    egress->asking[slot] = 0;
    lock_release(&egress->lock);
}

static void add_address(struct lookup_result *addresses, uint32_t address)
{
    if (egress_is_denied(address)) {
        addresses->has_denied = true;
        return;
    }
    for (size_t i = 0; i < addresses->n; i++) {
        if (addresses->items[i] == address)
            return;
    }
    if (addresses->n < DNS_ADDRESSES_MAX)
        addresses->items[addresses->n++] = address;
}

static enum dns_result ask_system(const char *name, struct lookup_result *addresses)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(name, NULL, &wanted, &found);

    if (rc == EAI_NONAME || rc == EAI_NODATA)
        return DNS_UNKNOWN;
    if (rc != 0)
        return DNS_FAILED;
    for (const struct addrinfo *one = found; one != NULL; one = one->ai_next) {
        struct sockaddr_in address = {.sin_family = AF_INET};

        memcpy(&address, one->ai_addr, sizeof(address));
        add_address(addresses, ntohl(address.sin_addr.s_addr));
    }
    freeaddrinfo(found);
    return DNS_OK;
}

static enum dns_result look_up(struct egress *egress, unsigned bridge_index, const char *name,
                               struct lookup_result *addresses)
{
    enum dns_result verdict = DNS_FAILED;
    size_t slot = 0;

    if (!take_slot(egress, bridge_index, &slot))
        return DNS_FAILED;
    verdict = ask_system(name, addresses);
    release_slot(egress, slot);
    return verdict;
}

static void find_fresh(struct egress *egress, const char *name, struct lookup_result *addresses)
{
    lock_take(&egress->lock);
    addresses->n = egress_table_addresses(&egress->table, name, clock_monotonic_ms() - FRESH_MS,
                                          addresses->items, DNS_ADDRESSES_MAX);
    lock_release(&egress->lock);
}

/* True if some of the addresses have no rules yet. */
static bool learn_addresses(struct egress *egress, const char *name,
                            const struct lookup_result *addresses)
{
    bool has_new = false;

    lock_take(&egress->lock);
    for (size_t i = 0; i < addresses->n; i++)
        has_new =
            egress_table_learn(&egress->table, name, addresses->items[i], clock_monotonic_ms()) ||
            has_new;
    lock_release(&egress->lock);
    return has_new;
}

static void confirm_addresses(struct egress *egress, const char *name,
                              const struct lookup_result *addresses)
{
    lock_take(&egress->lock);
    for (size_t i = 0; i < addresses->n; i++)
        egress_table_confirm(&egress->table, name, addresses->items[i]);
    lock_release(&egress->lock);
}

/*
 * Rules before the reply, so that the sandbox can connect at once. Until they are loaded no other
 * query is answered from the table.
 */
static enum dns_result allow_addresses(struct egress *egress, const char *name,
                                       const struct lookup_result *addresses)
{
    struct error err = ERROR_INIT;

    if (!learn_addresses(egress, name, addresses))
        return DNS_OK;
    if (egress_load(egress, &err) < 0)
        return DNS_FAILED;
    confirm_addresses(egress, name, addresses);
    return DNS_OK;
}

static enum dns_result resolve(struct egress *egress, unsigned bridge_index, const char *name,
                               struct lookup_result *addresses)
{
    enum dns_result verdict = DNS_OK;

    find_fresh(egress, name, addresses);
    if (addresses->n > 0)
        return DNS_OK;
    verdict = look_up(egress, bridge_index, name, addresses);
    if (verdict == DNS_OK && addresses->n > 0)
        verdict = allow_addresses(egress, name, addresses);
    return verdict;
}

static size_t write_reply(const void *packet, const struct dns_query *query, enum dns_result result,
                          const struct lookup_result *addresses,
                          unsigned char reply[DNS_PACKET_BYTES])
{
    uint32_t in_network_order[DNS_ADDRESSES_MAX] = {0};

    for (size_t i = 0; i < addresses->n; i++)
        in_network_order[i] = htonl(addresses->items[i]);
    return dns_reply_write(packet, query, result, in_network_order, addresses->n, reply);
}

/* RFC 8482, section 4.1: a query for any type may be answered with one. */
static bool wants_addresses(const struct dns_query *query)
{
    return query->type == DNS_TYPE_A || query->type == DNS_TYPE_ANY;
}

size_t dns_answer(struct service *service, const struct dns_source *source, const void *packet,
                  size_t len, unsigned char reply[DNS_PACKET_BYTES])
{
    struct egress *egress = service->egress;
    struct lookup_result addresses = {.n = 0};
    struct dns_query query = {.id = 0};
    enum dns_result result = DNS_OK;

    if (!dns_query_parse(packet, len, &query))
        return 0;
    if (!may_ask(egress, source, query.name)) {
        egress_denials_note_name(service->denials, source->bridge_index,
                                 query.name[0] != '\0' ? query.name : "?");
        return write_reply(packet, &query, DNS_UNKNOWN, &addresses, reply);
    }
    if (wants_addresses(&query))
        result = resolve(egress, source->bridge_index, query.name, &addresses);
    if (addresses.has_denied && addresses.n == 0)
        egress_denials_note_name(service->denials, source->bridge_index, query.name);
    if (result != DNS_OK)
        addresses.n = 0;
    return write_reply(packet, &query, result, &addresses, reply);
}

bool dns_source_find(struct service *service, unsigned bridge_index, struct dns_source *source_out)
{
    char network[PREALLOC_NAME_BYTES] = "";

    *source_out = (struct dns_source){.bridge_index = bridge_index};
    return if_indextoname(bridge_index, source_out->bridge) != NULL &&
           bridge_find_network(service->egress->instance, source_out->bridge, network);
}
