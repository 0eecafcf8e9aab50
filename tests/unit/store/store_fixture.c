#include "store/store_fixture.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/event_store.h"
#include "store/db/db.h"
#include "support/pg.h"
#include "support/sql.h"

enum { CONNECTIONS = 8 };

static const char ROOT[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

int store_set_up(void **state)
{
    struct store_fixture *fixture = NEW(struct store_fixture);

    json_setup();
    fixture->db = test_db_open(CONNECTIONS);
    fixture->user_id = test_user(fixture->db);
    fixture->scope.user_id = fixture->user_id;
    *state = fixture;
    return 0;
}

int store_tear_down(void **state)
{
    struct store_fixture *fixture = *state;

    db_free(fixture->db);
    mem_free(fixture);
    return 0;
}

void assert_done(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s: %s", err->where, err->message);
}

struct conversation store_new_conversation(const struct store_fixture *fixture)
{
    struct conversation conversation = CONVERSATION_INIT;

    conversation.id = uuid_random();
    conversation.user_id = fixture->user_id;
    conversation.runtime_session = mem_dup_text("u-test");
    conversation.spec = json_object();
    return conversation;
}

static struct conversation create(const struct store_fixture *fixture,
                                  const struct conversation_write *write)
{
    struct conversation conversation = store_new_conversation(fixture);
    struct event_list none = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;
    bool was_there = true;

    assert_done(
        conversation_store_create(fixture->db, &conversation, &none, write, &was_there, &err),
        &err);
    assert_false(was_there);
    return conversation;
}

struct conversation store_create(const struct store_fixture *fixture)
{
    struct conversation_write write = {.guard = GUARD_NONE};

    return create(fixture, &write);
}

struct conversation store_create_wanted(const struct store_fixture *fixture)
{
    struct conversation_write write = {.guard = GUARD_NONE, .want_run = true, .status = "running"};

    return create(fixture, &write);
}

void store_open_document_scope(const struct store_fixture *fixture,
                               struct test_document_scope *scope_out)
{
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    struct error err = ERROR_INIT;

    secret_set(&root, ROOT);
    assert_done(keyring_init(&scope_out->keyring, &root, &err), &err);
    scope_out->scope =
        (struct document_scope){fixture->db, &scope_out->keyring, test_user(fixture->db)};
}

struct runtime store_add_runtime(const struct store_fixture *fixture)
{
    struct runtime runtime = RUNTIME_INIT;
    struct uuid random = uuid_random();
    char hex[UUID_HEX_BYTES];
    struct error err = ERROR_INIT;

    uuid_to_hex(&random, hex);
    memcpy(runtime.id, hex, sizeof(runtime.id) - 1);
    runtime.session_id = mem_dup_text(random.text);
    runtime.owner_id = fixture->user_id;
    runtime.image = mem_dup_text("deft-sandbox:1");
    runtime.spec = json_object();
    runtime.session_key = mem_dup_text("sealed");
    memcpy(runtime.session_key_hash, random.text, sizeof(random.text));
    assert_done(runtime_store_add(fixture->db, &runtime, 0, &err), &err);
    runtime.network = mem_dup_text(random.text);
    runtime.status = RUNTIME_RUNNING;
    assert_done(runtime_store_update(fixture->db, &runtime, RUNTIME_STARTING, &err), &err);
    return runtime;
}

struct claim store_claim(const struct store_fixture *fixture, const struct conversation *wanted)
{
    struct error err = ERROR_INIT;

    for (int i = 0; i < 100; i++) {
        struct claim claim = {.conversation = CONVERSATION_INIT};
        struct uuid owner = uuid_random();
        bool claimed = false;

        if (conversation_store_claim(fixture->db, &owner, 1000, &claimed, &claim, &err) < 0)
            fail_msg("%s", err.message);
        assert_true(claimed);
        if (text_equal(claim.lease.conversation_id.text, wanted->id.text))
            return claim;
        claim_done(&claim);
    }
    fail_msg("never claimed");
    return (struct claim){.conversation = CONVERSATION_INIT};
}

/* Filters read the column, clients the body. */
static void assert_stamps_are_the_bodies(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM events WHERE conversation_id = '%s'"
                   " AND timestamp <> body::jsonb ->> 'timestamp'",
                   id->text);
    assert_int_equal(test_sql_count(sql.text), 0);
}

void store_assert_gapless(const struct store_fixture *fixture, const struct uuid *id,
                          int64_t n_expected)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;
    const char *last = "";

    if (event_store_load_after(fixture->db, id, &history, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(history.n, n_expected);
    assert_stamps_are_the_bodies(id);
    for (size_t i = 0; i < history.n; i++) {
        const char *stamp = json_text_or(stored_event_json(&history.items[i]), "timestamp", "");

        assert_int_equal(history.items[i].seq, i + 1);
        assert_true(strcmp(last, stamp) < 0);
        last = stamp;
    }
}

void store_expire_lease(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_expires_at = now() - interval '1 s'"
                   " WHERE id = '%s'",
                   id->text);
    test_sql(sql.text);
}
