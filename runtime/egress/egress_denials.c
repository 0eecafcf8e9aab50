#include "runtime/egress/egress_denials.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/backend/bridge.h"
#include "runtime/core/service.h"
#include "runtime/egress/denial_counter.h"
#include "runtime/egress/dns_denial_counter.h"
#include "runtime/egress/firewall_log.h"
#include "runtime/egress/nflog.h"
#include "runtime/egress/nflog_parse.h"
#include "store/runtime/refusal_store.h"
#include "store/runtime/runtime_store.h"

/* Lower groups are commonly used by other programs. */
#define GROUP_FIRST 2048
#define GROUP_RANGE 60000
#define FLUSH_MS 1000
/* Delay before refusals that could not be stored are stored again. */
#define FLUSH_AGAIN_MS 5000
#define PROTOCOL_BYTES 16
#define HEX 16

struct egress_denials {
    const char *instance;
    char tag[BRIDGE_TAG_BYTES];
    uint16_t group;
    int fd;      /* -1: nothing is received */
    int wake_fd; /* wakes the thread: stop, or a name was counted */
    unsigned char *buffer;
    bool is_due; /* used by the thread only: entries wait to be stored */
    int64_t next_flush_ms;
    struct lock lock; /* guards all below */
    bool is_stopping;
    struct denial_counter counter;
    struct dns_denial_counter names;
    struct error state; /* ERROR_NONE: refusals are received */
};

static void set_state(struct egress_denials *denials, const struct error *state)
{
    bool is_changed = false;

    lock_take(&denials->lock);
    is_changed =
        denials->state.code != state->code || !text_equal(denials->state.message, state->message);
    denials->state = *state;
    lock_release(&denials->lock);
    if (is_changed && state->code != ERROR_NONE)
        log_warning("refusals.logging_unavailable", LOG_ERROR(state));
}

static void open_log(struct egress_denials *denials, const struct runtime_settings *settings)
{
    uint16_t first = (uint16_t)(GROUP_FIRST + strtoul(denials->tag, NULL, HEX) % GROUP_RANGE);
    struct error why = ERROR_INIT;

    if (settings->has_network_rules == 0)
        error_set(&why, ERROR_UNAVAILABLE, "there are no packet filter rules");
    else if (nflog_open(first, &denials->fd, &denials->group, &why) == 0)
        error_set(&why, ERROR_UNAVAILABLE, "the logging rules are not loaded yet");
    else
        log_warning("refusals.logging_unavailable", LOG_ERROR(&why));
    denials->state = why;
}

struct egress_denials *egress_denials_new(const struct runtime_settings *settings)
{
    struct egress_denials *denials = NEW(struct egress_denials);

    denials->instance = settings->docker.instance;
    denials->fd = -1;
    denials->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    denials->buffer = mem_alloc(NFLOG_READ_BYTES);
    denials->counter = (struct denial_counter)DENIAL_COUNTER_INIT;
    denials->names = (struct dns_denial_counter)DNS_DENIAL_COUNTER_INIT;
    lock_init(&denials->lock);
    bridge_tag(denials->instance, denials->tag);
    open_log(denials, settings);
    return denials;
}

void egress_denials_free(struct egress_denials *denials)
{
    if (denials == NULL)
        return;
    fd_close(&denials->fd);
    fd_close(&denials->wake_fd);
    denial_counter_done(&denials->counter);
    dns_denial_counter_done(&denials->names);
    lock_done(&denials->lock);
    mem_free(denials->buffer);
    mem_free(denials);
}

static void wake_thread(struct egress_denials *denials)
{
    struct error ignored = ERROR_INIT;
    const uint64_t one = 1;

    error_ignore(fd_write_all(denials->wake_fd, &one, sizeof(one), &ignored),
                 "the thread was already notified");
}

void egress_denials_stop(struct egress_denials *denials)
{
    lock_take(&denials->lock);
    denials->is_stopping = true;
    lock_release(&denials->lock);
    wake_thread(denials);
}

int egress_denials_group(const struct egress_denials *denials)
{
    return denials->fd >= 0 ? denials->group : -1;
}

void egress_denials_load_rules(struct egress_denials *denials)
{
    const struct firewall_log log = {.tag = denials->tag, .group = denials->group};
    struct error state = ERROR_INIT;

    if (denials->fd < 0)
        return;
    if (firewall_log_apply(&log, &state) < 0)
        error_ignore(error_wrap(&state, "the rules that log refused packets"),
                     "the message is kept");
    set_state(denials, &state);
}

/* --- counting --- */

void egress_denials_note_packet(struct egress_denials *denials, const struct denied_packet *packet)
{
    lock_take(&denials->lock);
    denial_counter_note(&denials->counter, packet, clock_utc_us());
    lock_release(&denials->lock);
}

static void count_packet(void *context, const struct denied_packet *packet)
{
    egress_denials_note_packet(context, packet);
}

void egress_denials_note_name(struct egress_denials *denials, unsigned bridge_index,
                              const char *name)
{
    bool is_first = false;

    lock_take(&denials->lock);
    is_first = denials->names.n == 0;
    dns_denial_counter_note(&denials->names, bridge_index, name, clock_utc_us());
    lock_release(&denials->lock);
    if (is_first)
        wake_thread(denials);
}

static void set_due(struct egress_denials *denials)
{
    if (!denials->is_due)
        denials->next_flush_ms = clock_monotonic_ms() + FLUSH_MS;
    denials->is_due = true;
}

/* False on stop; otherwise schedules storing if a name was counted. */
static bool answer_wake(struct egress_denials *denials)
{
    uint64_t ignored = 0;
    bool is_stopping = false;

    if (read(denials->wake_fd, &ignored, sizeof(ignored)) > 0)
        set_due(denials);
    lock_take(&denials->lock);
    is_stopping = denials->is_stopping;
    lock_release(&denials->lock);
    return !is_stopping;
}

static void listen_once(struct egress_denials *denials)
{
    size_t len = nflog_read(denials->fd, denials->buffer, NFLOG_READ_BYTES);

    if (len == 0)
        return;
    nflog_parse(denials->buffer, len, count_packet, denials);
    set_due(denials);
}

/* --- storing --- */

/* Texts of an entry while it is stored. */
struct words {
    char network[PREALLOC_NAME_BYTES];
    char host[INET_ADDRSTRLEN];
    char protocol[PROTOCOL_BYTES];
};

static void name_protocol(uint8_t protocol, char text[PROTOCOL_BYTES])
{
    if (protocol == IPPROTO_TCP)
        (void)snprintf(text, PROTOCOL_BYTES, "tcp");
    else if (protocol == IPPROTO_UDP)
        (void)snprintf(text, PROTOCOL_BYTES, "udp");
    else if (protocol == IPPROTO_ICMP)
        (void)snprintf(text, PROTOCOL_BYTES, "icmp");
    else
        (void)snprintf(text, PROTOCOL_BYTES, "%d", (int)protocol);
}

static bool denial_to_row(const struct egress_denials *denials, const struct denial *entry,
                          struct words *words, struct refusal *refusal_out)
{
    const struct in_addr address = {.s_addr = entry->packet.address_be};
    char bridge[IF_NAMESIZE] = "";

    /* The sandbox of a removed bridge is gone. */
    if (if_indextoname(entry->packet.bridge_index, bridge) == NULL ||
        !bridge_find_network(denials->instance, bridge, words->network) ||
        inet_ntop(AF_INET, &address, words->host, sizeof(words->host)) == NULL)
        return false;
    name_protocol(entry->packet.protocol, words->protocol);
    *refusal_out = (struct refusal){.network = words->network,
                                    .host = words->host,
                                    .protocol = words->protocol,
                                    .reason = denial_reason_to_string(entry->packet.reason),
                                    .port = entry->packet.port,
                                    .count = entry->count,
                                    .first_us = entry->first_us,
                                    .last_us = entry->last_us};
    return true;
}

static bool describe_name(const struct egress_denials *denials, const struct dns_denial *entry,
                          struct words *words, struct refusal *refusal_out)
{
    char bridge[IF_NAMESIZE] = "";

    if (if_indextoname(entry->bridge_index, bridge) == NULL ||
        !bridge_find_network(denials->instance, bridge, words->network))
        return false;
    *refusal_out = (struct refusal){.network = words->network,
                                    .host = entry->name,
                                    .protocol = "dns",
                                    .reason = denial_reason_to_string(DENIED_POLICY),
                                    .count = entry->count,
                                    .first_us = entry->first_us,
                                    .last_us = entry->last_us};
    return true;
}

static int store_denials(struct service *service, const struct denial_counter *counter,
                         const struct dns_denial_counter *names, struct error *err)
{
    const struct egress_denials *denials = service->denials;
    struct words *words = mem_alloc_array(counter->n + names->n, sizeof(*words));
    struct refusal *list = mem_alloc_array(counter->n + names->n, sizeof(*list));
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < counter->n; i++) {
        if (denial_to_row(denials, &counter->items[i], &words[n], &list[n]))
            n++;
    }
    for (size_t i = 0; i < names->n; i++) {
        if (describe_name(denials, &names->items[i], &words[n], &list[n]))
            n++;
    }
    if (n > 0)
        rc = refusal_store_add(service->db, list, n, err);
    mem_free(list);
    mem_free(words);
    return rc;
}

int egress_denials_flush(struct service *service, struct error *err)
{
    struct egress_denials *denials = service->denials;
    CLEANUP(denial_counter_done) struct denial_counter counter = DENIAL_COUNTER_INIT;
    CLEANUP(dns_denial_counter_done) struct dns_denial_counter names = DNS_DENIAL_COUNTER_INIT;

    lock_take(&denials->lock);
    counter = denials->counter;
    denials->counter = (struct denial_counter)DENIAL_COUNTER_INIT;
    names = denials->names;
    denials->names = (struct dns_denial_counter)DNS_DENIAL_COUNTER_INIT;
    lock_release(&denials->lock);
    if (counter.n + names.n == 0)
        return 0;
    if (counter.n_lost > 0)
        log_info("refusals.dropped", LOG_INT("count", counter.n_lost));
    counter.n_lost = 0;
    if (store_denials(service, &counter, &names, err) == 0)
        return 0;
    lock_take(&denials->lock);
    denial_counter_merge(&denials->counter, &counter);
    dns_denial_counter_merge(&denials->names, &names);
    lock_release(&denials->lock);
    return -1;
}

static void flush_when_due(struct service *service)
{
    struct egress_denials *denials = service->denials;
    struct error err = ERROR_INIT;

    if (!denials->is_due || clock_monotonic_ms() < denials->next_flush_ms)
        return;
    if (egress_denials_flush(service, &err) == 0) {
        denials->is_due = false;
        return;
    }
    log_warning("refusals.store_failed", LOG_ERROR(&err));
    denials->next_flush_ms = clock_monotonic_ms() + FLUSH_AGAIN_MS;
}

static int wait_ms(const struct egress_denials *denials)
{
    int64_t left_ms = denials->next_flush_ms - clock_monotonic_ms();

    if (!denials->is_due)
        return -1;
    return left_ms > 0 ? (int)left_ms : 0;
}

void egress_denials_run(struct service *service)
{
    struct egress_denials *denials = service->denials;
    struct error err = ERROR_INIT;
    struct pollfd polled[2] = {{.fd = denials->wake_fd, .events = POLLIN},
                               {.fd = denials->fd, .events = POLLIN}};

    while (answer_wake(denials)) {
        if (poll(polled, ARRAY_SIZE(polled), wait_ms(denials)) < 0 && errno != EINTR) {
            log_error("refusals.poll_failed", LOG_STR("reason", "poll failed"));
            return;
        }
        if (polled[1].revents != 0)
            listen_once(denials);
        flush_when_due(service);
    }
    error_ignore(egress_denials_flush(service, &err),
                 "the service ends; refusals that cannot be stored are lost");
}

int egress_denials_check(struct egress_denials *denials, const struct runtime *runtime,
                         struct error *err)
{
    struct error state = ERROR_INIT;

    lock_take(&denials->lock);
    state = denials->state;
    lock_release(&denials->lock);
    if (state.code != ERROR_NONE) {
        *err = state;
        return -1;
    }
    if (runtime->network != NULL && !bridge_is_seen(denials->instance, runtime->network))
        return error_set(err, ERROR_UNAVAILABLE,
                         "the sandbox was started by an older version: refusals are logged after "
                         "its next start");
    return 0;
}
