/*
 * /api/v1/sandboxes: lists all of a user's sandboxes, and creates ones without a conversation.
 * Their state is stored in the runtime's rows only.
 */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "fcgi/app/app.h"
#include "fcgi/app/sandbox_info.h"
#include "fcgi/app/sandbox_specs.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/sandbox/sandbox_locate.h"
#include "store/runtime/runtime_store.h"
#include "store/runtime/sandbox_store.h"
#include "web/reply_status.h"

enum { BODY_MAX_BYTES = 16384, ID_CHARS = 16 };

/* A text that cannot be a sandbox id is not looked up. */
static bool is_id(const char *text)
{
    return strlen(text) == ID_CHARS && strspn(text, "abcdefghijklmnopqrstuvwxyz") == ID_CHARS;
}

/* --- reading --- */

/* "<id>-<creation>" of the page's first row; anything else means the first page. */
static void read_cursor(const struct request *request, struct sandbox_cursor *cursor)
{
    const char *text = request_query(request, "page_id");
    struct sandbox_cursor read = {.created_at_us = 0};
    struct error nonsense = ERROR_INIT;

    if (text == NULL || strlen(text) < ID_CHARS + 2 || text[ID_CHARS] != '-')
        return;
    memcpy(read.id, text, ID_CHARS);
    if (is_id(read.id) &&
        text_parse_int(text + ID_CHARS + 1, 1, INT64_MAX, &read.created_at_us, &nonsense) == 0)
        *cursor = read;
}

/* One row more than the page holds starts the next one. */
static json_t *next_page_id(const struct runtime_list *rows, int64_t limit)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    if ((int64_t)rows->n <= limit)
        return json_null();
    strbuf_appendf(&text, "%s-%lld", rows->items[limit].id,
                   (long long)rows->items[limit].created_at_us);
    return json_text(text.text, text.len);
}

/* GET ?page_id=&limit= -> 200 {"items": [SandboxInfo], "next_page_id"} | 422 */
static int search(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(runtime_list_done) struct runtime_list rows = {.items = NULL};
    struct sandbox_cursor cursor = {.created_at_us = 0};
    json_auto_t *answer = json_object();
    json_t *items = NULL;
    int64_t limit = 0;

    if (request_query_limit(request, &limit, err) < 0)
        return -1;
    read_cursor(request, &cursor);
    if (sandbox_store_search(request->context->db, &request->principal.user_id, &cursor, limit,
                             &rows, err) < 0)
        return -1;
    items =
        sandbox_infos(request, rows.items, (int64_t)rows.n > limit ? (size_t)limit : rows.n, err);
    if (items == NULL)
        return -1;
    json_put(answer, "items", items);
    json_put(answer, "next_page_id", next_page_id(&rows, limit));
    return reply_json(reply, 200, answer);
}

/* Stores the ids in their order, as far as there is room; returns how many were given. */
static size_t read_ids(const struct request *request, const char *ids[SANDBOX_BATCH_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < request->n_query; i++) {
        if (!text_equal(request->query[i].name, "id"))
            continue;
        if (n < SANDBOX_BATCH_MAX)
            ids[n] = is_id(request->query[i].value) ? request->query[i].value : "";
        n++;
    }
    return n;
}

/* The entry of that id, or null. A new reference. */
static json_t *pick(const struct runtime_list *rows, json_t *infos, const char *id)
{
    for (size_t i = 0; i < rows->n; i++) {
        if (text_equal(rows->items[i].id, id))
            return json_incref(json_array_get(infos, i));
    }
    return json_null();
}

static int answer_batch(const struct request *request, struct reply *reply, const char *const *ids,
                        size_t n, struct error *err)
{
    CLEANUP(runtime_list_done) struct runtime_list rows = {.items = NULL};
    json_auto_t *infos = NULL;
    json_auto_t *list = json_array();

    if (sandbox_store_get_many(request->context->db, &request->principal.user_id, ids, n, &rows,
                               err) < 0)
        return -1;
    infos = sandbox_infos(request, rows.items, rows.n, err);
    if (infos == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        json_push(list, pick(&rows, infos, ids[i]));
    return reply_json(reply, 200, list);
}

/* GET ?id=a&id=b -> 200 [SandboxInfo | null] | 400 | 422 */
static int batch(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    const char *ids[SANDBOX_BATCH_MAX] = {NULL};
    size_t n = read_ids(request, ids);

    if (n == 0)
        return request_problem(request, REQUEST_JSON_PATH("query", "id"),
                               &(struct validation_error){"missing", "Field required", NULL}, NULL,
                               err);
    if (n <= SANDBOX_BATCH_MAX)
        return answer_batch(request, reply, ids, n, err);
    strbuf_appendf(&words, "Cannot request more than %d sandboxes at once, got %zu",
                   SANDBOX_BATCH_MAX, n);
    return reply_detail(reply, 400, words.text);
}

/* --- making --- */

/* The sandbox service cannot do it now; replies with its reason. */
static int answer_failure(struct reply *reply, struct error *err)
{
    if (err->code == ERROR_NOT_FOUND)
        return error_reword(err, ERROR_NOT_FOUND, "%s", reply_phrase(404));
    if (err->code != ERROR_UNAVAILABLE && err->code != ERROR_TIMEOUT)
        return -1;
    log_warning("sandbox.order_failed", LOG_ERROR(err));
    return reply_exception(reply, 503, err->message);
}

/*
 * Pauses the user's oldest sandboxes until one more may run. A sandbox in which a conversation runs
 * is left alone: its run ends by itself, and the run slots limit how many there are.
 */
static int make_room(const struct request *request, const char *for_id, struct error *err)
{
    const struct fcgi_context *context = request->context;
    CLEANUP(runtime_list_done) struct runtime_list surplus = {.items = NULL};

    if (sandbox_store_list_surplus(context->db, &request->principal.user_id,
                                   context->settings->sandbox_most - 1, for_id, &surplus, err) < 0)
        return -1;
    for (size_t i = 0; i < surplus.n; i++) {
        if (sandbox_order(context, RUNTIME_ORDER_PAUSE, surplus.items[i].id, err) < 0 &&
            err->code != ERROR_NOT_FOUND)
            return -1;
        log_info("sandbox.paused_for_limit", LOG_STR("runtime_id", surplus.items[i].id));
    }
    return 0;
}

static int make(const struct request *request, const char *image, char id[RUNTIME_ID_MAX_BYTES],
                struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf session = STRBUF_INIT;
    struct uuid name = uuid_random();
    char hex[UUID_HEX_BYTES] = "";
    struct sandbox_start start = {
        .owner_id = request->principal.user_id.text, .image = image, .keeps_image = true};

    uuid_to_hex(&name, hex);
    strbuf_appendf(&session, SANDBOX_SESSION_PREFIX "%s", hex);
    start.session_id = session.text;
    if (make_room(request, "", err) < 0)
        return -1;
    return sandbox_create(request->context, &start, id, err);
}

/* POST ?sandbox_spec_id= -> 200 SandboxInfo, STARTING | 404 | 429 | 503 */
static int create(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf image = STRBUF_INIT;
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    char id[RUNTIME_ID_MAX_BYTES] = "";
    json_auto_t *info = NULL;

    if (sandbox_spec_find(request, request_query(request, "sandbox_spec_id"), &image, err) < 0)
        return -1;
    if (make(request, image.text, id, err) < 0)
        return answer_failure(reply, err);
    if (sandbox_store_get(request->context->db, &request->principal.user_id, id, &runtime, err) < 0)
        return -1;
    info = sandbox_info_made(&runtime);
    return reply_json(reply, 200, info);
}

/* --- changing --- */

/* The caller's sandbox that the request names; the query takes precedence over the path. */
static int load(const struct request *request, struct runtime *runtime_out, struct error *err)
{
    const char *id = request_query(request, "sandbox_id");

    if (id == NULL)
        id = request_path_text(request, "sandbox_id");
    if (!is_id(id))
        return error_set(err, ERROR_NOT_FOUND, "%s", reply_phrase(404));
    if (sandbox_store_get(request->context->db, &request->principal.user_id, id, runtime_out, err) <
        0)
        return error_reword(err, ERROR_NOT_FOUND, "%s", reply_phrase(404));
    return 0;
}

static int order(const struct request *request, struct reply *reply, enum runtime_order order,
                 struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;

    if (load(request, &runtime, err) < 0)
        return -1;
    if (order == RUNTIME_ORDER_RESUME && make_room(request, runtime.id, err) < 0)
        return answer_failure(reply, err);
    if (sandbox_order(request->context, order, runtime.id, err) < 0)
        return answer_failure(reply, err);
    return reply_success(reply);
}

/* POST -> 200 {"success": true} | 404 | 503 */
static int pause(const struct request *request, struct reply *reply, struct error *err)
{
    return order(request, reply, RUNTIME_ORDER_PAUSE, err);
}

/* POST -> 200 {"success": true} | 404 | 503 */
static int resume(const struct request *request, struct reply *reply, struct error *err)
{
    return order(request, reply, RUNTIME_ORDER_RESUME, err);
}

/*
 * DELETE ?sandbox_id= -> 200 {"success": true} | 404 | 503: removes container, files, key and row
 */
static int delete(const struct request *request, struct reply *reply, struct error *err)
{
    return order(request, reply, RUNTIME_ORDER_FORGET, err);
}

#define SANDBOXES "/api/v1/sandboxes"

const struct route sandbox_routes[] = {
    {HTTP_GET, SANDBOXES, ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED, 0, batch},
    {HTTP_POST, SANDBOXES, ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED, BODY_MAX_BYTES, create},
    {HTTP_GET, SANDBOXES "/search", ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED, 0, search},
    {HTTP_POST, SANDBOXES "/{sandbox_id}/pause", ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED,
     BODY_MAX_BYTES, pause},
    {HTTP_POST, SANDBOXES "/{sandbox_id}/resume", ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED,
     BODY_MAX_BYTES, resume},
    {HTTP_DELETE, SANDBOXES "/{sandbox_id}", ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED, 0, delete},
    {.handle = NULL},
};
