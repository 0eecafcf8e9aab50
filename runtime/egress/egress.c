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
#include "runtime/egress/dns_sockets.h"
#include "runtime/egress/egress_loader.h"
#include "runtime/egress/egress_state.h"
#include "store/runtime/egress_store.h"
#include "store/runtime/runtime_store.h"

/* Of a list of destinations, to a sandbox. */
enum { TOLD_MAX_BYTES = 800 };

/* --- make and free --- */

/* Whether a policy can be enforced: by packet filter rules; "none" also by having no network. */
static int check_can_hold(const struct egress *egress, enum egress_mode mode, struct error *err)
{
    if (mode == EGRESS_INTERNET || egress->has_rules ||
        (mode == EGRESS_NONE && egress->has_no_network))
        return 0;
    if (egress->has_processes)
        return error_set(err, ERROR_INVALID,
                         "sandboxes run as processes of the host (DEFT_RUNTIME=process): %s",
                         mode == EGRESS_NONE ? "they use its network (DEFT_PROCESS_NETWORK=host)"
                                             : "an allow list needs a container engine");
    return error_set(err, ERROR_INVALID, "needs DEFT_NETWORK_RULES=1");
}

static int read_usual(struct egress *egress, const struct runtime_settings *settings,
                      struct error *err)
{
    size_t usual = 0;

    if (egress_table_policy(&egress->table, settings->egress, settings->egress_allow, &usual, err) <
        0)
        return error_wrap(err, "OH_SANDBOX_EGRESS, OH_SANDBOX_EGRESS_ALLOW");
    if (check_can_hold(egress, egress->table.policies[usual].policy.mode, err) < 0)
        return error_wrap(err, "OH_SANDBOX_EGRESS");
    return 0;
}

static int watch_stop(struct egress *egress, struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = 0}};

    for (size_t i = 0; i < DNS_N_PROTOCOLS; i++) {
        if (epoll_ctl(egress->polls[i], EPOLL_CTL_ADD, egress->stop_fd, &event) < 0)
            return error_set(err, ERROR_UNAVAILABLE, "epoll: %m");
    }
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
    for (size_t i = 0; i < DNS_N_PROTOCOLS; i++)
        egress->polls[i] = epoll_create1(EPOLL_CLOEXEC);
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
    for (size_t i = 0; i < egress->n_dns_sockets; i++)
        dns_socket_close(&egress->dns_sockets[i]);
    mem_free(egress->dns_sockets);
    for (size_t i = 0; i < DNS_N_PROTOCOLS; i++)
        fd_close(&egress->polls[i]);
    fd_close(&egress->stop_fd);
    egress_table_done(&egress->table);
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
    error_ignore(fd_write_all(egress->stop_fd, &one, sizeof(one), &ignored),
                 "the thread was already notified");
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
        rc = egress_table_policy(&egress->table, choice->mode, choice->list, &policy, err);
    if (rc == 0)
        mode = egress->table.policies[policy].policy.mode;
    lock_release(&egress->lock);
    if (rc < 0)
        return error_wrap(err, "the egress policy of the sandbox's owner");
    if (check_can_hold(egress, mode, err) < 0) {
        err->code = ERROR_UNAVAILABLE;
        return error_wrap(err, "the sandbox's egress policy cannot be enforced");
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

/* *is_changed_out: set if the assignment changed. Networks of older versions cannot be restricted.
 */
static int assign_policy(struct egress *egress, const char *network,
                         const struct egress_choice *choice, bool *is_changed_out,
                         struct error *err)
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
                             "the sandbox's network was created by an older version: the sandbox "
                             "must be recreated");
        return 0;
    }
    bridge_name(id + 1, bridge);
    if (is_restricted && dns_sockets_open(egress, bridge, err) < 0)
        return -1;
    lock_take(&egress->lock);
    *is_changed_out = egress_table_assign(&egress->table, bridge, policy) || *is_changed_out;
    lock_release(&egress->lock);
    return 0;
}

static void append_destinations(const char *list, struct strbuf *out)
{
    for (const char *at = list + strspn(list, EGRESS_SEPARATORS); *at != '\0';) {
        size_t len = strcspn(at, EGRESS_SEPARATORS);

        if (out->len + len > TOLD_MAX_BYTES) {
            strbuf_append(out, " …");
            return;
        }
        strbuf_append_char(out, ' ');
        strbuf_append_bytes(out, at, len);
        at += len + strspn(at + len, EGRESS_SEPARATORS);
    }
}

static void describe_policy(struct egress *egress, const struct egress_choice *choice,
                            struct strbuf *out)
{
    const struct egress_table_policy *usual = NULL;

    lock_take(&egress->lock);
    usual = &egress->table.policies[0];
    strbuf_append(out, choice->mode != NULL ? choice->mode : usual->mode);
    if (text_equal(out->text, "list"))
        append_destinations(choice->mode != NULL ? choice->list : usual->list, out);
    lock_release(&egress->lock);
}

int egress_assign(struct service *service, const struct runtime *runtime, const char *network,
                  struct strbuf *policy, struct error *err)
{
    CLEANUP(egress_choice_done) struct egress_choice choice = EGRESS_CHOICE_INIT;
    bool is_changed = false;

    if (egress_store_find(service->db, &runtime->tenant_id, &runtime->owner_id, &choice, err) < 0 ||
        assign_policy(service->egress, network, &choice, &is_changed, err) < 0)
        return -1;
    describe_policy(service->egress, &choice, policy);
    return is_changed ? egress_load(service->egress, err) : 0;
}

static void unassign_gone(struct egress *egress)
{
    lock_take(&egress->lock);
    for (size_t i = egress->table.n_assignments; i > 0; i--) {
        if (if_nametoindex(egress->table.assignments[i - 1].bridge) == 0)
            egress_table_unassign(&egress->table, i - 1);
    }
    lock_release(&egress->lock);
}

int egress_assign_all(struct service *service, struct error *err)
{
    CLEANUP(egress_network_list_done) struct egress_network_list networks =
        EGRESS_NETWORK_LIST_INIT;
    static const char nowhere[] = "none";
    bool is_changed = false;

    if (egress_store_list(service->db, &networks, err) < 0)
        return -1;
    unassign_gone(service->egress);
    dns_sockets_close_gone(service->egress);
    for (size_t i = 0; i < networks.n; i++) {
        struct error why = ERROR_INIT;
        const struct egress_choice none = {(char *)(uintptr_t)nowhere, (char *)(uintptr_t)""};

        if (assign_policy(service->egress, networks.items[i].network, &networks.items[i].choice,
                          &is_changed, &why) == 0)
            continue;
        /* With an unreadable policy a sandbox may reach nothing. */
        log_error("egress.policy_rejected", LOG_STR("network", networks.items[i].network),
                  LOG_ERROR(&why));
        error_ignore(
            assign_policy(service->egress, networks.items[i].network, &none, &is_changed, &why),
            "the failure was already logged");
    }
    return egress_load(service->egress, err);
}
