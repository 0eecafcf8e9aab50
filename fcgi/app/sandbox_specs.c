#include "fcgi/app/sandbox_specs.h"

#include <stdbool.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/app/app.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "store/runtime/warm_config_store.h"

#define WORKING_DIR "/workspace/project"

static json_t *spec_of(const struct request *request, const char *image)
{
    char created_at[CLOCK_TEXT_BYTES] = "";
    json_t *spec = json_object();

    clock_format_z(request->context->started_at_us, created_at);
    json_put_text(spec, "id", image);
    json_put(spec, "command", json_null());
    json_put_text(spec, "created_at", created_at);
    json_put(spec, "initial_env", json_object());
    json_put_text(spec, "working_dir", WORKING_DIR);
    return spec;
}

static json_t *find_in(const json_t *specs, const char *id)
{
    json_t *spec = NULL;
    size_t i = 0;

    json_array_foreach (specs, i, spec) {
        if (text_equal(json_text_or(spec, "id", ""), id))
            return spec;
    }
    return NULL;
}

/* An image kept warm in several sizes is one spec. A new reference. */
static int list_specs(const struct request *request, json_t **specs_out, struct error *err)
{
    CLEANUP(warm_config_list_done) struct warm_config_list configs = {.items = NULL};
    json_auto_t *specs = json_array();

    if (warm_config_store_list(request->context->db, &configs, err) < 0)
        return -1;
    json_push(specs, spec_of(request, request->context->settings->sandbox_image));
    for (size_t i = 0; i < configs.n; i++) {
        if (find_in(specs, configs.items[i].image) == NULL)
            json_push(specs, spec_of(request, configs.items[i].image));
    }
    *specs_out = json_incref(specs);
    return 0;
}

int sandbox_spec_find(const struct request *request, const char *id, struct strbuf *image_out,
                      struct error *err)
{
    json_auto_t *specs = NULL;

    if (id == NULL || id[0] == '\0')
        id = request->context->settings->sandbox_image;
    if (list_specs(request, &specs, err) < 0)
        return -1;
    if (find_in(specs, id) == NULL)
        return error_set(err, ERROR_NOT_FOUND, "Sandbox Spec not found");
    strbuf_append(image_out, id);
    return 0;
}

/* GET -> 200 {"items": [SandboxSpecInfo], "next_page_id": null}: always a single page */
static int search(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *answer = json_object();
    json_t *specs = NULL;

    if (list_specs(request, &specs, err) < 0)
        return -1;
    json_put(answer, "items", specs);
    json_put(answer, "next_page_id", json_null());
    return reply_json(reply, 200, answer);
}

/* GET ?id=a&id=b -> 200 [SandboxSpecInfo | null] */
static int batch(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *specs = NULL;
    json_auto_t *list = json_array();

    if (list_specs(request, &specs, err) < 0)
        return -1;
    for (size_t i = 0; i < request->n_query; i++) {
        json_t *spec = NULL;

        if (!text_equal(request->query[i].name, "id"))
            continue;
        spec = find_in(specs, request->query[i].value);
        json_push(list, spec != NULL ? json_incref(spec) : json_null());
    }
    return reply_json(reply, 200, list);
}

#define SPECS "/api/v1/sandbox-specs"

const struct route sandbox_spec_routes[] = {
    {HTTP_GET, SPECS, ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED, 0, batch},
    {HTTP_GET, SPECS "/search", ORIGIN_APP, ACCESS_BEARER, SANDBOX_REFUSED, 0, search},
    {.handle = NULL},
};
