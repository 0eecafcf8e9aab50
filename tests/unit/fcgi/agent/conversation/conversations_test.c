#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "fixture.h"
#include "model/conversation/conversation.h"
#include "store/conversation/conversation_store.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

enum { N_SETTERS = 4 };

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

static void new_conversation_is_answered_whole(void **state)
{
    DISPATCH(answer, ALICE, "POST", "/api/conversations", START_BODY(""));
    json_auto_t *info = NULL;

    assert_answer_member(&answer, 201, "execution_status", "idle");
    info = answer_json(&answer);
    assert_true(json_is_null(json_object_get(info, "runtime_info")));
    assert_null(strstr(answer.body.text, "sk-secret"));
}

static void first_message_starts_a_run_before_the_answer(void **state)
{
    DISPATCH(
        answer, ALICE, "POST", "/api/conversations",
        START_BODY("\"initial_message\":{\"content\":[{\"type\":\"text\",\"text\":\"go\"}]},"));
    json_auto_t *info = NULL;
    char path[128];

    assert_answer_member(&answer, 201, "execution_status", "running");
    info = answer_json(&answer);
    (void)snprintf(path, sizeof(path), "/api/conversations/%s/events/search",
                   json_text_or(info, "id", ""));
    {
        DISPATCH(events, ALICE, "GET", path, NULL);
        assert_int_equal(events.status, 200);
        assert_json_at(events.body.text, "items[0].kind", "\"SystemPromptEvent\"");
        assert_json_at(events.body.text, "items[3].key", "\"execution_status\"");
        assert_json_at(events.body.text, "items[3].value", "\"running\"");
    }
}

static void create_may_be_sent_again(void **state)
{
    struct uuid id = uuid_random();
    char body[600];

    (void)snprintf(body, sizeof(body), START_BODY("\"conversation_id\":\"%s\","), id.text);
    {
        DISPATCH(first, ALICE, "POST", "/api/conversations", body);
        DISPATCH(again, ALICE, "POST", "/api/conversations", body);
        DISPATCH(foreign, BOB, "POST", "/api/conversations", body);

        assert_answer(&first, 201, id.text);
        assert_answer(&again, 200, id.text);
        assert_answer(&foreign, 409, "detail");
    }
}

/* A conversation of that path whose worktree was added with this result, which no client has read.
 */
static void leave_pending(const struct test_path *path, const char *result)
{
    char sql[600] = "";

    (void)snprintf(sql, sizeof(sql),
                   "UPDATE conversations SET agent_state = '{\"worktree\":\"pending\"}'"
                   " WHERE id = '%s'; INSERT INTO jobs (kind, conversation_id, payload, key,"
                   " done_at, result) VALUES ('worktree', '%s', '{}', '%s', now(), '%s')",
                   path->id.text, path->id.text, path->id.text, result);
    test_sql(sql);
}

static void a_start_sent_again_waits_for_the_worktree(void **state)
{
    struct test_path path = test_conversation(*state);
    char body[100] = "";
    char sql[200] = "";

    leave_pending(&path, "{}");
    /* The worktree is there by the time that the result is taken. */
    test_sql("CREATE FUNCTION settle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
             " UPDATE conversations SET agent_state = '{}' WHERE id = OLD.conversation_id;"
             " RETURN OLD; END $$;"
             " CREATE TRIGGER settle AFTER DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION settle()");
    (void)snprintf(body, sizeof(body), "{\"conversation_id\":\"%s\"}", path.id.text);
    (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM jobs WHERE conversation_id = '%s'",
                   path.id.text);
    {
        DISPATCH(answer, ALICE, "POST", "/api/conversations", body);

        assert_answer(&answer, 200, path.id.text);
        assert_null(strstr(answer.body.text, "pending"));
    }
    assert_int_equal(test_sql_count(sql), 0);
    test_sql("DROP TRIGGER settle ON jobs; DROP FUNCTION settle()");
}

static void a_start_without_its_worktree_is_undone(void **state)
{
    struct test_path path = test_conversation(*state);
    char body[100] = "";

    leave_pending(&path, "{\"refused\":\"no such ref\"}");
    (void)snprintf(body, sizeof(body), "{\"conversation_id\":\"%s\"}", path.id.text);
    {
        DISPATCH(answer, ALICE, "POST", "/api/conversations", body);

        assert_answer(&answer, 422, "no such ref");
    }
    DISPATCH(gone, ALICE, "GET", path.text, NULL);
    assert_answer(&gone, 404, "");
}

/* The job ends while the request gives up. */
static void a_start_whose_worktree_was_added_late_remains(void **state)
{
    struct test_path path = test_conversation(*state);
    char body[100] = "";

    leave_pending(&path, "{\"error\":\"too late\"}");
    test_sql("CREATE FUNCTION settle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
             " UPDATE conversations SET agent_state = '{}' WHERE id = OLD.conversation_id;"
             " RETURN OLD; END $$;"
             " CREATE TRIGGER settle AFTER DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION settle()");
    (void)snprintf(body, sizeof(body), "{\"conversation_id\":\"%s\"}", path.id.text);
    {
        DISPATCH(answer, ALICE, "POST", "/api/conversations", body);

        assert_answer(&answer, 200, path.id.text);
    }
    test_sql("DROP TRIGGER settle ON jobs; DROP FUNCTION settle()");
    DISPATCH(there, ALICE, "GET", path.text, NULL);
    assert_answer(&there, 200, path.id.text);
}

/* What a request leaves that died before it read the refusal, or that has not undone it yet. */
static void leave_refused(const struct test_path *path, const char *also)
{
    char sql[300] = "";

    (void)snprintf(sql, sizeof(sql),
                   "UPDATE conversations SET execution_status = 'error',"
                   " agent_state = '{\"worktree\":{\"refused\":\"no such ref\"}}'%s"
                   " WHERE id = '%s'",
                   also, path->id.text);
    test_sql(sql);
}

static void a_refused_start_is_refused_to_each_that_sends_it(void **state)
{
    struct test_path path = test_conversation(*state);
    char body[100] = "";

    leave_refused(&path, "");
    (void)snprintf(body, sizeof(body), "{\"conversation_id\":\"%s\"}", path.id.text);
    {
        DISPATCH(answer, ALICE, "POST", "/api/conversations", body);

        assert_answer(&answer, 422, "no such ref");
    }
    DISPATCH(gone, ALICE, "GET", path.text, NULL);
    assert_answer(&gone, 404, "");
}

static void a_refused_start_with_a_later_message_remains(void **state)
{
    struct test_path path = test_conversation(*state);
    char body[100] = "";

    leave_refused(&path, ", last_user_message_id = gen_random_uuid()");
    (void)snprintf(body, sizeof(body), "{\"conversation_id\":\"%s\"}", path.id.text);
    DISPATCH(answer, ALICE, "POST", "/api/conversations", body);
    assert_answer(&answer, 200, path.id.text);
}

static void a_pending_start_with_a_message_is_not_deleted(void **state)
{
    struct test_path path = test_conversation(*state);
    char body[100] = "";
    char sql[200] = "";

    leave_pending(&path, "{\"error\":\"no sandbox\"}");
    (void)snprintf(
        sql, sizeof(sql),
        "UPDATE conversations SET last_user_message_id = gen_random_uuid() WHERE id = '%s'",
        path.id.text);
    test_sql(sql);
    (void)snprintf(body, sizeof(body), "{\"conversation_id\":\"%s\"}", path.id.text);
    {
        DISPATCH(answer, ALICE, "POST", "/api/conversations", body);

        assert_answer(&answer, 503, "");
    }
    DISPATCH(there, ALICE, "GET", path.text, NULL);
    assert_answer(&there, 200, path.id.text);
}

static void a_start_that_no_job_finishes_is_undone(void **state)
{
    struct test_path path = test_conversation(*state);
    char body[100] = "";
    char sql[200] = "";

    leave_pending(&path, "{}");
    (void)snprintf(sql, sizeof(sql), "DELETE FROM jobs WHERE conversation_id = '%s'", path.id.text);
    test_sql(sql);
    (void)snprintf(body, sizeof(body), "{\"conversation_id\":\"%s\"}", path.id.text);
    {
        DISPATCH(answer, ALICE, "POST", "/api/conversations", body);

        assert_answer(&answer, 503, "");
    }
    DISPATCH(gone, ALICE, "GET", path.text, NULL);
    assert_answer(&gone, 404, "");
}

static void a_worktree_needs_a_free_slot(void **state)
{
    size_t n_taken = test_take_waits(*state);
    int64_t n_before = test_sql_count("SELECT count(*) FROM conversations");
    DISPATCH(answer, ALICE, "POST", "/api/conversations", START_BODY("\"worktree\":true,"));

    test_give_waits(*state, n_taken);
    assert_answer(&answer, 503, "");
    assert_int_equal(test_sql_count("SELECT count(*) FROM conversations"), n_before);
}

static void bad_start_requests_leave_nothing(void **state)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "null",
        "{\"agent\":",
        "{\"a\":1,\"a\":2}",
        "{\"workspace\":{\"working_dir\":\"/w\"}}",
        "{\"agent\":{},\"workspace\":3}",
        START_BODY("\"max_iterations\":0,"),
        START_BODY("\"max_iterations\":\"many\","),
        START_BODY("\"conversation_id\":\"nope\","),
        START_BODY("\"conversation_runtime\":\"kubernetes\","),
        START_BODY("\"tags\":{\"A B\":\"x\"},"),
        START_BODY("\"parent_conversation_id\":\"11111111-2222-4333-8444-555555555555\","),
        "{\"text\":\"\xff\xfe\"}",
        "{\"agent\":\"\\ud800\"}",
    };
    int64_t n_before = test_sql_count("SELECT count(*) FROM conversations");

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        DISPATCH(answer, ALICE, "POST", "/api/conversations", bodies[i]);
        assert_answer(&answer, 422, "detail");
    }
    assert_int_equal(test_sql_count("SELECT count(*) FROM conversations"), n_before);
}

/* The status of a conversation's own sandbox in its ConversationInfo. */
static const char *runtime_status_of(json_t *info)
{
    return json_text_or(json_object_get(info, "runtime_info"), "runtime_status", "");
}

static void owner_reads_it_and_a_stranger_sees_not_found(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(owner, ALICE, "GET", path.text, NULL);
    DISPATCH(stranger, BOB, "GET", path.text, NULL);
    DISPATCH(nobody, NOBODY, "GET", path.text, NULL);
    json_auto_t *info = answer_json(&owner);

    assert_int_equal(owner.status, 200);
    assert_string_equal(runtime_status_of(info), "available");
    assert_answer_json(&stranger, 404, "{\"detail\":\"Not Found\"}");
    assert_answer_json(&nobody, 401, "{\"detail\":\"Unauthorized\"}");
}

static void id_may_be_written_as_hex(void **state)
{
    struct test_path path = test_conversation(*state);
    char hex[UUID_HEX_BYTES];
    char text[80];

    uuid_to_hex(&path.id, hex);
    (void)snprintf(text, sizeof(text), "/api/conversations/%s", hex);
    {
        DISPATCH(answer, ALICE, "GET", text, NULL);
        assert_answer(&answer, 200, path.id.text);
    }
}

static void bad_id_is_unprocessable(void **state)
{
    DISPATCH(answer, ALICE, "GET", "/api/conversations/12", NULL);

    assert_int_equal(answer.status, 422);
    assert_json_at(answer.body.text, "detail[0].loc", "[\"path\",\"conversation_id\"]");
    assert_answer(&answer, 422, "uuid_parsing");
}

static void each_of_a_list_shows_its_own_sandbox(void **state)
{
    struct test_path mine = test_conversation(*state);
    struct test_path other = test_conversation(*state);
    struct fixture *fixture = *state;
    char sql[500];

    (void)snprintf(sql, sizeof(sql),
                   "UPDATE conversations SET runtime_session = 'c-broken' WHERE id = '%s';"
                   "INSERT INTO runtimes (id, session_id, owner_id, status, status_detail, image,"
                   " spec, session_key, session_key_hash) VALUES ('brokenbrokenbrok', 'c-broken',"
                   " '%s', 'error', 'no room', 'i', '{}', 'k', 'h')",
                   mine.id.text, fixture->alice.text);
    test_sql(sql);
    (void)snprintf(sql, sizeof(sql), "/api/conversations?ids=%s&ids=%s&ids=%s", other.id.text,
                   mine.id.text, other.id.text);
    {
        DISPATCH(answer, ALICE, "GET", sql, NULL);
        json_auto_t *list = answer_json(&answer);

        for (size_t i = 0; i < json_array_size(list); i++) {
            assert_string_equal(runtime_status_of(json_array_get(list, i)),
                                i == 1 ? "error" : "available");
        }
        assert_int_equal(json_array_size(list), 3);
    }
    {
        DISPATCH(answer, ALICE, "GET", "/api/conversations/search?limit=2", NULL);
        json_auto_t *page = answer_json(&answer);
        json_t *items = json_object_get(page, "items");

        assert_int_equal(json_array_size(items), 2);
        assert_string_equal(runtime_status_of(json_array_get(items, 0)), "available");
        assert_string_equal(runtime_status_of(json_array_get(items, 1)), "error");
        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "items[0].runtime_info.runtime_error", "null");
        assert_json_at(answer.body.text, "items[1].runtime_info.runtime_error",
                       "{\"code\":\"start_failed\",\"message\":\"no room\"}");
    }
    test_sql("DELETE FROM runtimes WHERE session_id = 'c-broken'");
}

static void batch_keeps_the_order_and_says_null(void **state)
{
    struct test_path path = test_conversation(*state);
    char query[200];

    (void)snprintf(query, sizeof(query),
                   "/api/conversations?ids=11111111-2222-4333-8444-555555555555&ids=%s",
                   path.id.text);
    {
        DISPATCH(answer, ALICE, "GET", query, NULL);
        json_auto_t *list = NULL;

        assert_answer(&answer, 200, path.id.text);
        list = answer_json(&answer);
        assert_true(json_is_null(json_array_get(list, 0)));
        assert_true(json_is_object(json_array_get(list, 1)));
    }
    {
        DISPATCH(none, ALICE, "GET", "/api/conversations", NULL);
        DISPATCH(bad, ALICE, "GET", "/api/conversations?ids=x", NULL);

        assert_answer(&none, 422, "missing");
        assert_int_equal(bad.status, 422);
        assert_json_at(bad.body.text, "detail[0].loc", "[\"query\",\"ids\",0]");
    }
}

static void too_many_ids_are_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf query = STRBUF_INIT;

    strbuf_append(&query, "/api/conversations?x=1");
    for (int i = 0; i < 100; i++)
        strbuf_append(&query, "&ids=11111111222243338444555555555555");
    {
        DISPATCH(answer, ALICE, "GET", query.text, NULL);
        assert_answer(&answer, 422, "too_long");
    }
}

static void search_pages_through_all(void **state)
{
    struct test_path first = test_conversation(*state);
    struct test_path second = test_conversation(*state);
    DISPATCH(page, ALICE, "GET", "/api/conversations/search?limit=1", NULL);
    json_auto_t *json = answer_json(&page);
    char next[160];

    assert_answer(&page, 200, second.id.text);
    (void)snprintf(next, sizeof(next), "/api/conversations/search?limit=1&page_id=%s",
                   json_text_or(json, "next_page_id", ""));
    {
        DISPATCH(following, ALICE, "GET", next, NULL);
        assert_answer(&following, 200, first.id.text);
    }
}

/* The first of a list in that order. */
static void assert_first(void **state, const char *order, const struct test_path *path, bool is_it)
{
    char query[120];

    (void)snprintf(query, sizeof(query), "/api/conversations/search?limit=1&sort_order=%s", order);
    {
        DISPATCH(page, ALICE, "GET", query, NULL);

        assert_answer(&page, 200, "items");
        if ((strstr(page.body.text, path->id.text) != NULL) != is_it)
            fail_msg("%s: %.300s", order, page.body.text);
    }
}

static void order_is_by_creation_or_by_change_each_way(void **state)
{
    struct test_path changed = test_conversation(*state);
    struct test_path newest = test_conversation(*state);
    DISPATCH(patched, ALICE, "PATCH", test_under(&changed, ""), "{\"title\":\"Changed\"}");

    assert_answer(&patched, 200, "true");
    assert_first(state, "CREATED_AT_DESC", &newest, true);
    assert_first(state, "UPDATED_AT_DESC", &changed, true);
    assert_first(state, "CREATED_AT", &newest, false);
    assert_first(state, "UPDATED_AT", &changed, false);
    assert_first(state, "UPDATED_AT", &newest, false);
}

static void bad_search_parameters_are_named(void **state)
{
    DISPATCH(order, ALICE, "GET", "/api/conversations/search?sort_order=UP", NULL);
    DISPATCH(status, ALICE, "GET", "/api/conversations/search?status=busy", NULL);
    DISPATCH(limit, ALICE, "GET", "/api/conversations/search?limit=0", NULL);
    DISPATCH(page, ALICE, "GET", "/api/conversations/search?page_id=nonsense", NULL);

    assert_answer(&order, 422, "enum");
    assert_answer(&status, 422, "enum");
    assert_answer(&limit, 422, "greater_than");
    assert_answer(&page, 200, "items");
}

static void count_is_a_bare_number(void **state)
{
    DISPATCH(answer, BOB, "GET", "/api/conversations/count?status=finished", NULL);

    assert_answer_json(&answer, 200, "0");
    assert_int_equal(answer.body.len, 1);
}

static void deleted_conversation_is_gone_with_its_events(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), "{\"content\":[]}");
    DISPATCH(foreign, BOB, "DELETE", test_under(&path, ""), NULL);
    DISPATCH(deleted, ALICE, "DELETE", test_under(&path, ""), NULL);
    DISPATCH(again, ALICE, "DELETE", test_under(&path, ""), NULL);
    char sql[160];

    assert_answer_json(&sent, 200, SUCCESS);
    assert_answer(&foreign, 404, "Not Found");
    assert_answer_json(&deleted, 200, SUCCESS);
    assert_answer(&again, 404, "Not Found");
    (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM events WHERE conversation_id = '%s'",
                   path.id.text);
    assert_int_equal(test_sql_count(sql), 0);
}

static void title_and_tags_are_changed(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(patched, ALICE, "PATCH", test_under(&path, ""),
             "{\"title\":\"  Fix CI \",\"tags\":{\"team\":\"core\"}}");
    DISPATCH(foreign, BOB, "PATCH", test_under(&path, ""), "{\"title\":\"Mine\"}");
    DISPATCH(info, ALICE, "GET", test_under(&path, ""), NULL);
    DISPATCH(events, ALICE, "GET", test_under(&path, "/events/search"), NULL);

    assert_answer_json(&patched, 200, SUCCESS);
    assert_answer(&foreign, 404, "Not Found");
    assert_answer_member(&info, 200, "title", "Fix CI");
    assert_json_at(info.body.text, "tags", "{\"team\":\"core\"}");
    assert_int_equal(events.status, 200);
    assert_json_at(events.body.text, "items[0].key", "\"tags\"");
    assert_json_at(events.body.text, "items[0].value", "{\"team\":\"core\"}");
}

static void bad_titles_and_tags_change_nothing(void **state)
{
    static const char *const bodies[] = {
        "{\"title\":\"   \"}",
        "{\"title\":\"\"}",
        "{\"title\":7}",
        "{\"tags\":[]}",
        "{\"tags\":{\"a\":1}}",
        "{\"tags\":{\"A\":\"x\"}}",
        "{\"title\":\"ok\",\"tags\":{\"-\":\"x\"}}",
        "[]",
        "\"title\"",
    };
    struct test_path path = test_conversation(*state);

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        DISPATCH(answer, ALICE, "PATCH", path.text, bodies[i]);
        assert_answer(&answer, 422, "detail");
    }
    {
        DISPATCH(info, ALICE, "GET", path.text, NULL);
        assert_int_equal(info.status, 200);
        assert_json_at(info.body.text, "title", "null");
    }
}

static void secrets_are_sealed_and_never_shown(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(set, ALICE, "POST", test_under(&path, "/secrets"),
             "{\"secrets\":{\"TOKEN\":\"s3cret-value\"}}");
    DISPATCH(start, ALICE, "POST", "/api/conversations",
             START_BODY("\"secrets\":{\"PIN\":\"1234\"},"));
    DISPATCH(info, ALICE, "GET", test_under(&path, ""), NULL);
    DISPATCH(bad, ALICE, "POST", test_under(&path, "/secrets"), "{\"secrets\":{\"T\":5}}");
    DISPATCH(brief, ALICE, "POST", test_under(&path, "/secrets"),
             "{\"secrets\":{\"PIN\":\"1234\",\"LONG\":\"123456\"}}");
    DISPATCH(missing, ALICE, "POST", test_under(&path, "/secrets"), "{}");

    assert_answer_json(&set, 200, SUCCESS);
    assert_int_equal(info.status, 200);
    assert_json_at(info.body.text, "secret_registry.secret_sources.TOKEN.value", "null");
    assert_null(strstr(info.body.text, "s3cret-value"));
    assert_answer(&bad, 422, "detail");
    assert_answer(&missing, 422, "missing");
    assert_answer_json(&brief, 200, SUCCESS);
    assert_non_null(strstr(brief.head.text, "Warning: 299 deft \"These secrets are stored"));
    assert_non_null(strstr(brief.head.text, "fewer than 6 characters: PIN. Use longer values."));
    assert_null(strstr(set.head.text, "Warning"));
    assert_int_equal(start.status, 201);
    assert_json_at(start.body.text, "secret_registry.secret_sources.PIN.value", "null");
    assert_non_null(strstr(start.head.text, "fewer than 6 characters: PIN."));
    assert_int_equal(test_sql_count("SELECT count(*) FROM conversations"
                                    " WHERE secrets LIKE '%s3cret%' OR spec LIKE '%s3cret%'"),
                     0);
}

static void policy_and_analyzer_are_state_changes(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(policy, ALICE, "POST", test_under(&path, "/confirmation_policy"),
             "{\"policy\":{\"kind\":\"AlwaysConfirm\"}}");
    DISPATCH(analyzer, ALICE, "POST", test_under(&path, "/security_analyzer"),
             "{\"security_analyzer\":{\"kind\":\"LLMSecurityAnalyzer\"}}");
    DISPATCH(unknown, ALICE, "POST", test_under(&path, "/confirmation_policy"),
             "{\"policy\":{\"kind\":\"Sometimes\"}}");
    DISPATCH(absent, ALICE, "POST", test_under(&path, "/security_analyzer"), "{}");
    DISPATCH(info, ALICE, "GET", test_under(&path, ""), NULL);

    assert_answer_json(&policy, 200, SUCCESS);
    assert_answer_json(&analyzer, 200, SUCCESS);
    assert_answer(&unknown, 422, "value_error");
    assert_answer(&absent, 422, "missing");
    assert_answer(&info, 200, "AlwaysConfirm");
    assert_answer(&info, 200, "LLMSecurityAnalyzer");
}

#define GUARD_WITH(key)                                                                            \
    "{\"kind\":\"ToolShieldLLMSecurityAnalyzer\",\"llm\":{\"model\":\"m\",\"api_key\":\"" key "\"" \
    "}}"

/* Keys of an analyzer's model, or of its service, are sealed like all others. */
static void keys_of_analyzers_are_sealed(void **state)
{
    struct test_path path = test_conversation(*state);
    int64_t n_before = test_sql_count("SELECT sum(length(secrets)) FROM conversations");
    DISPATCH(guard, ALICE, "POST", test_under(&path, "/security_analyzer"),
             "{\"security_analyzer\":" GUARD_WITH("gu4rd-key-1") "}");
    DISPATCH(info, ALICE, "GET", test_under(&path, ""), NULL);
    int64_t n_after = test_sql_count("SELECT sum(length(secrets)) FROM conversations");
    DISPATCH(service, ALICE, "POST", test_under(&path, "/security_analyzer"),
             "{\"security_analyzer\":{\"kind\":\"EnsembleSecurityAnalyzer\",\"analyzers\":["
             "{\"kind\":\"GraySwanAnalyzer\",\"api_key\":\"gu4rd-key-2\"}]}}");
    DISPATCH(refused, ALICE, "POST", test_under(&path, "/security_analyzer"),
             "{\"security_analyzer\":{\"kind\":\"ToolShieldLLMSecurityAnalyzer\"}}");
    DISPATCH(events, ALICE, "GET", test_under(&path, "/events/search"), NULL);
    DISPATCH(start, ALICE, "POST", "/api/conversations",
             "{\"agent\":{\"llm\":{\"model\":\"m\"}},\"workspace\":{\"working_dir\":\"/w\"},"
             "\"security_analyzer\":" GUARD_WITH("gu4rd-key-3") "}");

    assert_answer_json(&guard, 200, SUCCESS);
    assert_answer_json(&service, 200, SUCCESS);
    assert_true(n_after > n_before);
    assert_json_at(info.body.text, "security_analyzer.llm.api_key", "null");
    assert_json_at(info.body.text, "security_analyzer.history_window", "20");
    assert_answer(&refused, 422, "missing");
    assert_int_equal(start.status, 201);
    assert_null(strstr(start.body.text, "gu4rd-key"));
    assert_null(strstr(info.body.text, "gu4rd-key"));
    assert_answer(&events, 200, "security_analyzer");
    assert_null(strstr(events.body.text, "gu4rd-key"));
    assert_int_equal(test_sql_count("SELECT count(*) FROM conversations"
                                    " WHERE secrets LIKE '%gu4rd%' OR spec LIKE '%gu4rd%'"),
                     0);
}

/* One of several clients that set a secret each, of the same conversation, at the same time. */
struct setter {
    void *state;
    const char *path;
    int n;
    int status;
    pthread_t thread;
};

static void *set_one(void *argument)
{
    struct setter *setter = argument;
    char body[64];

    (void)snprintf(body, sizeof(body), "{\"secrets\":{\"NAME_%d\":\"value\"}}", setter->n);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(setter->state, ALICE, "POST", setter->path, body);

        setter->status = answer.status;
    }
    return NULL;
}

/* The conversation's secrets, as they are kept. */
static json_t *opened_secrets(struct fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation kept = CONVERSATION_INIT;
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    struct conversation_scope scope = {.user_id = fixture->alice};
    struct error err = ERROR_INIT;
    json_t *secrets = NULL;
    char context[80];

    (void)snprintf(context, sizeof(context), "conversations.secrets:%s", id->text);
    if (conversation_store_load(fixture->context.db, &scope, id, &kept, &err) < 0 ||
        keyring_open(&fixture->context.keyring, context, kept.secrets, &plain, &err) < 0 ||
        json_parse(secret_reveal(&plain), plain.len, &secrets, &err) < 0)
        fail_msg("%s", err.message);
    return secrets;
}

static void secrets_that_are_set_at_once_are_all_kept(void **state)
{
    struct test_path path = test_conversation(*state);
    const char *where = test_under(&path, "/secrets");
    struct setter setters[N_SETTERS];
    json_auto_t *secrets = NULL;

    for (int i = 0; i < N_SETTERS; i++) {
        setters[i] = (struct setter){.state = *state, .path = where, .n = i};
        assert_int_equal(pthread_create(&setters[i].thread, NULL, set_one, &setters[i]), 0);
    }
    for (int i = 0; i < N_SETTERS; i++) {
        assert_int_equal(pthread_join(setters[i].thread, NULL), 0);
        assert_int_equal(setters[i].status, 200);
    }
    secrets = opened_secrets(*state, &path.id);
    assert_int_equal(json_object_size(json_object_get(secrets, "secrets")), N_SETTERS);
}

static void what_cannot_be_read_any_more_is_our_own_fault(void **state)
{
    struct test_path path = test_conversation(*state);
    char sql[300];

    DISPATCH(set, ALICE, "POST", test_under(&path, "/secrets"), "{\"secrets\":{\"A\":\"b\"}}");
    assert_answer_json(&set, 200, SUCCESS);
    (void)snprintf(sql, sizeof(sql), "UPDATE conversations SET secrets = 'v1.none' WHERE id = '%s'",
                   path.id.text);
    test_sql(sql);
    DISPATCH(sealed, ALICE, "POST", test_under(&path, "/secrets"), "{\"secrets\":{\"A\":\"b\"}}");
    assert_answer(&sealed, 500, "detail");
    (void)snprintf(sql, sizeof(sql), "UPDATE conversations SET spec = '{' WHERE id = '%s'",
                   path.id.text);
    test_sql(sql);
    DISPATCH(row, ALICE, "GET", test_under(&path, ""), NULL);
    assert_answer(&row, 500, "detail");
    (void)snprintf(sql, sizeof(sql), "DELETE FROM conversations WHERE id = '%s'", path.id.text);
    test_sql(sql);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_conversation_is_answered_whole),
        cmocka_unit_test(first_message_starts_a_run_before_the_answer),
        cmocka_unit_test(create_may_be_sent_again),
        cmocka_unit_test(bad_start_requests_leave_nothing),
        cmocka_unit_test(a_start_sent_again_waits_for_the_worktree),
        cmocka_unit_test(a_start_without_its_worktree_is_undone),
        cmocka_unit_test(a_start_that_no_job_finishes_is_undone),
        cmocka_unit_test(a_start_whose_worktree_was_added_late_remains),
        cmocka_unit_test(a_refused_start_is_refused_to_each_that_sends_it),
        cmocka_unit_test(a_refused_start_with_a_later_message_remains),
        cmocka_unit_test(a_pending_start_with_a_message_is_not_deleted),
        cmocka_unit_test(a_worktree_needs_a_free_slot),
        cmocka_unit_test(owner_reads_it_and_a_stranger_sees_not_found),
        cmocka_unit_test(id_may_be_written_as_hex),
        cmocka_unit_test(bad_id_is_unprocessable),
        cmocka_unit_test(each_of_a_list_shows_its_own_sandbox),
        cmocka_unit_test(batch_keeps_the_order_and_says_null),
        cmocka_unit_test(too_many_ids_are_refused),
        cmocka_unit_test(search_pages_through_all),
        cmocka_unit_test(order_is_by_creation_or_by_change_each_way),
        cmocka_unit_test(bad_search_parameters_are_named),
        cmocka_unit_test(count_is_a_bare_number),
        cmocka_unit_test(deleted_conversation_is_gone_with_its_events),
        cmocka_unit_test(title_and_tags_are_changed),
        cmocka_unit_test(bad_titles_and_tags_change_nothing),
        cmocka_unit_test(secrets_are_sealed_and_never_shown),
        cmocka_unit_test(secrets_that_are_set_at_once_are_all_kept),
        cmocka_unit_test(what_cannot_be_read_any_more_is_our_own_fault),
        cmocka_unit_test(policy_and_analyzer_are_state_changes),
        cmocka_unit_test(keys_of_analyzers_are_sealed),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
