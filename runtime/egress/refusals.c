#include "runtime/egress/refusals.h"

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
#include "runtime/egress/name_tally.h"
#include "runtime/egress/nflog.h"
#include "runtime/egress/rules_log.h"
#include "runtime/egress/tally.h"
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

struct refusals {
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
    struct tally tally;
    struct name_tally names;
    struct error state; /* ERROR_NONE: refusals are received */
};

static void set_state(struct refusals *refusals, const struct error *state)
{
    bool is_news = false;

    lock_take(&refusals->lock);
    is_news =
        refusals->state.code != state->code || !text_equal(refusals->state.message, state->message);
    refusals->state = *state;
    lock_release(&refusals->lock);
    if (is_news && state->code != ERROR_NONE)
        log_warning("refusals.not_logged", LOG_ERROR(state));
}

static void open_log(struct refusals *refusals, const struct runtime_settings *settings)
{
    uint16_t first = (uint16_t)(GROUP_FIRST + strtoul(refusals->tag, NULL, HEX) % GROUP_RANGE);
    struct error why = ERROR_INIT;

    if (settings->has_network_rules == 0)
        error_set(&why, ERROR_UNAVAILABLE, "there are no packet filter rules that refuse anything");
    else if (nflog_open(first, &refusals->fd, &refusals->group, &why) == 0)
        error_set(&why, ERROR_UNAVAILABLE, "the rules that tell are not loaded yet");
    else
        log_warning("refusals.not_logged", LOG_ERROR(&why));
    refusals->state = why;
}

struct refusals *refusals_new(const struct runtime_settings *settings)
{
    struct refusals *refusals = NEW(struct refusals);

    refusals->instance = settings->docker.instance;
    refusals->fd = -1;
    refusals->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    refusals->buffer = mem_alloc(NFLOG_READ_BYTES);
    refusals->tally = (struct tally)TALLY_INIT;
    refusals->names = (struct name_tally)NAME_TALLY_INIT;
    lock_init(&refusals->lock);
    bridge_tag(refusals->instance, refusals->tag);
    open_log(refusals, settings);
    return refusals;
}

void refusals_free(struct refusals *refusals)
{
    if (refusals == NULL)
        return;
    fd_close(&refusals->fd);
    fd_close(&refusals->wake_fd);
    tally_done(&refusals->tally);
    name_tally_done(&refusals->names);
    lock_done(&refusals->lock);
    mem_free(refusals->buffer);
    mem_free(refusals);
}

static void wake(struct refusals *refusals)
{
    struct error ignored = ERROR_INIT;
    const uint64_t one = 1;

    error_ignore(fd_write_all(refusals->wake_fd, &one, sizeof(one), &ignored),
                 "it was told already");
}

void refusals_stop(struct refusals *refusals)
{
    lock_take(&refusals->lock);
    refusals->is_stopping = true;
    lock_release(&refusals->lock);
    wake(refusals);
}

int refusals_group(const struct refusals *refusals)
{
    return refusals->fd >= 0 ? refusals->group : -1;
}

void refusals_load_rules(struct refusals *refusals)
{
    const struct rules_log log = {.tag = refusals->tag, .group = refusals->group};
    struct error state = ERROR_INIT;

    if (refusals->fd < 0)
        return;
    if (rules_log_apply(&log, &state) < 0)
        error_ignore(error_wrap(&state, "the rules that tell what is refused"), "kept as words");
    set_state(refusals, &state);
}

/* --- counting --- */

static void note(void *context, const struct refused_packet *packet)
{
    struct refusals *refusals = context;

    lock_take(&refusals->lock);
    tally_note(&refusals->tally, packet, clock_utc_us());
    lock_release(&refusals->lock);
}

void refusals_note_name(struct refusals *refusals, unsigned bridge_index, const char *name)
{
    bool is_first = false;

    lock_take(&refusals->lock);
    is_first = refusals->names.n == 0;
    name_tally_note(&refusals->names, bridge_index, name, clock_utc_us());
    lock_release(&refusals->lock);
    if (is_first)
        wake(refusals);
}

static void set_due(struct refusals *refusals)
{
    if (!refusals->is_due)
        refusals->next_flush_ms = clock_monotonic_ms() + FLUSH_MS;
    refusals->is_due = true;
}

/* False on stop; otherwise schedules storing if a name was counted. */
static bool answer_wake(struct refusals *refusals)
{
    uint64_t ignored = 0;
    bool is_stopping = false;

    if (read(refusals->wake_fd, &ignored, sizeof(ignored)) > 0)
        set_due(refusals);
    lock_take(&refusals->lock);
    is_stopping = refusals->is_stopping;
    lock_release(&refusals->lock);
    return !is_stopping;
}

static void listen_once(struct refusals *refusals)
{
    size_t len = nflog_read(refusals->fd, refusals->buffer, NFLOG_READ_BYTES);

    if (len == 0)
        return;
    nflog_parse(refusals->buffer, len, note, refusals);
    set_due(refusals);
}

/* --- storing --- */

/* Texts of an entry while it is stored. */
struct words {
    char network[SPARE_NAME_BYTES];
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

static bool describe(const struct refusals *refusals, const struct tally_entry *entry,
                     struct words *words, struct refusal *refusal_out)
{
    const struct in_addr address = {.s_addr = entry->packet.address_be};
    char bridge[IF_NAMESIZE] = "";

    /* The sandbox of a removed bridge is gone. */
    if (if_indextoname(entry->packet.bridge_index, bridge) == NULL ||
        !bridge_find_network(refusals->instance, bridge, words->network) ||
        inet_ntop(AF_INET, &address, words->host, sizeof(words->host)) == NULL)
        return false;
    name_protocol(entry->packet.protocol, words->protocol);
    *refusal_out = (struct refusal){.network = words->network,
                                    .host = words->host,
                                    .protocol = words->protocol,
                                    .reason = refusal_reason_to_string(entry->packet.reason),
                                    .port = entry->packet.port,
                                    .count = entry->count,
                                    .first_us = entry->first_us,
                                    .last_us = entry->last_us};
    return true;
}

static bool describe_name(const struct refusals *refusals, const struct name_entry *entry,
                          struct words *words, struct refusal *refusal_out)
{
    char bridge[IF_NAMESIZE] = "";

    if (if_indextoname(entry->bridge_index, bridge) == NULL ||
        !bridge_find_network(refusals->instance, bridge, words->network))
        return false;
    *refusal_out = (struct refusal){.network = words->network,
                                    .host = entry->name,
                                    .protocol = "dns",
                                    .reason = refusal_reason_to_string(REFUSED_POLICY),
                                    .count = entry->count,
                                    .first_us = entry->first_us,
                                    .last_us = entry->last_us};
    return true;
}

static int store(struct service *service, const struct tally *tally, const struct name_tally *names,
                 struct error *err)
{
    const struct refusals *refusals = service->refusals;
    struct words *words = mem_alloc_array(tally->n + names->n, sizeof(*words));
    struct refusal *list = mem_alloc_array(tally->n + names->n, sizeof(*list));
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < tally->n; i++) {
        if (describe(refusals, &tally->items[i], &words[n], &list[n]))
            n++;
    }
    for (size_t i = 0; i < names->n; i++) {
        if (describe_name(refusals, &names->items[i], &words[n], &list[n]))
            n++;
    }
    if (n > 0)
        rc = refusal_store_add(service->db, list, n, err);
    mem_free(list);
    mem_free(words);
    return rc;
}

int refusals_flush(struct service *service, struct error *err)
{
    struct refusals *refusals = service->refusals;
    CLEANUP(tally_done) struct tally tally = TALLY_INIT;
    CLEANUP(name_tally_done) struct name_tally names = NAME_TALLY_INIT;

    lock_take(&refusals->lock);
    tally = refusals->tally;
    refusals->tally = (struct tally)TALLY_INIT;
    names = refusals->names;
    refusals->names = (struct name_tally)NAME_TALLY_INIT;
    lock_release(&refusals->lock);
    if (tally.n + names.n == 0)
        return 0;
    if (tally.n_lost > 0)
        log_info("refusals.lost", LOG_INT("count", tally.n_lost));
    tally.n_lost = 0;
    if (store(service, &tally, &names, err) == 0)
        return 0;
    lock_take(&refusals->lock);
    tally_merge(&refusals->tally, &tally);
    name_tally_merge(&refusals->names, &names);
    lock_release(&refusals->lock);
    return -1;
}

static void flush_when_due(struct service *service)
{
    struct refusals *refusals = service->refusals;
    struct error err = ERROR_INIT;

    if (!refusals->is_due || clock_monotonic_ms() < refusals->next_flush_ms)
        return;
    if (refusals_flush(service, &err) == 0) {
        refusals->is_due = false;
        return;
    }
    log_warning("refusals.not_stored", LOG_ERROR(&err));
    refusals->next_flush_ms = clock_monotonic_ms() + FLUSH_AGAIN_MS;
}

static int wait_ms(const struct refusals *refusals)
{
    int64_t left_ms = refusals->next_flush_ms - clock_monotonic_ms();

    if (!refusals->is_due)
        return -1;
    return left_ms > 0 ? (int)left_ms : 0;
}

void refusals_run(struct service *service)
{
    struct refusals *refusals = service->refusals;
    struct error err = ERROR_INIT;
    struct pollfd polled[2] = {{.fd = refusals->wake_fd, .events = POLLIN},
                               {.fd = refusals->fd, .events = POLLIN}};

    while (answer_wake(refusals)) {
        if (poll(polled, ARRAY_SIZE(polled), wait_ms(refusals)) < 0 && errno != EINTR) {
            log_error("refusals.not_heard", LOG_STR("reason", "poll failed"));
            return;
        }
        if (polled[1].revents != 0)
            listen_once(refusals);
        flush_when_due(service);
    }
    error_ignore(refusals_flush(service, &err), "what the database does not take now is lost");
}

int refusals_check(struct refusals *refusals, const struct runtime *runtime, struct error *err)
{
    struct error state = ERROR_INIT;

    lock_take(&refusals->lock);
    state = refusals->state;
    lock_release(&refusals->lock);
    if (state.code != ERROR_NONE) {
        *err = state;
        return -1;
    }
    if (runtime->network != NULL && !bridge_is_seen(refusals->instance, runtime->network))
        return error_set(err, ERROR_UNAVAILABLE,
                         "the sandbox was started by an older deft: its next start changes that");
    return 0;
}
