#include "store/conversation/conversation_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/limits.h"
#include "store/conversation/conversation_page_sql.h"
#include "store/conversation/conversation_row.h"
#include "store/conversation/webhook_sql.h"
#include "store/db/db_hint.h"
#include "store/db/db_query.h"

static const char SQL_LOAD[] =
    "SELECT " CONVERSATION_COLUMNS " FROM conversations c" CONVERSATION_LOG_END
    " WHERE c.id = $1::uuid AND c.user_id = $2::uuid AND ($3::text IS NULL OR c.runtime_session = "
    "$3)";

static const char SQL_LOAD_ANY[] =
    "SELECT " CONVERSATION_COLUMNS " FROM conversations c" CONVERSATION_LOG_END
    " WHERE c.id = $1::uuid";

static const char SQL_LOAD_MANY[] =
    "SELECT " CONVERSATION_COLUMNS " FROM conversations c" CONVERSATION_LOG_END
    " WHERE c.id = ANY ($1::uuid[]) AND c.user_id = $2::uuid"
    " AND ($3::text IS NULL OR c.runtime_session = $3)";

static const char SQL_CHECK[] =
    "SELECT 1 FROM conversations c WHERE c.id = $1::uuid AND c.user_id = $2::uuid"
    " AND ($3::text IS NULL OR c.runtime_session = $3)";

static const char SQL_FENCE[] = "SELECT lease_fence FROM conversations WHERE id = $1::uuid";

/* The bound guards against a cycle, which no code creates. */
static const char SQL_DEPTH[] =
    "WITH RECURSIVE line (id, parent_id, n) AS ("
    "  SELECT id, parent_id, 0 FROM conversations WHERE id = $1::uuid"
    "  UNION ALL SELECT p.id, p.parent_id, line.n + 1 FROM line"
    "   JOIN conversations p ON p.id = line.parent_id WHERE line.n < 100)"
    " SELECT max(n), (SELECT count(*) FROM conversations k WHERE k.parent_id = $1::uuid) FROM line";

#define REVOKE_TRIES 3
static const char *const SQL_SEARCHES[2][2] =
    CONVERSATION_SEARCHES(CONVERSATION_COLUMNS, CONVERSATION_LOG_END);

static const char SQL_COUNT[] = "SELECT count(*) FROM conversations c WHERE c.user_id = $1::uuid"
                                " AND ($2::text IS NULL OR c.runtime_session = $2)"
                                " AND ($3::text IS NULL OR c.execution_status = $3)";

/*
 * First the lease is revoked, in a transaction of its own, so that no new append can start. Then
 * the row is locked exclusively, also against appends in progress, so that the deleting statement
 * sees what they wrote.
 */
static const char SQL_REVOKE[] =
    "WITH RECURSIVE line (id, n) AS ("
    "  SELECT c.id, 0 FROM conversations c WHERE c.id = $1::uuid AND c.user_id = $2::uuid"
    "   AND ($3::text IS NULL OR c.runtime_session = $3)"
    "  UNION ALL SELECT k.id, line.n + 1 FROM line"
    "   JOIN conversations k ON k.parent_id = line.id WHERE k.is_sub_agent),"
    " held AS (SELECT c.id, line.n FROM conversations c JOIN line ON line.id = c.id"
    "  ORDER BY line.n, c.id FOR NO KEY UPDATE OF c),"
    " revoked AS (UPDATE conversations c SET lease_fence = lease_fence + 1, lease_owner = NULL,"
    "   lease_expires_at = NULL, wanted_at = NULL FROM held WHERE c.id = held.id"
    "  RETURNING c.id, held.n)"
    " SELECT EXISTS (SELECT 1 FROM webhooks), id FROM revoked ORDER BY n DESC, id";

static const char SQL_SUB_AGENTS[] =
    "WITH RECURSIVE line (id) AS ("
    "  SELECT $1::uuid UNION ALL SELECT k.id FROM line"
    "   JOIN conversations k ON k.parent_id = line.id WHERE k.is_sub_agent)"
    " SELECT id FROM line WHERE id <> $1::uuid";

static const char SQL_LOCK[] = "SELECT 1 FROM conversations WHERE id = $1::uuid FOR UPDATE";

/*
 * As above, unless the start has succeeded or a user has written to the conversation since. The
 * state is checked under the lock: until the commit neither can happen any more.
 */
static const char SQL_LOCK_UNFINISHED[] =
    "SELECT 1 FROM conversations c WHERE c.id = $1::uuid AND c.user_id = $2::uuid"
    " AND ($3::text IS NULL OR c.runtime_session = $3)"
    " AND c.agent_state::json -> '" AGENT_STATE_WORKTREE "' IS NOT NULL"
    " AND c.last_user_message_id IS NULL AND c.wanted_at IS NULL FOR UPDATE";

/*
 * Deletions of conversations with the same sandbox take turns: each sees which ones are left. The
 * last one would not know that it is, if the others were not committed yet.
 */
static const char SQL_LOCK_SANDBOX[] =
    "SELECT 1 FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id"
    " WHERE c.id = $1::uuid AND r.session_id LIKE 'c-%' ORDER BY r.id FOR NO KEY UPDATE OF r";
/*
 * A conversation's own sandbox ("c-…") is deleted with the last conversation that works in it: its
 * children may, too. A job ends its sessions at MCP servers.
 */
static const char SQL_DELETE[] =
    "WITH gone AS (DELETE FROM conversations WHERE id = $1::uuid"
    "  RETURNING id, runtime_session, created_at, agent_state),"
    " " WEBHOOK_PART ","
    " dropped AS (DELETE FROM jobs j USING gone WHERE j.conversation_id = gone.id),"
    " ended AS (INSERT INTO jobs (kind, conversation_id, payload)"
    "  SELECT '" JOB_END_SESSIONS "', id, jsonb_build_object('sessions',"
    "   agent_state::jsonb -> '" AGENT_STATE_SERVER_SESSIONS "') FROM gone"
    "  WHERE agent_state::jsonb -> '" AGENT_STATE_SERVER_SESSIONS "' <> '{}'),"
    " cleared AS (DELETE FROM events e USING gone WHERE e.conversation_id = gone.id),"
    " released AS (UPDATE runtimes r SET desired = 'deleted', updated_at = now() FROM gone"
    "  WHERE r.session_id = gone.runtime_session AND r.session_id LIKE 'c-%'"
    "  AND NOT EXISTS (SELECT 1 FROM conversations o"
    "   WHERE o.runtime_session = gone.runtime_session AND o.id <> gone.id) RETURNING r.id)"
    " SELECT (SELECT count(*) FROM gone),"
    "  (SELECT count(pg_notify('deft_callers', id)) FROM released)";

int conversation_store_load(struct db *db, const struct conversation_scope *scope,
                            const struct uuid *id, struct conversation *conversation_out,
                            struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LOAD, DB_PARAMS(id->text, scope->user_id.text, scope->runtime_session),
                &rows, err) < 0)
        return error_wrap(err, "loading conversation %s", id->text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "Conversation not found: %s", id->text);
    return conversation_row_read(rows, 0, 0, conversation_out, err);
}

int conversation_store_load_any(struct db *db, const struct uuid *id,
                                struct conversation *conversation_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_LOAD_ANY, DB_PARAMS(id->text), &rows, err) < 0)
        return error_wrap(err, "loading conversation %s", id->text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "Conversation not found: %s", id->text);
    return conversation_row_read(rows, 0, 0, conversation_out, err);
}

int conversation_store_check(struct db *db, const struct conversation_scope *scope,
                             const struct uuid *id, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_CHECK, DB_PARAMS(id->text, scope->user_id.text, scope->runtime_session),
                &rows, err) < 0)
        return error_wrap(err, "finding conversation %s", id->text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "Conversation not found: %s", id->text);
    return 0;
}

int conversation_store_load_fence(struct db *db, const struct uuid *id, int64_t *fence_out,
                                  struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_FENCE, DB_PARAMS(id->text), &rows, err) < 0)
        return error_wrap(err, "reading the fence of %s", id->text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "Conversation not found: %s", id->text);
    *fence_out = db_number(rows, 0, 0);
    return 0;
}

int conversation_store_check_child(struct db *db, const struct uuid *id, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_DEPTH, DB_PARAMS(id->text), &rows, err) < 0)
        return error_wrap(err, "finding the ancestors of %s", id->text);
    if (db_number(rows, 0, 0) >= CHILD_DEPTH_MAX)
        return error_set(
            err, ERROR_INVALID,
            "Child conversations can be nested at most %d deep, and this one is at that depth",
            CHILD_DEPTH_MAX);
    if (db_number(rows, 0, 1) >= CHILDREN_MAX)
        return error_set(
            err, ERROR_INVALID,
            "A conversation can start at most %d others, and this one has started that many",
            CHILDREN_MAX);
    return 0;
}

void uuid_list_done(struct uuid_list *list)
{
    mem_free(list->items);
    *list = (struct uuid_list){NULL, 0};
}

void conversation_page_done(struct conversation_page *page)
{
    for (size_t i = 0; i < page->n; i++)
        conversation_done(&page->items[i]);
    mem_free(page->items);
    *page = (struct conversation_page){0};
}

/* The statement reads one row more than a page: it is the first of the next page. */
static int fill_page(const PGresult *rows, int64_t limit, struct conversation_page *page,
                     struct error *err)
{
    int n = PQntuples(rows);

    if (n > limit) {
        page->next_id = db_cell_uuid(rows, (int)limit, 0);
        n = (int)limit;
    }
    page->items = mem_alloc_array((size_t)n, sizeof(*page->items));
    for (int i = 0; i < n; i++) {
        page->items[i] = (struct conversation)CONVERSATION_INIT;
        page->n = (size_t)i + 1;
        if (conversation_row_read(rows, i, 0, &page->items[i], err) < 0)
            return -1;
    }
    return 0;
}

int conversation_store_load_many(struct db *db, const struct conversation_scope *scope,
                                 const struct uuid *ids, size_t n,
                                 struct conversation_page *page_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(strbuf_done) struct strbuf array = STRBUF_INIT;
    CLEANUP(conversation_page_done) struct conversation_page page = {0};

    db_array_begin(&array);
    for (size_t i = 0; i < n; i++)
        db_array_add(&array, ids[i].text);
    db_array_end(&array);
    if (db_read(db, SQL_LOAD_MANY,
                DB_PARAMS(array.text, scope->user_id.text, scope->runtime_session), &rows,
                err) < 0 ||
        fill_page(rows, (int64_t)n, &page, err) < 0)
        return error_wrap(err, "loading %zu conversations", n);
    *page_out = page;
    page = (struct conversation_page){0};
    return 0;
}

int conversation_store_search(struct db *db, const struct conversation_filter *filter,
                              struct conversation_page *page_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(conversation_page_done) struct conversation_page page = {0};
    struct db_int limit = db_int(filter->limit);

    if (db_read(db, SQL_SEARCHES[filter->by_updated][filter->ascending],
                DB_PARAMS(filter->scope.user_id.text, filter->scope.runtime_session, filter->status,
                          db_uuid(&filter->from_id), limit.text),
                &rows, err) < 0 ||
        fill_page(rows, filter->limit, &page, err) < 0)
        return error_wrap(err, "listing conversations");
    *page_out = page;
    page = (struct conversation_page){0};
    return 0;
}

int conversation_store_count(struct db *db, const struct conversation_filter *filter,
                             int64_t *n_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(
            db, SQL_COUNT,
            DB_PARAMS(filter->scope.user_id.text, filter->scope.runtime_session, filter->status),
            &rows, err) < 0)
        return error_wrap(err, "counting conversations");
    *n_out = db_number(rows, 0, 0);
    return 0;
}

/* The last ConversationInfo for webhook receivers. */
static int make_farewell(struct db *db, const struct uuid *id, char **text_out, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *info = NULL;

    if (conversation_store_load_any(db, id, &conversation, err) < 0)
        return -1;
    info = conversation_info_brief(&conversation);
    json_put_text(info, "execution_status", STATUS_DELETING);
    *text_out = json_to_text(info);
    return 0;
}

/* Deletes the row that the transaction has locked. farewell: NULL: there are no receivers. */
static int delete_locked(struct db *db, struct db_tx *tx, const struct uuid *id,
                         const char *farewell, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *locked = NULL;
    CLEANUP(db_rows_done) PGresult *deleted = NULL;
    int rc = 0;

    if (db_tx_query(tx, SQL_LOCK_SANDBOX, DB_PARAMS(id->text), &locked, err) < 0 ||
        db_tx_query(tx, SQL_DELETE, DB_PARAMS(id->text, farewell), &deleted, err) < 0)
        return -1;
    rc = db_tx_commit(tx, err);
    if (!db_hint_is_due(rc, err))
        return rc;
    /* Its worker stops; a parent may be waiting for its end. */
    db_hint(db, 1U << HINT_CONTROL | 1U << HINT_EVENTS | 1U << HINT_WORK, id->text);
    if (db_number(deleted, 0, 1) > 0)
        db_hint(db, 1U << HINT_RUNTIME, id->text);
    return rc;
}

/* wants_farewell: there are webhook receivers. */
static int delete_one(struct db *db, const struct uuid *id, bool wants_farewell, struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(db_rows_done) PGresult *locked = NULL;
    CLEANUP(mem_freep) char *farewell = NULL;

    if ((wants_farewell && make_farewell(db, id, &farewell, err) < 0) ||
        db_tx_begin(db, &tx, err) < 0 ||
        db_tx_query(&tx, SQL_LOCK, DB_PARAMS(id->text), &locked, err) < 0)
        return -1;
    return delete_locked(db, &tx, id, farewell, err);
}

/* Repeats until no further descendant is found: then none of them has a lease to start another. */
static int revoke_line(struct db *db, const struct conversation_scope *scope, const struct uuid *id,
                       PGresult **rows_out, struct error *err)
{
    int n_before = 0;

    do {
        PGresult *rows = NULL;

        n_before = *rows_out != NULL ? PQntuples(*rows_out) : 0;
        if (db_query(db, SQL_REVOKE,
                     DB_PARAMS(id->text, scope->user_id.text, scope->runtime_session), &rows,
                     err) < 0)
            return -1;
        db_rows_done(rows_out);
        *rows_out = rows;
    } while (PQntuples(*rows_out) > n_before);
    return 0;
}

/* Renewals lock in another order, so PostgreSQL may abort one side of a deadlock. */
static int revoke_line_again(struct db *db, const struct conversation_scope *scope,
                             const struct uuid *id, PGresult **rows_out, struct error *err)
{
    for (int i = 1; i < REVOKE_TRIES; i++) {
        if (revoke_line(db, scope, id, rows_out, err) == 0)
            return 0;
        if (err->code != ERROR_CONFLICT)
            return -1;
    }
    return revoke_line(db, scope, id, rows_out, err);
}

int conversation_store_delete(struct db *db, const struct conversation_scope *scope,
                              const struct uuid *id, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *revoked = NULL;

    if (revoke_line_again(db, scope, id, &revoked, err) < 0)
        return error_wrap(err, "deleting conversation %s", id->text);
    if (PQntuples(revoked) == 0)
        return error_set(err, ERROR_NOT_FOUND, "Conversation not found: %s", id->text);
    /* The requested conversation comes last: as long as it exists, the deletion can be repeated. */
    for (int row = 0; row < PQntuples(revoked); row++) {
        struct uuid one = db_cell_uuid(revoked, row, 1);

        if (delete_one(db, &one, db_bool(revoked, row, 0), err) < 0)
            return error_wrap(err, "deleting conversation %s", one.text);
    }
    return 0;
}

int conversation_store_undo_start(struct db *db, const struct conversation_scope *scope,
                                  const struct uuid *id, bool *is_undone_out, struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    CLEANUP(db_rows_done) PGresult *locked = NULL;
    CLEANUP(mem_freep) char *farewell = NULL;
    struct error failure = ERROR_INIT;

    if (make_farewell(db, id, &farewell, &failure) < 0 && failure.code != ERROR_NOT_FOUND) {
        *err = failure;
        return -1;
    }
    if (db_tx_begin(db, &tx, err) < 0 ||
        db_tx_query(&tx, SQL_LOCK_UNFINISHED,
                    DB_PARAMS(id->text, scope->user_id.text, scope->runtime_session), &locked,
                    err) < 0)
        return error_wrap(err, "undoing the start of %s", id->text);
    if (PQntuples(locked) == 0) {
        *is_undone_out = false;
        return 0;
    }
    if (delete_locked(db, &tx, id, farewell, err) < 0)
        return error_wrap(err, "undoing the start of %s", id->text);
    *is_undone_out = true;
    return 0;
}

int conversation_store_list_sub_agents(struct db *db, const struct uuid *id,
                                       struct uuid_list *ids_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_SUB_AGENTS, DB_PARAMS(id->text), &rows, err) < 0)
        return error_wrap(err, "listing the sub-agents of %s", id->text);
    ids_out->n = (size_t)PQntuples(rows);
    ids_out->items = mem_alloc_array(ids_out->n, sizeof(*ids_out->items));
    for (size_t i = 0; i < ids_out->n; i++)
        ids_out->items[i] = db_cell_uuid(rows, (int)i, 0);
    return 0;
}
