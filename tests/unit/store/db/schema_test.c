/*
 * The schema's guarantees: which rows are refused, what goes with a row, what remains, and what
 * each process may do.
 */
#include "base/strbuf.h"
#include "store/db/db.h"
#include "store/db/db_query.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

/* Runs statements and discards what they did. */
#define DISCARDED(statements) "BEGIN; " statements "; ROLLBACK"
/* Fails unless the condition holds. */
#define ASSERT_THAT(condition) "DO $$ BEGIN ASSERT " condition "; END $$"

#define ID "'11111111-1111-4111-8111-111111111111'"

/* --- rows --- */

#define ADD_PASS(port)                                                                             \
    "WITH s AS (INSERT INTO sessions (user_id, token_hash, expires_at)"                            \
    "  SELECT id, 'schema', now() FROM users LIMIT 1 RETURNING id)"                                \
    " INSERT INTO preview_passes (token_hash, state_hash, session_id, runtime_id, port,"           \
    " expires_at) SELECT 'p', 's', s.id, r.id, " port ", now() FROM s, (SELECT id FROM runtimes"   \
    " LIMIT 1) r"
#define ADD_PREVIEW(port)                                                                          \
    "INSERT INTO preview_sessions (token_hash, session_id, runtime_id, port, expires_at)"          \
    " SELECT 'p', s.id, r.id, " port ", now() FROM sessions s, runtimes r LIMIT 1"
#define ADD_REFUSAL(port, count)                                                                   \
    "INSERT INTO egress_refusals SELECT id, 'r', 'p', 'h', " port ", " count                       \
    ", now(), now() FROM runtimes LIMIT 1"
#define ADD_EVENT(seq, id, result_of)                                                              \
    "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, result_of, body)"      \
    " VALUES (" ID ", " seq ", " id ", 'k', 's', 't', " result_of ", '{}')"
#define ADD_KEY(most)                                                                              \
    "INSERT INTO runtime_keys (user_id, name, key_hash, max_runtimes)"                             \
    " SELECT id, 'k', 'schema', " most " FROM users LIMIT 1"
#define ADD_BRANCH(parent_seq)                                                                     \
    "INSERT INTO branches SELECT id, 3, " parent_seq " FROM conversations LIMIT 1"
#define ADD_BUILD(id, status)                                                                      \
    "INSERT INTO image_builds (id, image, tags, context_hash, status)"                             \
    " VALUES ('" id "', 'i', '[]', 'h', '" status "')"
#define ADD_SIGN_IN(status)                                                                        \
    "INSERT INTO mcp_sign_ins (id, user_id, state_hash, status, body, sealed)"                     \
    " SELECT gen_random_uuid(), id, 'schema', '" status "', '{}', '' FROM users LIMIT 1"
#define ADD_CONFIG(count)                                                                          \
    "INSERT INTO warm_configs (name, image, memory_bytes, nano_cpus, count, config)"               \
    " VALUES ('schema', 'i', 1, 1, " count ", '{}')"

static void rows_at_the_borders_are_taken(void **state)
{
    static const char *const statements[] = {
        DISCARDED("UPDATE conversations SET lease_owner = gen_random_uuid(), lease_expires_at ="
                  " now()"),
        DISCARDED("UPDATE conversations SET execution_status = 'idle', runtime_kind = 'local'"),
        DISCARDED("UPDATE conversations SET execution_status = 'running', runtime_kind = 'docker'"),
        DISCARDED("UPDATE conversations SET execution_status = 'paused'"),
        DISCARDED("UPDATE conversations SET execution_status = 'waiting_for_confirmation'"),
        DISCARDED("UPDATE conversations SET execution_status = 'finished'"),
        DISCARDED("UPDATE conversations SET execution_status = 'error'"),
        DISCARDED("UPDATE conversations SET execution_status = 'stuck'"),
        DISCARDED("UPDATE conversations SET stop_requested = 'pause'"),
        DISCARDED("UPDATE conversations SET stop_requested = 'interrupt'"),
        DISCARDED(ADD_BRANCH("2")),
        DISCARDED("UPDATE users SET run_slots = 1, run_queue = 0, egress = 'list'"),
        DISCARDED("UPDATE users SET egress = 'internet'; UPDATE users SET egress = 'none'"),
        DISCARDED(ADD_KEY("1")),
        DISCARDED(ADD_KEY("1") "; UPDATE runtime_keys SET egress = 'list';"
                               " UPDATE runtime_keys SET egress = 'internet';"
                               " UPDATE runtime_keys SET egress = 'none'"),
        DISCARDED(ADD_PASS("1")),
        DISCARDED(ADD_PASS("65535")),
        DISCARDED(ADD_PREVIEW("1")),
        DISCARDED(ADD_PREVIEW("65535")),
        DISCARDED(ADD_REFUSAL("0", "1")),
        DISCARDED(ADD_REFUSAL("65535", "1")),
        DISCARDED(ADD_CONFIG("0")),
        DISCARDED(ADD_BUILD("a", "QUEUED") "; " ADD_BUILD("b", "SUCCESS")),
        DISCARDED(ADD_EVENT("1", ID, ID) "; " ADD_EVENT(
            "2", "gen_random_uuid()", "NULL") "; " ADD_EVENT("3", "gen_random_uuid()", "NULL")),
        /* Of the sandboxes of a session only one is live. */
        DISCARDED("UPDATE runtimes SET session_id = 'same', status = 'stopped'"),
        DISCARDED("UPDATE runtimes SET session_id = 'same', status = 'error'"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(statements); i++)
        test_sql(statements[i]);
}

static void rows_beyond_the_borders_are_refused(void **state)
{
    static const char *const statements[] = {
        "UPDATE conversations SET lease_owner = gen_random_uuid()",
        "UPDATE conversations SET lease_expires_at = now()",
        "UPDATE conversations SET execution_status = 'other'",
        "UPDATE conversations SET stop_requested = 'other'",
        "UPDATE conversations SET runtime_kind = 'other'",
        ADD_BRANCH("3"),
        "UPDATE users SET run_slots = 0",
        "UPDATE users SET budget_cents = -1",
        "UPDATE users SET daily_budget_cents = -1",
        "INSERT INTO spending SELECT id, '2026-01-01', id, -1 FROM users",
        "INSERT INTO budget_extensions SELECT id, '2026-01-01', 0 FROM users",
        "INSERT INTO model_outages SELECT id, now(), now(), now(), 0, 1, '' FROM conversations",
        "UPDATE users SET run_queue = -1",
        "UPDATE users SET egress = 'other'",
        "INSERT INTO users (email) SELECT upper(email) FROM users LIMIT 1",
        ADD_KEY("0"),
        "INSERT INTO jobs (kind) VALUES ('other')",
        "INSERT INTO server_init (is_only, settings) VALUES (false, '')",
        ADD_PASS("0"),
        ADD_PASS("65536"),
        ADD_PREVIEW("0"),
        ADD_PREVIEW("65536"),
        ADD_REFUSAL("-1", "1"),
        ADD_REFUSAL("65536", "1"),
        ADD_REFUSAL("0", "0"),
        ADD_SIGN_IN("other"),
        ADD_CONFIG("-1"),
        ADD_BUILD("c", "OTHER"),
        ADD_BUILD("c", "BUILDING"),
        ADD_EVENT("2", ID, "NULL"),
        ADD_EVENT("2", "gen_random_uuid()", ID),
        ADD_EVENT("1", "gen_random_uuid()", "NULL"),
        "UPDATE runtimes SET status = 'other'",
        "UPDATE runtimes SET desired = 'other'",
        "UPDATE runtimes SET session_key_hash = 'same'",
        "UPDATE runtimes SET session_id = 'same', status = 'starting'",
        "UPDATE runtimes SET session_id = 'same', status = 'running'",
        "UPDATE runtimes SET session_id = 'same', status = 'paused'",
        /* What a sandbox has read stays known. */
        "UPDATE secret_reads SET name = 'other'",
        "DELETE FROM secret_reads",
        "TRUNCATE secret_reads",
    };
    const struct store_fixture *fixture = *state;

    test_sql("INSERT INTO secret_reads (user_id, runtime_id, name) VALUES (" ID ", 'r', 'n')");
    test_sql("INSERT INTO sessions (user_id, token_hash, expires_at)"
             " SELECT id, 'live', now() FROM users LIMIT 1");
    test_sql(ADD_BUILD("a", "QUEUED"));
    test_sql(ADD_EVENT("1", ID, ID));
    for (size_t i = 0; i < ARRAY_SIZE(statements); i++) {
        CLEANUP(db_rows_done) PGresult *rows = NULL;
        struct error err = ERROR_INIT;

        if (db_query(fixture->db, statements[i], DB_NO_PARAMS, &rows, &err) == 0)
            fail_msg("passed: %s", statements[i]);
    }
}

/* --- what goes with a row --- */

static void users_things_go_with_the_user(void **state)
{
    (void)state;
    test_sql(DISCARDED(
        "INSERT INTO users (id, email) VALUES (" ID ", 'schema@test.invalid');"
        " INSERT INTO documents (user_id, collection, name, id, body) VALUES (" ID
        ", 'profiles', 'n', " ID ", '{}');"
        " INSERT INTO sign_in_links (token_hash, user_id, expires_at) VALUES ('l', " ID ", now());"
        " INSERT INTO sessions (user_id, token_hash, expires_at) VALUES (" ID ", 't', now());"
        " INSERT INTO api_keys (user_id, name, key_hash) VALUES (" ID ", 'n', 'h');"
        " INSERT INTO runtime_keys (id, user_id, name, key_hash) VALUES (" ID ", " ID ", 'n', 'h');"
        " INSERT INTO mcp_sign_ins (id, user_id, state_hash, status, body, sealed) VALUES (" ID
        ", " ID ", 'h', 'pending', '{}', '');"
        " INSERT INTO secret_reads (user_id, runtime_id, name) VALUES (" ID ", 'r', 'of user');"
        " INSERT INTO spending VALUES (" ID ", '2026-01-01', " ID ", 1);"
        " INSERT INTO budget_extensions VALUES (" ID ", '2026-01-01', 1);"
        " UPDATE conversations SET user_id = " ID ";"
        " UPDATE runtimes SET owner_id = " ID ", tenant_id = " ID ";"
        " INSERT INTO image_builds (id, tenant_id, image, tags, context_hash) VALUES ('z', " ID
        ", 'z', '[]', 'h');"
        " DELETE FROM users WHERE id = " ID
        ";" ASSERT_THAT("NOT EXISTS (SELECT 1 FROM documents WHERE user_id = " ID
                        ") AND NOT EXISTS (SELECT 1 FROM sign_in_links WHERE user_id = " ID
                        ") AND NOT EXISTS (SELECT 1 FROM sessions WHERE user_id = " ID
                        ") AND NOT EXISTS (SELECT 1 FROM api_keys WHERE user_id = " ID
                        ") AND NOT EXISTS (SELECT 1 FROM runtime_keys WHERE user_id = " ID
                        ") AND NOT EXISTS (SELECT 1 FROM mcp_sign_ins WHERE user_id = " ID
                        ") AND NOT EXISTS (SELECT 1 FROM spending WHERE user_id = " ID
                        ") AND NOT EXISTS (SELECT 1 FROM budget_extensions WHERE user_id = " ID
                        ") AND NOT EXISTS (SELECT 1 FROM conversations)") ";"
        /* Sandboxes and images are removed by the service, and the record of reads never. */
        ASSERT_THAT("(SELECT count(*) FROM runtimes WHERE owner_id IS NULL AND tenant_id IS NULL)"
                    " = 2 AND EXISTS (SELECT 1 FROM image_builds WHERE id = 'z' AND tenant_id IS"
                    " NULL) AND EXISTS (SELECT 1 FROM secret_reads WHERE name = 'of user')")));
}

static void parts_go_with_the_whole(void **state)
{
    (void)state;
    test_sql(DISCARDED(ADD_BRANCH(
        "2") ";"
             " INSERT INTO condensed_views SELECT id, 1, 0, 0, '{}' FROM conversations LIMIT 1;"
             " INSERT INTO checkpoints (conversation_id, seq, runtime_session, runtime_id, details)"
             "  SELECT conversation_id, 1, 's', 'r', '{}' FROM branches;"
             " UPDATE conversations SET parent_id = (SELECT conversation_id FROM branches)"
             "  WHERE id <> (SELECT conversation_id FROM branches);"
             " DELETE FROM conversations WHERE id = (SELECT conversation_id FROM "
             "branches);" ASSERT_THAT(
                 "NOT EXISTS (SELECT 1 FROM branches) AND NOT EXISTS (SELECT 1 FROM"
                 " condensed_views) AND NOT EXISTS (SELECT 1 FROM checkpoints)"
                 " AND (SELECT count(*) FROM conversations"
                 " WHERE parent_id IS NULL) = 1")));
    test_sql(DISCARDED(
        "INSERT INTO webhooks (id) VALUES ('w');"
        " INSERT INTO webhook_cursors (webhook_id, conversation_id, seq) VALUES ('w', " ID ", 0);"
        " INSERT INTO webhook_leftovers VALUES ('w', " ID ", 1, '{}');"
        " DELETE FROM webhooks WHERE id = 'w';" ASSERT_THAT(
            "NOT EXISTS (SELECT 1 FROM webhook_cursors WHERE webhook_id = 'w') AND NOT"
            " EXISTS (SELECT 1 FROM webhook_leftovers WHERE webhook_id = 'w')")));
    test_sql(DISCARDED(ADD_PASS("1") "; " ADD_PREVIEW("1") "; " ADD_REFUSAL(
        "1", "1") ";"
                  " DELETE FROM runtimes;" ASSERT_THAT(
                      "NOT EXISTS (SELECT 1 FROM preview_passes) AND NOT EXISTS"
                      " (SELECT 1 FROM preview_sessions) AND NOT EXISTS (SELECT 1"
                      " FROM egress_refusals)")));
    test_sql(DISCARDED(ADD_PASS("1") "; " ADD_PREVIEW("1") "; DELETE FROM sessions;" ASSERT_THAT(
        "NOT EXISTS (SELECT 1 FROM preview_passes) AND NOT EXISTS"
        " (SELECT 1 FROM preview_sessions)")));
}

/* --- rights --- */

static void assert_rights(const char *role, const char *right, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "DO $$ DECLARE found text; BEGIN SELECT coalesce(string_agg(relname, ' ' ORDER"
                   " BY relname), '') INTO found FROM pg_class WHERE relnamespace = 'public'"
                   "::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"
                   " AND has_table_privilege('%s', oid, '%s'); ASSERT found = '%s', found; END $$",
                   role, right, expected);
    test_sql(sql.text);
}

static void each_process_may_do_what_it_needs(void **state)
{
    static const struct {
        const char *role;
        const char *right;
        const char *tables;
    } cases[] = {
        {"deft_fcgi", "SELECT",
         "api_keys branches budget_extensions checkpoints conversations documents events jobs"
         " mcp_grant_tokens mcp_grants mcp_sign_ins model_outages preview_passes"
         " preview_sessions runtime_keys runtimes secret_reads server_init sessions sign_in_links "
         "spending"
         " task_waits users warm_configs webhook_cursors webhooks"},
        {"deft_fcgi", "INSERT",
         "api_keys branches budget_extensions checkpoints conversations documents events jobs"
         " mcp_grant_tokens mcp_grants mcp_sign_ins preview_passes preview_sessions"
         " runtime_keys secret_reads server_init sessions sign_in_links users"
         " webhook_cursors webhook_leftovers"},
        {"deft_fcgi", "UPDATE",
         "api_keys branches budget_extensions conversations documents mcp_grants"
         " mcp_sign_ins runtime_keys runtimes sessions sign_in_links users"
         " webhook_cursors"},
        {"deft_fcgi", "DELETE",
         "conversations documents events jobs mcp_grant_tokens mcp_grants mcp_sign_ins"
         " preview_passes preview_sessions sessions sign_in_links task_waits"},
        {"deft_gateway", "SELECT",
         "api_keys branches conversations events jobs runtimes server_init sessions"
         " users"},
        {"deft_gateway", "INSERT", "events jobs"},
        {"deft_gateway", "UPDATE", "conversations"},
        {"deft_gateway", "DELETE", ""},
        {"deft_worker", "SELECT",
         "branches budget_extensions checkpoints condensed_views conversations documents events"
         " jobs mcp_grant_tokens mcp_grants model_outages server_init spending task_waits users"
         " webhook_cursors webhook_leftovers webhooks"},
        {"deft_worker", "INSERT",
         "checkpoints condensed_views conversations events jobs mcp_grant_tokens mcp_grants"
         " model_outages spending task_waits webhook_cursors webhooks"},
        {"deft_worker", "UPDATE",
         "condensed_views conversations jobs mcp_grants model_outages spending task_waits"
         " webhook_cursors webhooks"},
        {"deft_worker", "DELETE",
         "jobs mcp_grant_tokens mcp_grants task_waits webhook_cursors webhooks"},
        {"deft_runtime", "SELECT",
         "admin_logins conversations egress_refusals image_builds runtime_keys runtimes"
         " users warm_configs warm_sandboxes"},
        {"deft_runtime", "INSERT",
         "admin_logins egress_refusals image_builds runtimes warm_configs warm_sandboxes"},
        {"deft_runtime", "UPDATE",
         "admin_logins egress_refusals image_builds runtimes warm_configs warm_sandboxes"},
        {"deft_runtime", "DELETE",
         "admin_logins egress_refusals image_builds runtimes warm_configs warm_sandboxes"},
        {"deft_fcgi", "TRUNCATE", ""},
        {"deft_gateway", "TRUNCATE", ""},
        {"deft_worker", "TRUNCATE", ""},
        {"deft_runtime", "TRUNCATE", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_rights(cases[i].role, cases[i].right, cases[i].tables);
    /* Locking a row needs the right to update a column of it. */
    test_sql(ASSERT_THAT("has_column_privilege('deft_worker', 'users', 'name', 'UPDATE')"
                         " AND NOT has_column_privilege('deft_worker', 'users', 'email', 'UPDATE')"
                         " AND has_column_privilege('deft_runtime', 'runtime_keys', 'name',"
                         "  'UPDATE') AND NOT has_column_privilege('deft_runtime', 'runtime_keys',"
                         "  'key_hash', 'UPDATE')"));
    test_sql(ASSERT_THAT("NOT EXISTS (SELECT 1 FROM unnest(ARRAY['deft_fcgi', 'deft_gateway',"
                         " 'deft_worker', 'deft_runtime']) AS role_name WHERE"
                         " has_schema_privilege(role_name, 'public', 'CREATE'))"));
}

/* Later tables are given to the processes by default: the gateway only reads them. */
static void later_table_is_read_by_all_and_written_by_all_but_the_gateway(void **state)
{
    (void)state;
    test_sql(DISCARDED("CREATE TABLE later (id bigint);" ASSERT_THAT(
        "has_table_privilege('deft_gateway', 'later', 'SELECT')"
        " AND NOT has_table_privilege('deft_gateway', 'later', 'INSERT')"
        " AND NOT has_table_privilege('deft_gateway', 'later', 'UPDATE')"
        " AND NOT has_table_privilege('deft_gateway', 'later', 'DELETE')") ";" ASSERT_THAT("(SELECT"
                                                                                           " bool_"
                                                                                           "and("
                                                                                           "has_"
                                                                                           "table_"
                                                                                           "privile"
                                                                                           "ge(r, "
                                                                                           "'later'"
                                                                                           ", p)) "
                                                                                           "FROM"
                                                                                           " unnest"
                                                                                           "(ARRAY["
                                                                                           "'deft_"
                                                                                           "fcgi', "
                                                                                           "'deft_"
                                                                                           "worker'"
                                                                                           ", "
                                                                                           "'deft_"
                                                                                           "runtime"
                                                                                           "']) AS "
                                                                                           "r,"
                                                                                           " unnest"
                                                                                           "(ARRAY["
                                                                                           "'SELECT"
                                                                                           "', "
                                                                                           "'INSERT"
                                                                                           "', "
                                                                                           "'UPDATE"
                                                                                           "', "
                                                                                           "'DELETE"
                                                                                           "']) AS "
                                                                                           "p)")));
}

static int set_up(void **state)
{
    int rc = store_set_up(state);

    for (int i = 0; i < 2; i++) {
        CLEANUP(conversation_done) struct conversation conversation = store_create(*state);
        CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(*state);
    }
    return rc;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_at_the_borders_are_taken),
        cmocka_unit_test(users_things_go_with_the_user),
        cmocka_unit_test(parts_go_with_the_whole),
        cmocka_unit_test(rows_beyond_the_borders_are_refused),
        cmocka_unit_test(each_process_may_do_what_it_needs),
        cmocka_unit_test(later_table_is_read_by_all_and_written_by_all_but_the_gateway),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, set_up, store_tear_down);
}
