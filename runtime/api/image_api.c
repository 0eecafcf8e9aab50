#include "runtime/api/image_api.h"

#include "base/codec/query.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "runtime/backend/backend.h"
#include "runtime/core/service.h"
#include "runtime/core/start_spec.h"
#include "runtime/images/image_name.h"

int image_handle_prefix(struct service *service, const struct front_request *request,
                        json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;

    image_name_append_prefix(service, request->tenant, &prefix);
    *reply_out = json_build(err, "{s:s}", "registry_prefix", prefix.text);
    return *reply_out != NULL ? 0 : -1;
}

int image_handle_exists(struct service *service, const struct front_request *request,
                        json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf image = STRBUF_INIT;
    struct seen_image seen = {.created_at = ""};

    query_append_value(request->query, "image", &image);
    if (start_spec_check_image(image.text, err) < 0)
        return -1;
    if (image_name_check_use(service, request->tenant, image.text, err) < 0 ||
        service->backend->functions->find_image(service->backend, image.text, &seen, err) < 0) {
        if (err->code != ERROR_NOT_FOUND)
            return -1;
        *reply_out = json_build(err, "{s:b}", "exists", 0);
        return *reply_out != NULL ? 0 : -1;
    }
    *reply_out = json_build(err, "{s:b, s:{s:s, s:I}}", "exists", 1, "image", "upload_time",
                            seen.created_at, "image_size_bytes", (json_int_t)seen.size_bytes);
    return *reply_out != NULL ? 0 : -1;
}
