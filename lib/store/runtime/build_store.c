#include "store/runtime/build_store.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/db/db_query.h"

#define COLUMNS "id, tenant_id, image, tags, context_hash, status, error, image_id"

static const char SQL_ADD[] = "INSERT INTO image_builds (id, tenant_id, image, tags, context_hash)"
                              " VALUES ($1, $2::uuid, $3, $4::jsonb, $5)";
static const char SQL_GET[] = "SELECT " COLUMNS " FROM image_builds WHERE id = $1";
static const char SQL_FIND[] = "SELECT " COLUMNS " FROM image_builds WHERE image = $1"
                               " ORDER BY created_at DESC LIMIT 1";
static const char SQL_UPDATE[] = "UPDATE image_builds SET status = $2, error = $3, image_id = $4,"
                                 " updated_at = now() WHERE id = $1";
static const char SQL_END_ALL[] =
    "UPDATE image_builds SET status = 'INTERNAL_ERROR', error = $1, updated_at = now()"
    " WHERE status IN ('QUEUED', 'BUILDING')";
/* A name that was built several times counts once, as its newest build. */
static const char SQL_LIST_DOOMED[] =
    "SELECT " COLUMNS " FROM (SELECT b.*, k.revoked_at,"
    "   row_number() OVER (PARTITION BY b.image ORDER BY b.created_at DESC) AS age,"
    "   dense_rank() OVER (PARTITION BY b.tenant_id ORDER BY newest.at DESC, b.image) AS place"
    "  FROM image_builds b LEFT JOIN runtime_keys k ON k.id = b.tenant_id,"
    "   LATERAL (SELECT max(n.created_at) AS at FROM image_builds n WHERE n.image = b.image"
    "    AND n.status = 'SUCCESS') newest"
    "  WHERE b.status = 'SUCCESS') b"
    " WHERE age = 1 AND (revoked_at IS NOT NULL OR place > $1::bigint) ORDER BY created_at";
/* The newest successful build of a name is kept as long as the image. */
static const char SQL_PRUNE[] =
    "DELETE FROM image_builds b WHERE updated_at < now() - interval '7 days'"
    " AND (status IN ('FAILURE', 'INTERNAL_ERROR', 'TIMEOUT', 'EXPIRED') OR status = 'SUCCESS'"
    "  AND EXISTS (SELECT 1 FROM image_builds n WHERE n.image = b.image AND n.status = 'SUCCESS'"
    "   AND n.created_at > b.created_at))";

static const char *const status_names[BUILD_N_STATUSES] = {
#define X(constant, text) [constant] = (text),
    BUILD_STATUSES(X)
#undef X
};

const char *build_status_to_string(enum build_status status)
{
    return status_names[status];
}

static enum build_status status_from_string(const char *text)
{
    enum build_status status = BUILD_QUEUED;

    while (status < BUILD_EXPIRED && !text_equal(status_names[status], text))
        status++;
    return status;
}

void image_build_done(struct image_build *build)
{
    if (build == NULL)
        return;
    mem_free(build->image);
    json_decref(build->tags);
    mem_free(build->context_hash);
    mem_free(build->error);
    mem_free(build->image_id);
    *build = (struct image_build)IMAGE_BUILD_INIT;
}

void build_list_done(struct build_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        image_build_done(&list->items[i]);
    mem_free(list->items);
    *list = (struct build_list){.items = NULL};
}

static int read_row(const PGresult *rows, int row, struct image_build *build, struct error *err)
{
    const char *id = db_text(rows, row, 0);

    memcpy(build->id, id, strnlen(id, sizeof(build->id) - 1));
    build->tenant_id = db_cell_uuid(rows, row, 1);
    build->image = db_dup(rows, row, 2);
    build->context_hash = db_dup(rows, row, 4);
    build->status = status_from_string(db_text(rows, row, 5));
    build->error = db_dup(rows, row, 6);
    build->image_id = db_dup(rows, row, 7);
    return db_json(rows, row, 3, &build->tags, err);
}

int build_store_add(struct db *db, const struct image_build *build, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(mem_freep) char *tags = db_json_text(build->tags);

    if (db_query(db, SQL_ADD,
                 DB_PARAMS(build->id, db_uuid(&build->tenant_id), build->image, tags,
                           build->context_hash),
                 &rows, err) < 0)
        return error_wrap(err, "storing a build");
    return 0;
}

static int read_one(struct db *db, const char *sql, const char *name, struct image_build *build_out,
                    struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(image_build_done) struct image_build build = IMAGE_BUILD_INIT;

    if (db_read(db, sql, DB_PARAMS(name), &rows, err) < 0)
        return error_wrap(err, "reading a build");
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "no such build");
    if (read_row(rows, 0, &build, err) < 0)
        return -1;
    *build_out = build;
    build = (struct image_build)IMAGE_BUILD_INIT;
    return 0;
}

int build_store_get(struct db *db, const char *id, struct image_build *build_out, struct error *err)
{
    return read_one(db, SQL_GET, id, build_out, err);
}

int build_store_find(struct db *db, const char *image, struct image_build *build_out,
                     struct error *err)
{
    return read_one(db, SQL_FIND, image, build_out, err);
}

int build_store_update(struct db *db, const struct image_build *build, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_UPDATE,
                 DB_PARAMS(build->id, build_status_to_string(build->status), build->error,
                           build->image_id),
                 &rows, err) < 0)
        return error_wrap(err, "storing the status of a build");
    return 0;
}

int build_store_end_all(struct db *db, const char *words, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_END_ALL, DB_PARAMS(words), &rows, err) < 0)
        return error_wrap(err, "failing interrupted builds");
    return 0;
}

int build_store_list_doomed(struct db *db, int64_t most, struct build_list *list_out,
                            struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(build_list_done) struct build_list list = {.items = NULL};
    struct db_int most_text = db_int(most);

    if (db_read(db, SQL_LIST_DOOMED, DB_PARAMS(most_text.text), &rows, err) < 0)
        return error_wrap(err, "listing images to remove");
    list.items = mem_alloc_array((size_t)PQntuples(rows), sizeof(*list.items));
    for (int i = 0; i < PQntuples(rows); i++) {
        list.items[list.n] = (struct image_build)IMAGE_BUILD_INIT;
        if (read_row(rows, i, &list.items[list.n++], err) < 0)
            return -1;
    }
    *list_out = list;
    list = (struct build_list){.items = NULL};
    return 0;
}

int build_store_prune(struct db *db, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_query(db, SQL_PRUNE, DB_NO_PARAMS, &rows, err) < 0)
        return error_wrap(err, "removing old builds");
    return 0;
}
