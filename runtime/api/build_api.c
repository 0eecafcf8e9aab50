#include "runtime/api/build_api.h"

#include <string.h>

#include "base/codec/query.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/api/front_body.h"
#include "runtime/backend/backend.h"
#include "runtime/build/build_form.h"
#include "runtime/core/runtime_record.h"
#include "runtime/core/service.h"
#include "runtime/images/build_queue.h"
#include "runtime/images/image_name.h"
#include "store/runtime/build_store.h"
#include "store/runtime/runtime_key_store.h"

/* For the form's headers and text fields. */
#define FORM_MAX_BYTES (64L * 1024)

static struct uuid tenant_of(const struct front_request *request)
{
    return request->tenant != NULL ? request->tenant->id : (struct uuid)UUID_INIT;
}

static int check_may_build(struct service *service, struct error *err)
{
    if (service->settings->may_build == 0)
        return error_set(err, ERROR_UNSUPPORTED,
                         "image builds are disabled (DEFT_BUILDS); use an image that is on the "
                         "host or in a registry");
    return service_check(service, err) < 0 ? -1 : service_check_space(service, err);
}

/* base64 takes four characters for three bytes, plus line ends. */
static int read_form(struct service *service, const struct front_request *request,
                     struct build_form *form, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    const struct runtime_settings *settings = service->settings;
    int64_t max_bytes = settings->build_max_bytes / 3 * 4 + settings->build_max_bytes / 32;

    if (front_body_read(request->input, max_bytes + FORM_MAX_BYTES, &body, err) < 0 ||
        build_form_read(request->content_type, &body, form, err) < 0)
        return -1;
    if ((int64_t)form->context.len > settings->build_max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "context: is larger than %lld bytes",
                         (long long)settings->build_max_bytes);
    if (image_name_check_own(service, request->tenant, form->names, err) < 0)
        return -1;
    return build_form_check_context(&form->context, settings->build_max_unpacked_bytes, err);
}

static bool is_there(struct service *service, const struct image_build *build)
{
    struct seen_image seen = {.id = ""};
    struct error err = ERROR_INIT;

    return service->backend->functions->find_image(service->backend, build->image, &seen, &err) ==
               0 &&
           build->image_id != NULL && text_equal(seen.id, build->image_id);
}

/* An unfinished build of that name, or a successful one of the same context whose image still
 * exists; ERROR_NOT_FOUND. */
static int find_same(struct service *service, const struct image_build *wanted,
                     struct image_build *found_out, struct error *err)
{
    CLEANUP(image_build_done) struct image_build found = IMAGE_BUILD_INIT;

    if (build_store_find(service->db, wanted->image, &found, err) < 0)
        return -1;
    if (found.status != BUILD_QUEUED && found.status != BUILD_BUILDING &&
        (found.status != BUILD_SUCCESS || !text_equal(found.context_hash, wanted->context_hash) ||
         !is_there(service, &found)))
        return error_set(err, ERROR_NOT_FOUND, "no such build");
    *found_out = found;
    found = (struct image_build)IMAGE_BUILD_INIT;
    return 0;
}

static void fill_build(const struct front_request *request, const struct build_form *form,
                       struct image_build *build)
{
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    crypto_sha256_hex(form->context.text, form->context.len, hash);
    runtime_record_make_id(build->id);
    build->tenant_id = tenant_of(request);
    runtime_record_set_text(&build->image, json_string_value(json_array_get(form->names, 0)));
    build->tags = json_incref(form->names);
    runtime_record_set_text(&build->context_hash, hash);
}

/* The row may exist although the reply was lost: no thread would build it, so it gets an error. */
static void give_up(struct service *service, struct image_build *build)
{
    struct error ignored = ERROR_INIT;

    build->status = BUILD_INTERNAL_ERROR;
    runtime_record_set_text(&build->error, "The build was not started. Post it again.");
    error_ignore(build_store_update(service->db, build, &ignored),
                 "there is no such row, or the next start of the service fails it");
}

/* A request with another context must wait: the id of the current build is for another image. */
static int check_context(const struct image_build *same, const struct image_build *wanted,
                         struct error *err)
{
    if (text_equal(same->context_hash, wanted->context_hash))
        return 0;
    return error_set(
        err, ERROR_CONFLICT,
        "%.120s is being built from another context. Post this one after that build has ended.",
        wanted->image);
}

/* Posting the same context again returns the same build, even for two concurrent requests. */
static int find_or_queue(struct service *service, struct build_slot *place,
                         struct image_build *build, struct strbuf *context, struct error *err)
{
    CLEANUP(image_build_done) struct image_build same = IMAGE_BUILD_INIT;

    if (find_same(service, build, &same, err) < 0 && err->code != ERROR_NOT_FOUND)
        return -1;
    if (same.id[0] == '\0' && build_store_add(service->db, build, err) == 0) {
        build_queue_add(place, build, context);
        return 0;
    }
    if (same.id[0] == '\0' && err->code != ERROR_CONFLICT) {
        give_up(service, build);
        return -1;
    }
    if (same.id[0] == '\0' && find_same(service, build, &same, err) < 0)
        return -1;
    if (check_context(&same, build, err) < 0)
        return -1;
    memcpy(build->id, same.id, sizeof(build->id));
    return 0;
}

int build_handle_post(struct service *service, const struct front_request *request,
                      json_t **reply_out, struct error *err)
{
    CLEANUP(build_slot_release) struct build_slot place = {.build_queue = NULL};
    CLEANUP(build_form_done) struct build_form form = BUILD_FORM_INIT;
    CLEANUP(image_build_done) struct image_build build = IMAGE_BUILD_INIT;
    const struct uuid tenant_id = tenant_of(request);
    char id[BUILD_ID_BYTES] = "";

    if (check_may_build(service, err) < 0 ||
        build_queue_take_slot(service->build_queue, &tenant_id, &place, err) < 0 ||
        read_form(service, request, &form, err) < 0)
        return -1;
    fill_build(request, &form, &build);
    memcpy(id, build.id, sizeof(id));
    if (find_or_queue(service, &place, &build, &form.context, err) < 0)
        return -1;
    /* If queued, the builder owns the build and `build` is empty; else it has the existing id. */
    *reply_out = json_build(err, "{s:s}", "build_id", build.id[0] != '\0' ? build.id : id);
    return *reply_out != NULL ? 0 : -1;
}

int build_handle_status(struct service *service, const struct front_request *request,
                        json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    CLEANUP(image_build_done) struct image_build build = IMAGE_BUILD_INIT;
    const struct uuid tenant_id = tenant_of(request);

    query_append_value(request->query, "build_id", &id);
    if (build_store_get(service->db, id.text, &build, err) < 0)
        return -1;
    if (!text_equal(build.tenant_id.text, tenant_id.text))
        return error_set(err, ERROR_NOT_FOUND, "no such build");
    *reply_out = json_build(err, "{s:s, s:s, s:s?}", "status", build_status_to_string(build.status),
                            "image", build.image, "error", build.error);
    return *reply_out != NULL ? 0 : -1;
}
