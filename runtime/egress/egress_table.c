#include "runtime/egress/egress_table.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

void egress_table_done(struct egress_table *table)
{
    for (size_t i = 0; i < table->n_policies; i++) {
        mem_free(table->policies[i].mode);
        mem_free(table->policies[i].list);
        egress_policy_done(&table->policies[i].policy);
    }
    mem_free(table->policies);
    mem_free(table->assignments);
    mem_free(table->known);
    *table = (struct egress_table){.policies = NULL};
}

static int add_policy(struct egress_table *table, const char *mode, const char *list,
                      struct error *err)
{
    struct egress_policy policy = EGRESS_POLICY_INIT;

    if (egress_policy_parse(mode, list, &policy, err) < 0)
        return -1;
    table->policies =
        mem_resize(table->policies, (table->n_policies + 1) * sizeof(table->policies[0]));
    table->policies[table->n_policies++] = (struct egress_table_policy){
        .mode = mem_dup_text(mode), .list = mem_dup_text(list), .policy = policy};
    return 0;
}

int egress_table_policy(struct egress_table *table, const char *mode, const char *list,
                        size_t *policy_out, struct error *err)
{
    for (size_t i = 0; i < table->n_policies; i++) {
        if (text_equal(table->policies[i].mode, mode) &&
            text_equal(table->policies[i].list, list)) {
            *policy_out = i;
            return 0;
        }
    }
    if (add_policy(table, mode, list, err) < 0)
        return -1;
    *policy_out = table->n_policies - 1;
    return 0;
}

static struct egress_assignment *find_assignment(const struct egress_table *table,
                                                 const char *bridge)
{
    for (size_t i = 0; i < table->n_assignments; i++) {
        if (text_equal(table->assignments[i].bridge, bridge))
            return &table->assignments[i];
    }
    return NULL;
}

bool egress_table_assign(struct egress_table *table, const char *bridge, size_t policy)
{
    struct egress_assignment *assignment = find_assignment(table, bridge);
    bool is_changed = assignment != NULL ? assignment->policy != policy : policy != 0;

    if (assignment == NULL) {
        if (policy == 0)
            return false;
        table->assignments = mem_resize(table->assignments,
                                        (table->n_assignments + 1) * sizeof(table->assignments[0]));
        assignment = &table->assignments[table->n_assignments++];
        (void)snprintf(assignment->bridge, sizeof(assignment->bridge), "%s", bridge);
    }
    assignment->policy = policy;
    return is_changed;
}

void egress_table_unassign(struct egress_table *table, size_t assignment)
{
    table->assignments[assignment] = table->assignments[--table->n_assignments];
}

const struct egress_policy *egress_table_find(const struct egress_table *table, const char *bridge)
{
    const struct egress_assignment *assignment = find_assignment(table, bridge);

    return &table->policies[assignment != NULL ? assignment->policy : 0].policy;
}

static struct egress_address *find_known(const struct egress_table *table, const char *name,
                                         uint32_t address)
{
    for (size_t i = 0; i < table->n_known; i++) {
        if (table->known[i].address == address && text_equal(table->known[i].name, name))
            return &table->known[i];
    }
    return NULL;
}

static void forget_old(struct egress_table *table, int64_t now_ms)
{
    size_t i = 0;

    while (i < table->n_known) {
        if (now_ms - table->known[i].seen_ms > EGRESS_KNOWN_MS)
            table->known[i] = table->known[--table->n_known];
        else
            i++;
    }
}

static struct egress_address *oldest(struct egress_table *table)
{
    struct egress_address *found = &table->known[0];

    for (size_t i = 1; i < table->n_known; i++) {
        if (table->known[i].seen_ms < found->seen_ms)
            found = &table->known[i];
    }
    return found;
}

bool egress_table_learn(struct egress_table *table, const char *name, uint32_t address,
                        int64_t now_ms)
{
    struct egress_address *known = find_known(table, name, address);

    if (known != NULL) {
        known->seen_ms = now_ms;
        return !known->is_loaded;
    }
    forget_old(table, now_ms);
    if (table->known == NULL)
        table->known = mem_alloc_array(EGRESS_KNOWN_MAX, sizeof(table->known[0]));
    known = table->n_known < EGRESS_KNOWN_MAX ? &table->known[table->n_known++] : oldest(table);
    *known = (struct egress_address){.address = address, .seen_ms = now_ms};
    (void)snprintf(known->name, sizeof(known->name), "%s", name);
    return true;
}

void egress_table_confirm(struct egress_table *table, const char *name, uint32_t address)
{
    struct egress_address *known = find_known(table, name, address);

    if (known != NULL)
        known->is_loaded = true;
}

size_t egress_table_addresses(const struct egress_table *table, const char *name, int64_t since_ms,
                              uint32_t *addresses, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < table->n_known && n < max; i++) {
        if (table->known[i].is_loaded && table->known[i].seen_ms >= since_ms &&
            text_equal(table->known[i].name, name))
            addresses[n++] = table->known[i].address;
    }
    return n;
}
