#include "store/user/document_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/db_query.h"

#define COLUMNS                                                                                    \
    "name, id, revision, body, sealed, (extract(epoch FROM created_at) * 1000000)::bigint,"        \
    " (extract(epoch FROM updated_at) * 1000000)::bigint"

static const char SQL_GET[] = "SELECT " COLUMNS " FROM documents"
                              " WHERE user_id = $1::uuid AND collection = $2 AND name = $3";
static const char SQL_GET_BY_ID[] =
    "SELECT " COLUMNS " FROM documents"
    " WHERE user_id = $1::uuid AND collection = $2 AND id = $3::uuid";
static const char SQL_LIST[] = "SELECT " COLUMNS " FROM documents"
                               " WHERE user_id = $1::uuid AND collection = $2 ORDER BY name";
/* Two concurrent inserts may exceed the limit by one: it only protects the disk. */
static const char SQL_ADD[] =
    "WITH room AS (SELECT $7::bigint = 0 OR count(*) < $7::bigint AS is_free FROM documents"
    "  WHERE user_id = $1::uuid AND collection = $2),"
    " added AS (INSERT INTO documents (user_id, collection, name, id, body, sealed)"
    "  SELECT $1::uuid, $2, $3, $4::uuid, $5, $6 FROM room WHERE is_free"
    "  ON CONFLICT DO NOTHING RETURNING 1)"
    " SELECT is_free, EXISTS (SELECT 1 FROM added) FROM room";
static const char SQL_UPDATE[] =
    "UPDATE documents SET name = $5, body = $6, sealed = $7, revision = revision + 1,"
    " updated_at = now() WHERE user_id = $1::uuid AND collection = $2 AND id = $3::uuid"
    " AND revision = $4::bigint RETURNING revision";
static const char SQL_REMOVE[] =
    "DELETE FROM documents WHERE user_id = $1::uuid AND collection = $2 AND id = $3::uuid"
    " AND revision = $4::bigint RETURNING 1";
static const char SQL_DELETE[] =
    "DELETE FROM documents WHERE user_id = $1::uuid AND collection = $2 AND name = $3 RETURNING 1";

static const char *const collection_names[COLLECTION_N] = {
#define X(constant, text) [constant] = (text),
    COLLECTIONS(X)
#undef X
};

void document_done(struct document *document)
{
    if (document == NULL)
        return;
    mem_free(document->name);
    json_decref(document->body);
    json_decref(document->secrets);
    *document = (struct document)DOCUMENT_INIT;
}

struct document document_new(enum collection collection, const char *name)
{
    return (struct document){.collection = collection,
                             .name = mem_dup_text(name),
                             .id = uuid_random(),
                             .body = json_object()};
}

void document_list_done(struct document_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        document_done(&list->items[i]);
    mem_free(list->items);
    *list = (struct document_list)DOCUMENT_LIST_INIT;
}

const struct document *document_list_find(const struct document_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (text_equal(list->items[i].name, name))
            return &list->items[i];
    }
    return NULL;
}

/* A sealed value is bound to a document and its user, not to a name. */
static void append_seal_context(const struct document_scope *scope, const struct document *document,
                                struct strbuf *out)
{
    strbuf_appendf(out, "documents.sealed:%s:%s:%s", scope->user_id.text,
                   collection_names[document->collection], document->id.text);
}

static int open_sealed(const struct document_scope *scope, const char *sealed,
                       struct document *document, struct error *err)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;

    append_seal_context(scope, document, &context);
    if (keyring_open(scope->keyring, context.text, sealed, &plain, err) < 0 ||
        json_parse(secret_reveal(&plain), plain.len, &document->secrets, err) < 0)
        return error_set(err, ERROR_INTERNAL, "the secrets of document %s cannot be read",
                         document->id.text);
    return 0;
}

/* A document as stored in its row. */
struct written {
    char *body;
    char *sealed; /* NULL when there are no secrets */
};

/* clang-format off */
#define WRITTEN_INIT {NULL, NULL}
/* clang-format on */

static void written_done(struct written *written)
{
    mem_free(written->body);
    mem_free(written->sealed);
}

static char *seal(const struct document_scope *scope, const struct document *document)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = NULL;

    if (json_object_size(document->secrets) == 0)
        return NULL;
    text = json_to_text(document->secrets);
    secret_set(&plain, text);
    explicit_bzero(text, strlen(text));
    append_seal_context(scope, document, &context);
    keyring_seal(scope->keyring, context.text, &plain, &sealed);
    return strbuf_take(&sealed);
}

static int write_out(const struct document_scope *scope, const struct document *document,
                     struct written *written_out, struct error *err)
{
    CLEANUP(written_done) struct written written = WRITTEN_INIT;

    written.body = json_to_text(document->body);
    written.sealed = seal(scope, document);
    if (strlen(written.body) > DOCUMENT_MAX_BYTES ||
        (written.sealed != NULL && strlen(written.sealed) > DOCUMENT_MAX_BYTES))
        return error_set(err, ERROR_TOO_LARGE, "%s '%s' would be too large",
                         collection_names[document->collection], document->name);
    *written_out = written;
    written = (struct written)WRITTEN_INIT;
    return 0;
}

static int read_row(const struct document_scope *scope, enum collection collection,
                    const PGresult *rows, int row, struct document *document_out, struct error *err)
{
    CLEANUP(document_done) struct document read = DOCUMENT_INIT;
    const char *sealed = db_text(rows, row, 4);

    read.collection = collection;
    read.name = db_dup(rows, row, 0);
    read.id = db_cell_uuid(rows, row, 1);
    read.revision = db_number(rows, row, 2);
    read.created_at_us = db_number(rows, row, 5);
    read.updated_at_us = db_number(rows, row, 6);
    if (db_json(rows, row, 3, &read.body, err) < 0)
        return error_wrap(err, "document %s", read.id.text);
    if (sealed != NULL && open_sealed(scope, sealed, &read, err) < 0)
        return -1;
    *document_out = read;
    read = (struct document)DOCUMENT_INIT;
    return 0;
}

int document_store_get(const struct document_scope *scope, enum collection collection,
                       const char *name, struct document *document_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    const char *in = collection_names[collection];

    if (db_read(scope->db, SQL_GET, DB_PARAMS(scope->user_id.text, in, name), &rows, err) < 0)
        return error_wrap(err, "reading from %s", in);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "%s has no '%s'", in, name);
    return read_row(scope, collection, rows, 0, document_out, err);
}

int document_store_get_or_new(const struct document_scope *scope, enum collection collection,
                              const char *name, struct document *document_out, struct error *err)
{
    if (document_store_get(scope, collection, name, document_out, err) == 0)
        return 0;
    if (err->code != ERROR_NOT_FOUND)
        return -1;
    *document_out = document_new(collection, name);
    return 0;
}

int document_store_get_by_id(const struct document_scope *scope, enum collection collection,
                             const struct uuid *id, struct document *document_out,
                             struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    const char *in = collection_names[collection];

    if (db_read(scope->db, SQL_GET_BY_ID, DB_PARAMS(scope->user_id.text, in, id->text), &rows,
                err) < 0)
        return error_wrap(err, "reading from %s", in);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "%s has no %s", in, id->text);
    return read_row(scope, collection, rows, 0, document_out, err);
}

int document_store_list(const struct document_scope *scope, enum collection collection,
                        struct document_list *list_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(document_list_done) struct document_list list = DOCUMENT_LIST_INIT;
    const char *in = collection_names[collection];

    if (db_read(scope->db, SQL_LIST, DB_PARAMS(scope->user_id.text, in), &rows, err) < 0)
        return error_wrap(err, "listing %s", in);
    list.items = mem_alloc_array((size_t)PQntuples(rows), sizeof(*list.items));
    for (int row = 0; row < PQntuples(rows); row++) {
        if (read_row(scope, collection, rows, row, &list.items[row], err) < 0)
            return -1;
        list.n++;
    }
    *list_out = list;
    list = (struct document_list)DOCUMENT_LIST_INIT;
    return 0;
}

static int stale(const struct document *document, struct error *err)
{
    return error_set(err, ERROR_STALE, "%s '%s' was changed by another request",
                     collection_names[document->collection], document->name);
}

static int add(struct db_tx *tx, const struct document_scope *scope,
               const struct document_change *change, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct document *document = change->document;
    CLEANUP(written_done) struct written written = WRITTEN_INIT;
    struct db_int max = db_int((int64_t)change->max);
    const char *in = collection_names[document->collection];

    if (write_out(scope, document, &written, err) < 0)
        return -1;
    if (db_tx_query(tx, SQL_ADD,
                    DB_PARAMS(scope->user_id.text, in, document->name, document->id.text,
                              written.body, written.sealed, max.text),
                    &rows, err) < 0)
        return error_wrap(err, "adding to %s", in);
    if (!db_bool(rows, 0, 0))
        return error_set(err, ERROR_CONFLICT, "the limit of %zu is reached", change->max);
    return db_bool(rows, 0, 1) ? 0 : stale(document, err);
}

static int update(struct db_tx *tx, const struct document_scope *scope,
                  const struct document_change *change, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    const struct document *document = change->document;
    CLEANUP(written_done) struct written written = WRITTEN_INIT;
    struct db_int revision = db_int(document->revision);
    const char *in = collection_names[document->collection];
    const char *name = change->kind == DOCUMENT_RENAME ? change->new_name : document->name;

    if (write_out(scope, document, &written, err) < 0)
        return -1;
    if (db_tx_query(tx, SQL_UPDATE,
                    DB_PARAMS(scope->user_id.text, in, document->id.text, revision.text, name,
                              written.body, written.sealed),
                    &rows, err) < 0)
        return err->code == ERROR_CONFLICT
                   ? error_set(err, ERROR_CONFLICT, "'%s' already exists", name)
                   : error_wrap(err, "updating %s", in);
    return PQntuples(rows) == 1 ? 0 : stale(document, err);
}

static int drop(struct db_tx *tx, const struct document_scope *scope,
                const struct document *document, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int revision = db_int(document->revision);
    const char *in = collection_names[document->collection];

    if (db_tx_query(tx, SQL_REMOVE,
                    DB_PARAMS(scope->user_id.text, in, document->id.text, revision.text), &rows,
                    err) < 0)
        return error_wrap(err, "deleting from %s", in);
    return PQntuples(rows) == 1 ? 0 : stale(document, err);
}

static int apply(struct db_tx *tx, const struct document_scope *scope,
                 const struct document_change *change, struct error *err)
{
    if (change->kind == DOCUMENT_DELETE)
        return drop(tx, scope, change->document, err);
    return change->document->revision == 0 ? add(tx, scope, change, err)
                                           : update(tx, scope, change, err);
}

/* Updates the documents after the commit. */
static void settle(const struct document_change *change)
{
    struct document *document = change->document;

    document->revision += change->kind == DOCUMENT_DELETE ? 0 : 1;
    if (change->kind != DOCUMENT_RENAME)
        return;
    mem_free(document->name);
    document->name = mem_dup_text(change->new_name);
}

int document_store_write(const struct document_scope *scope, const struct document_change *changes,
                         size_t n, struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;

    if (db_tx_begin(scope->db, &tx, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (apply(&tx, scope, &changes[i], err) < 0)
            return -1;
    }
    if (db_tx_commit(&tx, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        settle(&changes[i]);
    return 0;
}

int document_store_put(const struct document_scope *scope, struct document *document, size_t max,
                       struct error *err)
{
    const struct document_change change = {.kind = DOCUMENT_PUT, .document = document, .max = max};

    return document_store_write(scope, &change, 1, err);
}

int document_store_delete(const struct document_scope *scope, enum collection collection,
                          const char *name, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    const char *in = collection_names[collection];

    if (db_query(scope->db, SQL_DELETE, DB_PARAMS(scope->user_id.text, in, name), &rows, err) < 0)
        return error_wrap(err, "deleting from %s", in);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "%s has no '%s'", in, name);
    return 0;
}
