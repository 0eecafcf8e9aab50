#include "runtime/egress/egress_loader.h"

#include "base/log.h"
#include "base/strbuf.h"
#include "runtime/core/service.h"
#include "runtime/egress/egress_denials.h"
#include "runtime/egress/egress_state.h"
#include "runtime/egress/egress_table_rules.h"
#include "runtime/egress/firewall_log.h"
#include "runtime/egress/iptables.h"

static const struct iptables_chain chains[] = {
    {"filter", "DOCKER-USER", "DEFT-GO-", NULL},
    {"filter", "INPUT", "DEFT-ASK-", "DEFT-IN"},
    {"nat", "PREROUTING", EGRESS_DNS_CHAIN, NULL},
};

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
    firewall_log_remove(tag);
}

static int load_rules(struct egress *egress, const char *text, struct error *err)
{
    if (iptables_load(text, err) < 0)
        return error_wrap(err, "egress rules");
    for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
        if (iptables_jump(&chains[i], egress->tag, err) < 0)
            return error_wrap(err, "egress rules");
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
    egress_table_append_rules(&egress->table, rules, text);
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

void egress_loader_run(struct service *service)
{
    struct egress *egress = service->egress;
    struct egress_rules rules = {.tag = egress->tag,
                                 .resolver_port = egress->resolver_port,
                                 .dns_port = EGRESS_DNS_PORT(egress->resolver_port),
                                 .group = egress_denials_group(service->denials)};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    uint64_t turn = 0;

    while (next_load(egress, &rules, &text, &turn)) {
        struct error state = ERROR_INIT;

        if (egress->has_rules && load_rules(egress, text.text, &state) < 0)
            log_error("egress.load_failed", LOG_ERROR(&state));
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
        error_set(&state, ERROR_UNAVAILABLE, "the service is stopping");
    else
        state = egress->state;
    lock_release(&egress->lock);
    if (state.code == ERROR_NONE)
        return 0;
    *err = state;
    return -1;
}
