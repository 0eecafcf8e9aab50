#include "runtime/egress/egress.h"

#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/core/service.h"
#include "runtime/egress/egress_parts.h"
#include "runtime/egress/iptables.h"
#include "runtime/egress/refusals.h"
#include "runtime/egress/rules_log.h"
#include "store/runtime/egress_store.h"
#include "store/runtime/runtime_store.h"

static const struct iptables_chain chains[] = {
    {"filter", "DOCKER-USER", "DEFT-GO-", NULL},
    {"filter", "INPUT", "DEFT-ASK-", "DEFT-IN"},
    {"nat", "PREROUTING", EGRESS_DNS_CHAIN, NULL},
};

/* --- make and free --- */

/* Whether a policy can be enforced: by packet filter rules; "none" also by having no network. */
static int check_can_hold(const struct egress *egress, enum egress_mode mode, struct error *err)
{
    if (mode == EGRESS_INTERNET || egress->has_rules ||
        (mode == EGRESS_NONE && egress->has_no_network))
        return 0;
    if (egress->has_processes)
        return error_set(err, ERROR_INVALID,
                         "sandboxes are processes of the host here (DEFT_RUNTIME=process): %s",
                         mode == EGRESS_NONE ? "they have its network (DEFT_PROCESS_NETWORK=host)"
                                             : "a list of places needs a container engine");
    return error_set(err, ERROR_INVALID, "needs DEFT_NETWORK_RULES=1");
}

static int read_usual(struct egress *egress, const struct runtime_settings *settings,
                      struct error *err)
{
    size_t usual = 0;

    if (egress_book_policy(&egress->book, settings->egress, settings->egress_allow, &usual, err) <
        0)
        return error_wrap(err, "OH_SANDBOX_EGRESS, OH_SANDBOX_EGRESS_ALLOW");
    if (check_can_hold(egress, egress->book.policies[usual].policy.mode, err) < 0)
        return error_wrap(err, "OH_SANDBOX_EGRESS");
    return 0;
}

static int watch_stop(struct egress *egress, struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = 0}};

    if (epoll_ctl(egress->ears_fd, EPOLL_CTL_ADD, egress->stop_fd, &event) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
    return 0;
}

int egress_new(const struct runtime_settings *settings, struct egress **egress_out,
               struct error *err)
{
    struct egress *egress = NEW(struct egress);

    egress->instance = settings->docker.instance;
    egress->has_rules = settings->has_network_rules != 0;
    egress->has_processes = runtime_has_processes(settings);
    egress->has_no_network = egress->has_processes && text_equal(settings->process.network, "none");
    egress->resolver_port = (uint16_t)settings->resolver_port;
    egress->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    egress->ears_fd = epoll_create1(EPOLL_CLOEXEC);
    lock_init(&egress->lock);
    condition_init(&egress->changed);
    bridge_tag(egress->instance, egress->tag);
    if (watch_stop(egress, err) < 0 || read_usual(egress, settings, err) < 0) {
        egress_free(egress);
        return -1;
    }
    *egress_out = egress;
    return 0;
}

void egress_free(struct egress *egress)
{
    if (egress == NULL)
        return;
    for (size_t i = 0; i < egress->n_ears; i++)
        fd_close(&egress->ears[i].fd);
    mem_free(egress->ears);
    fd_close(&egress->ears_fd);
    fd_close(&egress->stop_fd);
    egress_book_done(&egress->book);
    condition_done(&egress->changed);
    lock_done(&egress->lock);
    mem_free(egress);
}

void egress_stop(struct egress *egress)
{
    const uint64_t one = 1;
    struct error ignored = ERROR_INIT;

    lock_take(&egress->lock);
    egress->is_stopping = true;
    condition_wake_all(&egress->changed);
    lock_release(&egress->lock);
    error_ignore(fd_write_all(egress->stop_fd, &one, sizeof(one), &ignored), "it was told already");
}

/* --- rules --- */

static void remove_rules(const char *tag)
{
    for (size_t i = 0; i < ARRAY_SIZE(chains); i++)
        iptables_cut(&chains[i], tag);
    iptables_sweep("filter", "DEFT-P", tag);
    iptables_sweep("nat", EGRESS_NAMES_CHAIN, tag);
}

void egress_remove_rules(const char *instance)
{
    char tag[BRIDGE_TAG_BYTES] = "";

    bridge_tag(instance, tag);
    remove_rules(tag);
    rules_log_remove(tag);
}

static int load_rules(struct egress *egress, const char *text, struct error *err)
{
    if (iptables_load(text, err) < 0)
        return error_wrap(err, "rules of where sandboxes may go");
    for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
        if (iptables_jump(&chains[i], egress->tag, err) < 0)
            return error_wrap(err, "rules of where sandboxes may go");
    }
    return 0;
}

/* Waits for a request to load the rules; false on stop. */
static bool next_load(struct egress *egress, const struct egress_rules *rules, struct strbuf *text,
                      uint64_t *turn_out)
{
    bool goes_on = false;

    lock_take(&egress->lock);
    while (egress->wanted == egress->done && !egress->is_stopping)
        condition_wait(&egress->changed, &egress->lock);
    goes_on = !egress->is_stopping;
    *turn_out = egress->wanted;
    egress_book_append_rules(&egress->book, rules, text);
    lock_release(&egress->lock);
    return goes_on;
}

static void end_load(struct egress *egress, uint64_t turn, const struct error *state)
{
    lock_take(&egress->lock);
    egress->done = turn;
    egress->state = *state;
    condition_wake_all(&egress->changed);
    lock_release(&egress->lock);
}

/* One load may serve several requests. */
void egress_run_loader(struct service *service)
{
    struct egress *egress = service->egress;
    struct egress_rules rules = {.tag = egress->tag,
                                 .resolver_port = egress->resolver_port,
                                 .dns_port = EGRESS_DNS_PORT(egress->resolver_port),
                                 .group = refusals_group(service->refusals)};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    uint64_t turn = 0;

    while (next_load(egress, &rules, &text, &turn)) {
        struct error state = ERROR_INIT;

        if (egress->has_rules && load_rules(egress, text.text, &state) < 0)
            log_error("egress.not_loaded", LOG_ERROR(&state));
        end_load(egress, turn, &state);
        strbuf_reset(&text);
    }
}

int egress_load(struct egress *egress, struct error *err)
{
    struct error state = ERROR_INIT;
    uint64_t turn = 0;

    lock_take(&egress->lock);
    turn = ++egress->wanted;
    condition_wake_all(&egress->changed);
    while (egress->done < turn && !egress->is_stopping)
        condition_wait(&egress->changed, &egress->lock);
    if (egress->done < turn)
        error_set(&state, ERROR_UNAVAILABLE, "the service ends");
    else
        state = egress->state;
    lock_release(&egress->lock);
    if (state.code == ERROR_NONE)
        return 0;
    *err = state;
    return -1;
}

/* --- assignments --- */

static int find_policy(struct egress *egress, const struct egress_choice *choice,
                       size_t *policy_out, bool *is_restricted_out, struct error *err)
{
    size_t policy = 0;
    enum egress_mode mode = EGRESS_INTERNET;
    int rc = 0;

    lock_take(&egress->lock);
    if (choice->mode != NULL)
        rc = egress_book_policy(&egress->book, choice->mode, choice->list, &policy, err);
    if (rc == 0)
        mode = egress->book.policies[policy].policy.mode;
    lock_release(&egress->lock);
    if (rc < 0)
        return error_wrap(err, "where the sandbox may go, as set for its owner");
    if (check_can_hold(egress, mode, err) < 0) {
        err->code = ERROR_UNAVAILABLE;
        return error_wrap(err, "where the sandbox may go is restricted");
    }
    *policy_out = policy;
    *is_restricted_out = egress->has_rules && mode != EGRESS_INTERNET;
    return 0;
}

int egress_check(struct service *service, const struct uuid *tenant_id, const struct uuid *owner_id,
                 struct error *err)
{
    CLEANUP(egress_choice_done) struct egress_choice choice = EGRESS_CHOICE_INIT;
    bool is_restricted = false;
    size_t policy = 0;

    if (egress_store_find(service->db, tenant_id, owner_id, &choice, err) < 0)
        return -1;
    return find_policy(service->egress, &choice, &policy, &is_restricted, err);
}

/* *is_news_out: set if the assignment changed. Networks of older versions cannot be restricted. */
static int take_seat(struct egress *egress, const char *network, const struct egress_choice *choice,
                     bool *is_news_out, struct error *err)
{
    char bridge[BRIDGE_NAME_BYTES] = "";
    const char *id = strrchr(network, '-');
    bool is_restricted = false;
    size_t policy = 0;

    if (find_policy(egress, choice, &policy, &is_restricted, err) < 0)
        return -1;
    if (!bridge_is_seen(egress->instance, network) || id == NULL) {
        if (is_restricted)
            return error_set(err, ERROR_UNAVAILABLE,
                             "the sandbox's network is an older deft's: it must start anew");
        return 0;
    }
    bridge_name(id + 1, bridge);
    if (is_restricted && egress_listen(egress, bridge, err) < 0)
        return -1;
    lock_take(&egress->lock);
    *is_news_out = egress_book_seat(&egress->book, bridge, policy) || *is_news_out;
    lock_release(&egress->lock);
    return 0;
}

int egress_seat(struct service *service, const struct runtime *runtime, const char *network,
                struct error *err)
{
    CLEANUP(egress_choice_done) struct egress_choice choice = EGRESS_CHOICE_INIT;
    bool is_news = false;

    if (egress_store_find(service->db, &runtime->tenant_id, &runtime->owner_id, &choice, err) < 0 ||
        take_seat(service->egress, network, &choice, &is_news, err) < 0)
        return -1;
    return is_news ? egress_load(service->egress, err) : 0;
}

static void leave_gone(struct egress *egress)
{
    lock_take(&egress->lock);
    for (size_t i = egress->book.n_seats; i > 0; i--) {
        if (if_nametoindex(egress->book.seats[i - 1].bridge) == 0)
            egress_book_unseat(&egress->book, i - 1);
    }
    lock_release(&egress->lock);
}

int egress_seat_all(struct service *service, struct error *err)
{
    CLEANUP(egress_seats_done) struct egress_seats seats = EGRESS_SEATS_INIT;
    static const char nowhere[] = "none";
    bool is_news = false;

    if (egress_store_list(service->db, &seats, err) < 0)
        return -1;
    leave_gone(service->egress);
    egress_unlisten_gone(service->egress);
    for (size_t i = 0; i < seats.n; i++) {
        struct error why = ERROR_INIT;
        const struct egress_choice none = {(char *)(uintptr_t)nowhere, (char *)(uintptr_t)""};

        if (take_seat(service->egress, seats.items[i].network, &seats.items[i].choice, &is_news,
                      &why) == 0)
            continue;
        /* With an unreadable policy a sandbox may reach nothing. */
        log_error("egress.refused", LOG_STR("network", seats.items[i].network), LOG_ERROR(&why));
        error_ignore(take_seat(service->egress, seats.items[i].network, &none, &is_news, &why),
                     "it is said already");
    }
    return egress_load(service->egress, err);
}
