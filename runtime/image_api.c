#include "runtime/image_api.h"

#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend.h"
#include "runtime/service.h"
#include "runtime/spec.h"

/* Clients name an image that they would build after this; here nobody builds. */
#define REGISTRY_PREFIX "localhost/deft"

int image_handle_prefix(struct service *service, const struct front_request *request,
                        json_t **reply_out, struct error *err)
{
    (void)service;
    (void)request;
    *reply_out = json_build(err, "{s:s}", "registry_prefix", REGISTRY_PREFIX);
    return *reply_out != NULL ? 0 : -1;
}

/* The query's member `image`, decoded; empty when it has none. */
static void read_image(const char *query, struct strbuf *image)
{
    while (*query != '\0') {
        size_t len = strcspn(query, "&");

        if (text_starts_with(query, "image="))
            percent_decode(image, query + strlen("image="), len - strlen("image="), '+');
        query += len + (query[len] == '&');
    }
}

int image_handle_exists(struct service *service, const struct front_request *request,
                        json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf image = STRBUF_INIT;
    struct seen_image seen = {.created_at = ""};

    read_image(request->query, &image);
    if (start_spec_check_image(image.text, err) < 0)
        return -1;
    if (service->backend->functions->find_image(service->backend, image.text, &seen, err) < 0) {
        if (err->code != ERROR_NOT_FOUND)
            return -1;
        *reply_out = json_build(err, "{s:b}", "exists", 0);
        return *reply_out != NULL ? 0 : -1;
    }
    *reply_out = json_build(err, "{s:b, s:{s:s, s:I}}", "exists", 1, "image", "upload_time",
                            seen.created_at, "image_size_bytes", (json_int_t)seen.size_bytes);
    return *reply_out != NULL ? 0 : -1;
}

int image_handle_build(struct service *service, const struct front_request *request,
                       json_t **reply_out, struct error *err)
{
    (void)service;
    (void)request;
    (void)reply_out;
    return error_set(
        err, ERROR_UNSUPPORTED,
        "deft builds no images: a sandbox runs any image as it is; name one that is on "
        "the host or in a registry");
}
