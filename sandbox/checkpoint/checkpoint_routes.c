#include "sandbox/checkpoint/checkpoint_routes.h"

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "sandbox/checkpoint/file_snapshot.h"
#include "sandbox/checkpoint/object_store.h"
#include "sandbox/checkpoint/tree.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"

enum {
    TAKE_DEFAULT_MS = 10000,
    TAKE_MAX_MS = 60000,
    TAKE_END_MS = 5000,           /* for the rest of the work, after its own limit */
    MISSING_MAX = 4096,           /* ids per answer */
    READ_BYTES = 8 * 1024 * 1024, /* per answer, unless a single object has more */
};

/* One of the routes: reads the body, and fills in the answer. */
typedef int checkpoint_work(struct object_store *store, const json_t *body, json_t *answer,
                            struct error *err);

static int64_t take_ms_of(const json_t *body)
{
    int64_t ms = json_int_or(body, "timeout_ms", TAKE_DEFAULT_MS);

    return ms > 0 && ms < TAKE_MAX_MS ? ms : TAKE_MAX_MS;
}

static int read_id(const json_t *value, struct object_id *id_out, struct error *err)
{
    if (!object_id_read(json_string_value(value), id_out))
        return error_set(err, ERROR_INVALID, "not the id of an object");
    return 0;
}

static int run_in_store(const struct server_request *request, checkpoint_work *work, json_t *answer,
                        struct error *err)
{
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    json_auto_t *body = NULL;

    if (json_parse(request->body.text, request->body.len, &body, err) < 0 ||
        object_store_open(&store, request->server->config->journal_dir,
                          &object_store_default_limits, err) < 0)
        return -1;
    return work(&store, body, answer, err);
}

static void answer_work(const struct server_request *request, checkpoint_work *work,
                        struct fork_reply *reply)
{
    json_auto_t *answer = json_object();
    struct error err = ERROR_INIT;

    if (run_in_store(request, work, answer, &err) < 0)
        fork_reply_error(reply, &err);
    else
        reply->body = json_incref(answer);
}

/* --- taking --- */

static int take(struct object_store *store, const json_t *body, json_t *answer, struct error *err)
{
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;
    const char *folder = json_text_or(body, "working_dir", "");
    int64_t deadline_ms = clock_monotonic_ms() + take_ms_of(body);

    if (folder[0] != '/')
        return error_set(err, ERROR_INVALID, "working_dir must be an absolute path");
    if (file_snapshot_take(store, folder, deadline_ms, &snapshot, err) < 0)
        return -1;
    json_put_text(answer, "id", snapshot.tree.hex);
    json_put(answer, "n_files", json_integer((json_int_t)snapshot.files.n));
    json_put(answer, "n_read", json_integer((json_int_t)snapshot.n_read));
    json_put(answer, "n_skipped", json_integer((json_int_t)snapshot.n_skipped));
    json_put(answer, "skipped", json_incref(snapshot.skipped));
    return 0;
}

/* That there is none is an answer, too. */
static void work_take(const struct server_request *request, struct fork_reply *reply)
{
    json_auto_t *answer = json_object();
    struct error err = ERROR_INIT;

    if (run_in_store(request, take, answer, &err) < 0) {
        if (err.code == ERROR_INVALID) {
            fork_reply_error(reply, &err);
            return;
        }
        json_put(answer, "id", json_null());
        json_put_text(answer, "reason", err.message);
    }
    reply->body = json_incref(answer);
}

static int64_t deadline_of(const struct server_request *request)
{
    json_auto_t *body = NULL;
    struct error ignored = ERROR_INIT;

    error_ignore(json_parse(request->body.text, request->body.len, &body, &ignored),
                 "the work reports the error");
    return take_ms_of(body) + TAKE_END_MS;
}

void checkpoint_handle_take(struct server_request *request)
{
    fork_request_start(request, &(struct fork_request_spec){.work = work_take,
                                                            .result = -1,
                                                            .deadline_ms = deadline_of(request)});
}

/* --- copying --- */

static int find_missing(struct object_store *store, const json_t *body, json_t *answer,
                        struct error *err)
{
    struct object_id id = OBJECT_ID_INIT;
    json_t *ids = json_array();

    json_put(answer, "ids", ids);
    if (read_id(json_object_get(body, "id"), &id, err) < 0)
        return -1;
    return tree_list_missing(store, &id, MISSING_MAX, ids, err);
}

static void work_missing(const struct server_request *request, struct fork_reply *reply)
{
    answer_work(request, find_missing, reply);
}

void checkpoint_handle_missing(struct server_request *request)
{
    fork_request_start(request, &(struct fork_request_spec){.work = work_missing, .result = -1});
}

/* Adds an object unless the answer would become too large: then *n_bytes is READ_BYTES. */
static int add_object(const struct object_store *store, const json_t *id, json_t *objects,
                      size_t *n_bytes, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct object_id read = OBJECT_ID_INIT;
    json_t *object = NULL;

    if (read_id(id, &read, err) < 0 || object_store_read_file(store, &read, &bytes, err) < 0)
        return -1;
    if (*n_bytes > 0 && *n_bytes + bytes.len > READ_BYTES) {
        *n_bytes = READ_BYTES;
        return 0;
    }
    base64_append(&text, (const unsigned char *)bytes.text, bytes.len);
    object = json_object();
    json_put_text(object, "id", read.hex);
    json_put_text(object, "data", text.text);
    json_push(objects, object);
    *n_bytes += bytes.len;
    return 0;
}

static int read_objects(struct object_store *store, const json_t *body, json_t *answer,
                        struct error *err)
{
    const json_t *ids = json_object_get(body, "ids");
    json_t *objects = json_array();
    const json_t *id = NULL;
    size_t n_bytes = 0;
    size_t i = 0;

    json_put(answer, "objects", objects);
    if (!json_is_array(ids) || json_array_size(ids) > MISSING_MAX)
        return error_set(err, ERROR_INVALID, "ids must be a list of at most %d ids", MISSING_MAX);
    json_array_foreach (ids, i, id) {
        if (n_bytes >= READ_BYTES)
            return 0;
        if (add_object(store, id, objects, &n_bytes, err) < 0)
            return -1;
    }
    return 0;
}

static void work_read(const struct server_request *request, struct fork_reply *reply)
{
    answer_work(request, read_objects, reply);
}

void checkpoint_handle_read(struct server_request *request)
{
    fork_request_start(request, &(struct fork_request_spec){.work = work_read, .result = -1});
}

static int write_objects(struct object_store *store, const json_t *body, json_t *answer,
                         struct error *err)
{
    const json_t *objects = json_object_get(body, "objects");
    const json_t *object = NULL;
    size_t i = 0;

    json_array_foreach (objects, i, object) {
        CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
        const json_t *data = json_object_get(object, "data");
        struct object_id id = OBJECT_ID_INIT;

        if (read_id(json_object_get(object, "id"), &id, err) < 0)
            return -1;
        if (!json_is_string(data) ||
            base64_decode(json_string_value(data), json_string_length(data), &bytes, err) < 0)
            return error_set(err, ERROR_INVALID, "data must be base64");
        if (object_store_write_file(store, &id, &bytes, err) < 0)
            return -1;
    }
    json_put(answer, "n_written", json_integer((json_int_t)i));
    return 0;
}

static void work_write(const struct server_request *request, struct fork_reply *reply)
{
    answer_work(request, write_objects, reply);
}

void checkpoint_handle_write(struct server_request *request)
{
    fork_request_start(request, &(struct fork_request_spec){.work = work_write, .result = -1});
}
