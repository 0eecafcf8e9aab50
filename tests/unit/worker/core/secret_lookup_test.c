/*
 * Secrets that a conversation only refers to, and the row that names them.
 */
#include "worker/agent/core/secret_lookup.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/http.h"
#include "client/test_server.h"
#include "model/event/stats.h"
#include "model/tools/toolset.h"
#include "store/conversation/conversation_store.h"
#include "store/user/document_store.h"
#include "support/json_path.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/agent_row.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/secret_list.h"
#include "worker/step_test.h"

enum { VALUE_MAX_BYTES = 65536 };

#define STORED(name) "{\"kind\": \"LookupSecret\", \"url\": \"/api/settings/secrets/" name "\"}"
#define REPLY(status, body)                                                                        \
    "HTTP/1.1 " status " x\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" body

/* Stores a secret of the fixture's user. */
static void keep(struct run_fixture *fixture, const char *name, const char *value)
{
    CLEANUP(document_done) struct document secret = DOCUMENT_INIT;
    const struct document_scope scope = {fixture->context.db, &fixture->context.keyring,
                                         fixture->user_id};
    struct error err = ERROR_INIT;

    step_check(document_store_get_or_new(&scope, COLLECTION_SECRETS, name, &secret, &err), &err);
    if (secret.secrets == NULL)
        secret.secrets = json_object();
    json_put_text(secret.secrets, "value", value);
    step_check(document_store_put(&scope, &secret, 0, &err), &err);
}

/* Of that name in the environment of a command that names it; value NULL: none. */
static void assert_secret(struct claimed_agent *claimed, const char *name, const char *value)
{
    json_auto_t *env = secret_list_env(&claimed->agent.secrets, name);

    if (value == NULL) {
        assert_null(env);
        return;
    }
    assert_non_null(env);
    assert_string_equal(json_text_or(env, name, "?"), value);
}

static void assert_masked(struct claimed_agent *claimed, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;

    secret_list_mask_text(&claimed->agent.secrets, value, &masked);
    assert_string_equal(masked.text, "<secret-hidden>");
}

static void stored_secret_is_known_from_the_claim_on(void **state)
{
    struct claimed_agent claimed;

    keep(*state, "KEPT", "opensesame");
    step_begin(&claimed, state,
               "{\"secrets\": {\"TOKEN\": " STORED("KEPT") ", \"GONE\": " STORED("NONE") "}}");
    assert_secret(&claimed, "TOKEN", "opensesame");
    assert_masked(&claimed, "opensesame");
    assert_secret(&claimed, "GONE", NULL);
    claimed_agent_end(&claimed);
}

static void stored_secret_is_read_again_for_a_command_that_names_it(void **state)
{
    struct claimed_agent claimed;

    keep(*state, "KEPT", "opensesame");
    step_begin(&claimed, state, "{\"secrets\": {\"TOKEN\": " STORED("KEPT") "}}");
    keep(*state, "KEPT", "shutsesame");
    secret_lookup_named(&claimed.agent, "echo $OTHER");
    assert_secret(&claimed, "TOKEN", "opensesame");
    secret_lookup_named(&claimed.agent, "echo $token");
    assert_secret(&claimed, "TOKEN", "shutsesame");
    assert_masked(&claimed, "opensesame");
    assert_masked(&claimed, "shutsesame");
    claimed_agent_end(&claimed);
}

static void secret_that_is_stored_later_is_found_by_its_command(void **state)
{
    struct claimed_agent claimed;

    step_begin(&claimed, state, "{\"secrets\": {\"LATE\": " STORED("LATER") "}}");
    assert_secret(&claimed, "LATE", NULL);
    secret_lookup_named(&claimed.agent, "echo $LATE");
    assert_secret(&claimed, "LATE", NULL);
    keep(*state, "LATER", "latecomer");
    secret_lookup_named(&claimed.agent, "echo $LATE");
    assert_secret(&claimed, "LATE", "latecomer");
    claimed_agent_end(&claimed);
}

/* A conversation whose secret is served by the server. */
static void begin_remote(struct claimed_agent *claimed, void **state, struct test_server *server)
{
    CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;

    strbuf_appendf(&more,
                   "{\"secrets\": {\"REMOTE\": {\"kind\": \"LookupSecret\", \"url\": \"%s\","
                   " \"headers\": {\"X-Key\": \"hush-12\", \"X-Plain\": \"for all\"}}}}",
                   test_server_url(server, "/v"));
    step_begin(claimed, state, more.text);
}

static void remote_secret_is_fetched_for_a_command_that_names_it(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = REPLY("200", "from-afar"), .ending = TEST_CLOSE},
        {.bytes = REPLY("200", "renewed-value"), .ending = TEST_CLOSE}};
    struct test_server *server = test_server_start(replies, 2, NULL);
    struct claimed_agent claimed;
    const char *sent = NULL;

    begin_remote(&claimed, state, server);
    assert_secret(&claimed, "REMOTE", NULL);
    secret_lookup_named(&claimed.agent, "echo $OTHER");
    assert_int_equal(test_server_n_requests(server), 0);
    secret_lookup_named(&claimed.agent, "echo $remote");
    assert_int_equal(test_server_n_requests(server), 1);
    sent = test_server_request(server, 0);
    assert_non_null(strstr(sent, "GET /v HTTP/1.1\r\n"));
    assert_non_null(strstr(sent, "X-Key: hush-12\r\n"));
    assert_non_null(strstr(sent, "X-Plain: for all\r\n"));
    assert_secret(&claimed, "REMOTE", "from-afar");
    assert_null(claimed.control.cancel); /* a stop has nothing left to cut */
    assert_masked(&claimed, "from-afar");
    secret_lookup_named(&claimed.agent, "echo $REMOTE");
    assert_secret(&claimed, "REMOTE", "renewed-value");
    claimed_agent_end(&claimed);
    test_server_stop(server);
}

static void remote_secret_that_is_not_given_is_not_set(void **state)
{
    static const char *const replies[] = {REPLY("404", "no such"), REPLY("204", "none"),
                                          REPLY("500", "fault")};

    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        const struct test_reply reply = {.bytes = replies[i], .ending = TEST_CLOSE};
        struct test_server *server = test_server_start(&reply, 1, NULL);
        struct claimed_agent claimed;

        begin_remote(&claimed, state, server);
        secret_lookup_named(&claimed.agent, "echo $REMOTE");
        assert_int_equal(test_server_n_requests(server), 1);
        assert_secret(&claimed, "REMOTE", NULL);
        claimed_agent_end(&claimed);
        test_server_stop(server);
    }
}

/* A reply of n letters. */
static bool takes_value_of(void **state, size_t n)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct test_server *server = NULL;
    struct claimed_agent claimed;
    json_auto_t *env = NULL;

    strbuf_append(&bytes, REPLY("200", ""));
    for (size_t i = 0; i < n; i++)
        strbuf_append_char(&bytes, 'a');
    reply.bytes = bytes.text;
    server = test_server_start(&reply, 1, NULL);
    begin_remote(&claimed, state, server);
    secret_lookup_named(&claimed.agent, "echo $REMOTE");
    env = secret_list_env(&claimed.agent.secrets, "REMOTE");
    claimed_agent_end(&claimed);
    test_server_stop(server);
    return env != NULL && strlen(json_text_or(env, "REMOTE", "")) == n;
}

static void value_has_a_limit(void **state)
{
    assert_true(takes_value_of(state, VALUE_MAX_BYTES));
    assert_false(takes_value_of(state, VALUE_MAX_BYTES + 1));
}

static void stop_ends_the_wait_for_a_value(void **state)
{
    static const struct test_reply reply = {.bytes = REPLY("200", "from-afar"),
                                            .ending = TEST_HOLD};
    struct test_server *server = test_server_start(&reply, 1, NULL);
    struct claimed_agent claimed;

    begin_remote(&claimed, state, server);
    run_control_request(&claimed.control, STOP_INTERRUPT);
    secret_lookup_named(&claimed.agent, "echo $REMOTE");
    assert_secret(&claimed, "REMOTE", NULL);
    claimed_agent_end(&claimed);
    test_server_stop(server);
}

/* The addresses of a conversation that a sandbox's key started are not its user's. */
static void sandboxs_conversation_reaches_no_private_address(void **state)
{
    static const struct test_reply reply = {.bytes = REPLY("200", "from-afar"),
                                            .ending = TEST_CLOSE};
    struct test_server *server = test_server_start(&reply, 1, NULL);
    struct claimed_agent claimed;

    begin_remote(&claimed, state, server);
    mem_free(claimed.agent.conversation.runtime_session);
    claimed.agent.conversation.runtime_session = mem_dup_text("s-1");
    secret_lookup_named(&claimed.agent, "echo $REMOTE");
    assert_int_equal(test_server_n_requests(server), 0);
    assert_secret(&claimed, "REMOTE", NULL);
    claimed_agent_end(&claimed);
    test_server_stop(server);
}

static void secrets_of_the_row_are_opened(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *secrets = NULL;
    json_auto_t *none = NULL;

    step_begin(&claimed, state, "{\"secrets\": {\"A\": \"opensesame\"}}");
    secrets = agent_open_secrets(&claimed.agent);
    json_append_text(&text, secrets);
    assert_json_at(text.text, "secrets.A", "\"opensesame\"");
    mem_free(claimed.agent.conversation.secrets);
    claimed.agent.conversation.secrets = mem_dup_text("not sealed");
    none = agent_open_secrets(&claimed.agent);
    assert_int_equal(json_object_size(none), 0);
    claimed_agent_end(&claimed);
}

/* --- the row --- */

static void model_is_asked_with_its_secrets(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf asked = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;

    step_begin(&claimed, state,
               "{\"agent\": {\"llm\": {\"api_key\": \"sk-open-sesame\","
               " \"extra_headers\": {\"X-Team\": \"hush-hush\"}}}}");
    json_append_text(&asked, claimed.agent.llm_spec);
    assert_json_at(asked.text, "extra_headers.X-Team", "\"hush-hush\"");
    json_append_text(&kept, claimed.agent.conversation.spec);
    assert_null(strstr(kept.text, "hush-hush"));
    assert_string_equal(secret_reveal(&claimed.agent.llm_key), "sk-open-sesame");
    claimed_agent_end(&claimed);
}

static void model_without_secrets_is_the_conversations(void **state)
{
    struct claimed_agent claimed;

    step_begin(&claimed, state, "{}");
    assert_ptr_equal(claimed.agent.llm_spec, conversation_llm(&claimed.agent.conversation));
    assert_int_equal(claimed.agent.llm_key.len, 0);
    claimed_agent_end(&claimed);
}

/* The row of a conversation that a client has changed. */
static void load_changed(struct claimed_agent *claimed, struct conversation *now)
{
    const struct llm_usage usage = {
        .usage_id = "agent", .model = "m", .response_id = "r", .cost = 2};
    CLEANUP(stats_freep) struct stats *stats = NULL;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    step_check(conversation_store_load_any(claimed->fixture->context.db,
                                           &claimed->agent.lease.conversation_id, now, &err),
               &err);
    json_put_text(conversation_llm(now), "model", "scripted/other");
    json_put(conversation_agent(now), "tools", json_array());
    stats = stats_open(now->stats);
    stats_add(stats, &usage);
    stats_append_text(stats, &text);
    json_decref(now->stats);
    now->stats = NULL;
    step_check(json_parse(text.text, text.len, &now->stats, &err), &err);
    now->stats_hash = 4711;
    mem_free(now->secrets);
    now->secrets = NULL;
}

static void changed_row_is_taken_over_whole(void **state)
{
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;
    struct claimed_agent claimed;
    struct agent *agent = &claimed.agent;

    step_begin(&claimed, state, "{\"secrets\": {\"A\": \"opensesame\"}}");
    assert_secret(&claimed, "A", "opensesame");
    assert_non_null(toolset_find(agent->tools, "terminal"));
    load_changed(&claimed, &now);
    agent->is_row_stale = true;
    agent->has_foreign_stats = true;
    agent->transcript.has_tools = true;
    agent->transcript.n_events = 3;
    agent_take_row(agent, &now);
    assert_false(agent->is_row_stale);
    assert_false(agent->has_foreign_stats);
    assert_null(now.spec);
    assert_string_equal(json_text_or(agent->llm_spec, "model", ""), "scripted/other");
    assert_null(toolset_find(agent->tools, "terminal"));
    assert_false(agent->transcript.has_tools);
    assert_int_equal(agent->transcript.n_events, 0);
    assert_true(stats_total_cost(agent->stats) == 2);
    assert_int_equal(agent->conversation.stats_hash, 4711);
    assert_null(agent->conversation.secrets);
    assert_secret(&claimed, "A", NULL);
    assert_masked(&claimed, "opensesame");
    claimed_agent_end(&claimed);
}

int secret_lookup_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_secret_is_known_from_the_claim_on),
        cmocka_unit_test(stored_secret_is_read_again_for_a_command_that_names_it),
        cmocka_unit_test(secret_that_is_stored_later_is_found_by_its_command),
        cmocka_unit_test(remote_secret_is_fetched_for_a_command_that_names_it),
        cmocka_unit_test(remote_secret_that_is_not_given_is_not_set),
        cmocka_unit_test(value_has_a_limit),
        cmocka_unit_test(stop_ends_the_wait_for_a_value),
        cmocka_unit_test(sandboxs_conversation_reaches_no_private_address),
        cmocka_unit_test(secrets_of_the_row_are_opened),
        cmocka_unit_test(model_is_asked_with_its_secrets),
        cmocka_unit_test(model_without_secrets_is_the_conversations),
        cmocka_unit_test(changed_row_is_taken_over_whole),
    };

    return cmocka_run_group_tests_name("worker/secret_lookup", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
