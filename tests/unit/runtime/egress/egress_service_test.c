/*
 * Policies of sandboxes' owners, as they are assigned to bridges, and refusals, as they are stored:
 * on a real database, without the kernel's interfaces and packets.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/bridge.h"
#include "runtime/egress/denial_counter.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_denials.h"
#include "runtime/egress/egress_state.h"
#include "store/runtime/refusal_store.h"
#include "store/runtime/runtime_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "unit/runtime/lifecycle/service_fixture.h"

#define ID "abcdefghijklmnop"
#define BRIDGE_INDEX 77

/* --- the host's interfaces: one bridge, or none --- */

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): what the host has */
static char present[IF_NAMESIZE];

unsigned if_nametoindex(const char *name)
{
    return present[0] != '\0' && text_equal(name, present) ? BRIDGE_INDEX : 0;
}

char *if_indextoname(unsigned index, char name[IF_NAMESIZE])
{
    if (index != BRIDGE_INDEX || present[0] == '\0')
        return NULL;
    (void)snprintf(name, IF_NAMESIZE, "%s", present);
    return name;
}

/* --- a sandbox in a network --- */

struct place {
    char id[BRIDGE_ID_BYTES];
    char network[PREALLOC_NAME_BYTES];
    char bridge[BRIDGE_NAME_BYTES];
};

static struct place new_place(void)
{
    struct place place = {.id = ""};

    bridge_new_id("inst", place.id);
    bridge_network_name("inst", place.id, place.network);
    bridge_name(place.id, place.bridge);
    return place;
}

static void add_runtime(const struct service_fixture *fixture, const char *id, const char *network)
{
    const struct test_runtime row = {.id = id};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    service_add_runtime(fixture, &row);
    strbuf_appendf(&sql, "UPDATE runtimes SET network = '%s' WHERE id = '%s'", network, id);
    test_sql(sql.text);
}

static void set_policy(const struct service_fixture *fixture, const char *mode, const char *list)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE users SET egress = '%s', egress_allow = '%s' WHERE id = '%s'",
                   mode, list, fixture->owner_id.text);
    test_sql(sql.text);
}

/* With packet filter rules, whose next load is over at once. */
static void restart(struct service_fixture *fixture, int has_rules)
{
    struct error err = ERROR_INIT;

    present[0] = '\0';
    egress_free(fixture->service.egress);
    fixture->settings.has_network_rules = has_rules;
    assert_int_equal(egress_new(&fixture->settings, &fixture->service.egress, &err), 0);
}

static void let_load(struct egress *egress, enum error_code code)
{
    egress->done = egress->wanted + 1;
    egress->state = (struct error)ERROR_INIT;
    if (code != ERROR_NONE)
        error_set(&egress->state, code, "the rules were not loaded");
}

static struct runtime runtime_of(const struct service_fixture *fixture)
{
    return (struct runtime){.owner_id = fixture->owner_id};
}

static int assign(struct service_fixture *fixture, const char *network, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf policy = STRBUF_INIT;
    const struct runtime runtime = runtime_of(fixture);

    return egress_assign(&fixture->service, &runtime, network, &policy, err);
}

static void assert_policy_told(struct service_fixture *fixture, const char *network,
                               const char *wanted)
{
    CLEANUP(strbuf_done) struct strbuf policy = STRBUF_INIT;
    const struct runtime runtime = runtime_of(fixture);
    struct error err = ERROR_INIT;

    let_load(fixture->service.egress, ERROR_NONE);
    assert_int_equal(egress_assign(&fixture->service, &runtime, network, &policy, &err), 0);
    assert_string_equal(policy.text, wanted);
}

static void sandbox_is_told_its_policy(void **state)
{
    struct service_fixture *fixture = *state;
    struct place place = new_place();
    CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf told = STRBUF_INIT;

    fixture->settings.egress = "list";
    fixture->settings.egress_allow = "usual.org, 140.82.112.0/20";
    restart(fixture, 1);
    assert_policy_told(fixture, place.network, "list usual.org 140.82.112.0/20");
    set_policy(fixture, "internet", "");
    assert_policy_told(fixture, place.network, "internet");
    set_policy(fixture, "none", "a.org");
    assert_policy_told(fixture, place.network, "none");
    set_policy(fixture, "list", " a.org,\n*.b.org ");
    assert_policy_told(fixture, place.network, "list a.org *.b.org");
    /* No more than 800 bytes of a long one. */
    strbuf_append(&told, "list");
    for (int i = 0; i < 200; i++) {
        strbuf_appendf(&list, "host-%03d.org ", i);
        if (i < 61)
            strbuf_appendf(&told, " host-%03d.org", i);
    }
    strbuf_append(&told, " …");
    set_policy(fixture, "list", list.text);
    assert_policy_told(fixture, place.network, told.text);
    fixture->settings.egress = "internet";
    fixture->settings.egress_allow = "";
}

static void policy_is_assigned_to_the_bridge_and_loaded_once(void **state)
{
    struct service_fixture *fixture = *state;
    struct place place = new_place();
    struct error err = ERROR_INIT;
    struct egress *egress = NULL;

    restart(fixture, 1);
    egress = fixture->service.egress;
    /* Nothing was set: the settings'. */
    assert_int_equal(assign(fixture, place.network, &err), 0);
    assert_int_equal(egress->wanted, 0);
    assert_int_equal(egress->table.n_assignments, 0);
    set_policy(fixture, "list", "a.org");
    let_load(egress, ERROR_NONE);
    assert_int_equal(assign(fixture, place.network, &err), 0);
    assert_int_equal(egress->wanted, 1);
    assert_int_equal(egress_table_find(&egress->table, place.bridge)->mode, EGRESS_LIST);
    assert_int_equal(assign(fixture, place.network, &err), 0);
    assert_int_equal(egress->wanted, 1);
    set_policy(fixture, "none", "");
    let_load(egress, ERROR_UNAVAILABLE);
    assert_int_equal(assign(fixture, place.network, &err), -1);
    assert_string_equal(err.message, "the rules were not loaded");
    assert_int_equal(egress->wanted, 2);
    assert_int_equal(egress_table_find(&egress->table, place.bridge)->mode, EGRESS_NONE);
}

static void policy_of_the_owner_must_be_enforceable(void **state)
{
    struct service_fixture *fixture = *state;
    const struct runtime runtime = runtime_of(fixture);
    struct place place = new_place();
    struct error err = ERROR_INIT;

    restart(fixture, 0);
    assert_int_equal(egress_check(&fixture->service, &runtime.tenant_id, &runtime.owner_id, &err),
                     0);
    set_policy(fixture, "list", "a.org");
    assert_int_equal(egress_check(&fixture->service, &runtime.tenant_id, &runtime.owner_id, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "the sandbox's egress policy cannot be enforced: needs "
                                     "DEFT_NETWORK_RULES=1");
    assert_int_equal(assign(fixture, place.network, &err), -1);
    restart(fixture, 1);
    assert_int_equal(egress_check(&fixture->service, &runtime.tenant_id, &runtime.owner_id, &err),
                     0);
    set_policy(fixture, "list", "a..b");
    assert_int_equal(egress_check(&fixture->service, &runtime.tenant_id, &runtime.owner_id, &err),
                     -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_true(text_starts_with(err.message, "the egress policy of the sandbox's owner: a..b: "));
}

/* The rules match bridges by their names. */
static void network_of_an_older_version_cannot_be_restricted(void **state)
{
    static const char *const networks[] = {"inst-net-0123456789", "network",
                                           "other-net-123456789012"};
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    restart(fixture, 1);
    for (size_t i = 0; i < ARRAY_SIZE(networks); i++) {
        set_policy(fixture, "internet", "");
        assert_int_equal(assign(fixture, networks[i], &err), 0);
        set_policy(fixture, "none", "");
        assert_int_equal(assign(fixture, networks[i], &err), -1);
        assert_int_equal(err.code, ERROR_UNAVAILABLE);
        assert_non_null(strstr(err.message, "was created by an older version"));
        assert_int_equal(fixture->service.egress->table.n_assignments, 0);
    }
}

/* A restricted sandbox asks for names at its own gateway. */
static void restricted_sandbox_needs_its_resolver(void **state)
{
    struct service_fixture *fixture = *state;
    struct place place = new_place();
    struct error err = ERROR_INIT;

    restart(fixture, 1);
    (void)snprintf(present, sizeof(present), "%s", place.bridge);
    set_policy(fixture, "none", "");
    assert_int_equal(assign(fixture, place.network, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_true(text_starts_with(err.message, "reading the address of dsb"));
    assert_int_equal(fixture->service.egress->table.n_assignments, 0);
    set_policy(fixture, "internet", "");
    assert_int_equal(assign(fixture, place.network, &err), 0);
}

static void policies_of_all_sandboxes_are_assigned(void **state)
{
    struct service_fixture *fixture = *state;
    struct place first = new_place();
    struct place second = new_place();
    struct place gone = new_place();
    struct error err = ERROR_INIT;
    struct egress *egress = NULL;

    restart(fixture, 1);
    egress = fixture->service.egress;
    set_policy(fixture, "list", "a.org");
    let_load(egress, ERROR_NONE);
    assert_int_equal(assign(fixture, gone.network, &err), 0);
    add_runtime(fixture, ID, first.network);
    add_runtime(fixture, "bcdefghijklmnopa", second.network);
    let_load(egress, ERROR_NONE);
    assert_int_equal(egress_assign_all(&fixture->service, &err), 0);
    assert_int_equal(egress->wanted, 2);
    assert_int_equal(egress->table.n_assignments, 2);
    assert_int_equal(egress_table_find(&egress->table, first.bridge)->mode, EGRESS_LIST);
    assert_int_equal(egress_table_find(&egress->table, second.bridge)->mode, EGRESS_LIST);
    assert_int_equal(egress_table_find(&egress->table, gone.bridge)->mode, EGRESS_INTERNET);
    /* Also without a change: the rules may have been removed. */
    let_load(egress, ERROR_UNAVAILABLE);
    assert_int_equal(egress_assign_all(&fixture->service, &err), -1);
    assert_int_equal(egress->wanted, 3);
    /* A policy that cannot be read lets nothing through. */
    set_policy(fixture, "list", "a..b");
    let_load(egress, ERROR_NONE);
    assert_int_equal(egress_assign_all(&fixture->service, &err), 0);
    assert_int_equal(egress_table_find(&egress->table, first.bridge)->mode, EGRESS_NONE);
    assert_int_equal(egress_table_find(&egress->table, second.bridge)->mode, EGRESS_NONE);
}

static void assignments_of_bridges_that_are_there_stay(void **state)
{
    struct service_fixture *fixture = *state;
    struct place places[3] = {new_place(), new_place(), new_place()};
    struct error err = ERROR_INIT;
    struct egress *egress = NULL;

    restart(fixture, 1);
    egress = fixture->service.egress;
    set_policy(fixture, "none", "");
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        let_load(egress, ERROR_NONE);
        assert_int_equal(assign(fixture, places[i].network, &err), 0);
    }
    (void)snprintf(present, sizeof(present), "%s", places[1].bridge);
    let_load(egress, ERROR_NONE);
    assert_int_equal(egress_assign_all(&fixture->service, &err), 0);
    assert_int_equal(egress->table.n_assignments, 1);
    assert_string_equal(egress->table.assignments[0].bridge, places[1].bridge);
}

/* --- refusals --- */

static void assert_stored(int64_t n)
{
    assert_int_equal(test_sql_count("SELECT coalesce(sum(count), 0) FROM egress_refusals"), n);
}

static void names_that_were_refused_are_stored_with_their_sandbox(void **state)
{
    struct service_fixture *fixture = *state;
    struct place place = new_place();
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *list = NULL;
    struct error err = ERROR_INIT;

    (void)snprintf(present, sizeof(present), "%s", place.bridge);
    add_runtime(fixture, ID, place.network);
    egress_denials_note_name(fixture->service.denials, BRIDGE_INDEX, "evil.test");
    egress_denials_note_name(fixture->service.denials, BRIDGE_INDEX, "evil.test");
    /* Its sandbox is gone. */
    egress_denials_note_name(fixture->service.denials, BRIDGE_INDEX + 1, "gone.test");
    assert_stored(0);
    assert_int_equal(egress_denials_flush(&fixture->service, &err), 0);
    assert_stored(2);
    assert_int_equal(refusal_store_list(fixture->service.db, ID, &list, &err), 0);
    json_append_text(&text, list);
    json_decref(list);
    assert_json_at(text.text, "[0].host", "\"evil.test\"");
    assert_json_at(text.text, "[0].protocol", "\"dns\"");
    assert_json_at(text.text, "[0].reason", "\"policy\"");
    assert_json_at(text.text, "[0].port", "null");
    assert_json_at(text.text, "[0].count", "2");
    assert_json_at(text.text, "[1]", NULL);
    /* Each is stored once. */
    assert_int_equal(egress_denials_flush(&fixture->service, &err), 0);
    assert_stored(2);
}

static void packets_that_were_refused_are_stored_with_their_destination(void **state)
{
    static const struct {
        struct denied_packet packet;
        const char *host;
        const char *protocol;
        const char *port;
        const char *reason;
    } cases[] = {
        {{BRIDGE_INDEX, DENIED_HOST, IPPROTO_TCP, 80, 0}, "1.0.0.0", "tcp", "80", "host"},
        {{BRIDGE_INDEX, DENIED_SANDBOX, IPPROTO_UDP, 53, 0}, "1.0.0.1", "udp", "53", "sandbox"},
        {{BRIDGE_INDEX, DENIED_PRIVATE, IPPROTO_ICMP, 0, 0}, "1.0.0.2", "icmp", "null", "private"},
        {{BRIDGE_INDEX, DENIED_LINK_LOCAL, 47, 0, 0}, "1.0.0.3", "47", "null", "link_local"},
    };
    struct service_fixture *fixture = *state;
    struct place place = new_place();
    struct denied_packet gone = cases[0].packet;
    struct error err = ERROR_INIT;

    (void)snprintf(present, sizeof(present), "%s", place.bridge);
    add_runtime(fixture, ID, place.network);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct denied_packet packet = cases[i].packet;

        packet.address_be = htonl(0x01000000 + (uint32_t)i);
        egress_denials_note_packet(fixture->service.denials, &packet);
    }
    gone.bridge_index++;
    egress_denials_note_packet(fixture->service.denials, &gone);
    egress_denials_note_name(fixture->service.denials, BRIDGE_INDEX, "evil.test");
    assert_int_equal(egress_denials_flush(&fixture->service, &err), 0);
    assert_stored(ARRAY_SIZE(cases) + 1);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

        strbuf_appendf(&sql,
                       "SELECT count(*) FROM egress_refusals WHERE runtime_id = '" ID
                       "' AND host = '%s' AND protocol = '%s' AND reason = '%s'"
                       " AND nullif(port, 0) IS NOT DISTINCT FROM %s AND count = 1"
                       " AND first_at = last_at AND first_at > now() - interval '1 hour'",
                       cases[i].host, cases[i].protocol, cases[i].reason, cases[i].port);
        assert_int_equal(test_sql_count(sql.text), 1);
    }
}

static void refusals_that_cannot_be_stored_are_kept(void **state)
{
    struct service_fixture *fixture = *state;
    struct place place = new_place();
    const struct denied_packet packet = {BRIDGE_INDEX, DENIED_HOST, IPPROTO_TCP, 80, 1};
    struct error err = ERROR_INIT;

    (void)snprintf(present, sizeof(present), "%s", place.bridge);
    add_runtime(fixture, ID, place.network);
    egress_denials_note_name(fixture->service.denials, BRIDGE_INDEX, "evil.test");
    egress_denials_note_packet(fixture->service.denials, &packet);
    test_sql("ALTER TABLE egress_refusals RENAME TO away");
    assert_int_equal(egress_denials_flush(&fixture->service, &err), -1);
    test_sql("ALTER TABLE away RENAME TO egress_refusals");
    assert_int_equal(egress_denials_flush(&fixture->service, &err), 0);
    assert_stored(2);
}

static void what_was_counted_is_stored_at_the_end(void **state)
{
    struct service_fixture *fixture = *state;
    struct place place = new_place();

    (void)snprintf(present, sizeof(present), "%s", place.bridge);
    add_runtime(fixture, ID, place.network);
    egress_denials_note_name(fixture->service.denials, BRIDGE_INDEX, "evil.test");
    egress_denials_stop(fixture->service.denials);
    egress_denials_run(&fixture->service);
    assert_stored(1);
}

static void reason_is_told_when_refusals_are_not_received(void **state)
{
    struct service_fixture *fixture = *state;
    const struct runtime runtime = {.network = NULL};
    struct error err = ERROR_INIT;

    assert_int_equal(egress_denials_check(fixture->service.denials, &runtime, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "there are no packet filter rules");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, service_set_up, service_tear_down)

int egress_service_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(policy_is_assigned_to_the_bridge_and_loaded_once),
        TEST(sandbox_is_told_its_policy),
        TEST(policy_of_the_owner_must_be_enforceable),
        TEST(network_of_an_older_version_cannot_be_restricted),
        TEST(restricted_sandbox_needs_its_resolver),
        TEST(policies_of_all_sandboxes_are_assigned),
        TEST(assignments_of_bridges_that_are_there_stay),
        TEST(names_that_were_refused_are_stored_with_their_sandbox),
        TEST(packets_that_were_refused_are_stored_with_their_destination),
        TEST(refusals_that_cannot_be_stored_are_kept),
        TEST(what_was_counted_is_stored_at_the_end),
        TEST(reason_is_told_when_refusals_are_not_received),
    };

    return cmocka_run_group_tests_name("runtime/egress_service", tests, NULL, NULL);
}
