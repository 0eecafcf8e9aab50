#include "runtime/api/warm_api.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/mount_paths.h"
#include "runtime/core/pool_sizing.h"
#include "runtime/core/runtime_record.h"
#include "runtime/core/service.h"
#include "runtime/core/start_spec.h"
#include "runtime/lifecycle/warm_pool.h"
#include "store/runtime/warm_config_store.h"

#define NAME_MAX_BYTES 100
#define COUNT_MAX 200
#define WORKING_DIR "/workspace/project"

/* The settings' class as a configuration, for clients that choose an image from this list. */
static json_t *create_default(const struct runtime_settings *settings, struct error *err)
{
    return json_build(err, "{s:s, s:s, s:s, s:[s], s:{}, s:s, s:I, s:I, s:I, s:I}", "name",
                      WARM_POOL_DEFAULT_CONFIG, "source", "file", "image", settings->image,
                      "command", "deft-action", "environment", "working_dir", WORKING_DIR, "count",
                      (json_int_t)settings->warm_least, "run_as_user", (json_int_t)SANDBOX_UID,
                      "run_as_group", (json_int_t)SANDBOX_UID, "fs_group", (json_int_t)SANDBOX_UID);
}

static json_t *create_stored(const struct warm_config *config, struct error *err)
{
    json_auto_t *object = json_build(err, "{s:[s], s:{}, s:s, s:I, s:I, s:I}", "command",
                                     "deft-action", "environment", "working_dir", WORKING_DIR,
                                     "run_as_user", (json_int_t)SANDBOX_UID, "run_as_group",
                                     (json_int_t)SANDBOX_UID, "fs_group", (json_int_t)SANDBOX_UID);

    if (object == NULL)
        return NULL;
    json_object_update(object, config->config);
    json_put_text(object, "name", config->name);
    json_put_text(object, "source", "db");
    json_put_text(object, "image", config->image);
    json_put(object, "count", json_integer(config->count));
    return json_incref(object);
}

int warm_handle_list(struct service *service, const struct front_request *request,
                     json_t **reply_out, struct error *err)
{
    CLEANUP(warm_config_list_done) struct warm_config_list stored = {.items = NULL};
    json_auto_t *list = json_array();
    bool has_default = false;

    (void)request;
    if (warm_config_store_list(service->db, &stored, err) < 0)
        return -1;
    for (size_t i = 0; i < stored.n; i++) {
        has_default |= text_equal(stored.items[i].name, WARM_POOL_DEFAULT_CONFIG);
        json_push(list, create_stored(&stored.items[i], err));
    }
    if (!has_default)
        json_array_insert_new(list, 0, create_default(service->settings, err));
    *reply_out = json_build(err, "{s:O}", "configs", list);
    return *reply_out != NULL ? 0 : -1;
}

static int read_name(const struct front_request *request, struct strbuf *name, struct error *err)
{
    strbuf_append(name, request->id);
    if (name->len == 0 || name->len > NAME_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "name: must have 1 to %d bytes", NAME_MAX_BYTES);
    return 0;
}

static int read_count(const json_t *body, int64_t fallback, int64_t *count_out, struct error *err)
{
    const json_t *count = json_object_get(body, "count");

    *count_out = fallback;
    if (count == NULL || json_is_null(count))
        return 0;
    *count_out = json_integer_value(count);
    if (!json_is_integer(count) || *count_out < 0 || *count_out > COUNT_MAX)
        return error_set(err, ERROR_INVALID, "count: must be a whole number from 0 to %d",
                         COUNT_MAX);
    return 0;
}

/* Parsed like a start request, so that members match the starts they are for. */
static int read_config(const struct service *service, const struct front_request *request,
                       struct warm_config *config, struct error *err)
{
    CLEANUP(start_spec_done) struct start_spec spec = START_SPEC_INIT;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    json_auto_t *start = json_is_object(request->body) ? json_copy(request->body) : NULL;

    if (read_name(request, &name, err) < 0)
        return -1;
    if (start == NULL || !json_is_string(json_object_get(start, "image")))
        return error_set(err, ERROR_INVALID, "the body must be an object with an image");
    json_put_text(start, "session_id", "warm");
    if (start_spec_read(start, &service->limits, &spec, err) < 0 ||
        read_count(start, service->settings->warm_least, &config->count, err) < 0)
        return -1;
    runtime_record_set_text(&config->name, name.text);
    runtime_record_set_text(&config->image, spec.image);
    config->memory_bytes = spec.memory_bytes;
    config->nano_cpus = spec.nano_cpus;
    config->config = json_incref(request->body);
    return 0;
}

int warm_handle_put(struct service *service, const struct front_request *request,
                    json_t **reply_out, struct error *err)
{
    CLEANUP(warm_config_done) struct warm_config config = WARM_CONFIG_INIT;

    if (read_config(service, request, &config, err) < 0 ||
        warm_config_store_put(service->db, &config, POOL_CONFIGS_MAX - 1, err) < 0)
        return -1;
    warm_pool_wake(service->pool);
    *reply_out = create_stored(&config, err);
    return *reply_out != NULL ? 0 : -1;
}

int warm_handle_delete(struct service *service, const struct front_request *request,
                       json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    if (read_name(request, &name, err) < 0 ||
        warm_config_store_remove(service->db, name.text, err) < 0)
        return -1;
    warm_pool_wake(service->pool);
    *reply_out = json_build(err, "{s:s}", "message", "removed; the configured values apply again");
    return *reply_out != NULL ? 0 : -1;
}
