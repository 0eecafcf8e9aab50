#include "runtime/images/image_name.h"

#include <ctype.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/backend.h"
#include "runtime/build/image_source.h"
#include "runtime/core/service.h"
#include "runtime/core/start_spec.h"
#include "store/runtime/runtime_key_store.h"

#define HOUSE "house"

/* Prefix of all images of this instance. Engines require lower-case repository names. */
static void append_root(const struct service *service, struct strbuf *prefix)
{
    strbuf_append(prefix, "localhost/");
    for (const char *at = service->settings->docker.instance; *at != '\0'; at++)
        strbuf_append_char(prefix, (char)tolower((unsigned char)*at));
    strbuf_append(prefix, "/");
}

void image_name_append_prefix(const struct service *service, const struct tenant *tenant,
                              struct strbuf *prefix)
{
    append_root(service, prefix);
    strbuf_append(prefix, tenant != NULL ? tenant->id.text : HOUSE);
}

int image_name_check_own(const struct service *service, const struct tenant *tenant,
                         const json_t *names, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;
    const json_t *name = NULL;
    size_t i = 0;

    image_name_append_prefix(service, tenant, &prefix);
    strbuf_append(&prefix, "/");
    json_array_foreach (names, i, name) {
        if (start_spec_check_image(json_string_value(name), err) < 0)
            return -1;
        if (!text_starts_with(json_string_value(name), prefix.text))
            return error_set(err, ERROR_INVALID,
                             "image names must begin with %s (/registry_prefix)", prefix.text);
    }
    return 0;
}

int image_name_check_use(const struct service *service, const struct tenant *tenant,
                         const char *image, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf root = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf own = STRBUF_INIT;

    append_root(service, &root);
    image_name_append_prefix(service, tenant, &own);
    strbuf_append(&own, "/");
    if (tenant == NULL || !text_starts_with(image, root.text) || text_starts_with(image, own.text))
        return 0;
    return error_set(err, ERROR_NOT_FOUND, "the image %.100s is not on this host", image);
}

/* Asks only the engine, and that only for images on this host. */
static bool is_on_host(struct service *service, const char *image)
{
    struct seen_image seen = {.id = ""};
    struct error ignored = ERROR_INIT;

    return start_spec_check_image(image, &ignored) == 0 &&
           service->backend->functions->find_image(service->backend, image, &seen, &ignored) == 0;
}

int image_name_check_source(struct service *service, const struct tenant *tenant, const char *image,
                            struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf registry = STRBUF_INIT;
    struct error unknown = ERROR_INIT;

    if (image_source_is_listed(service->settings->docker.registries, image))
        return 0;
    /* find_image() does not contact unlisted registries either. */
    if (image_name_check_use(service, tenant, image, &unknown) == 0 && is_on_host(service, image))
        return 0;
    image_source_append(image, &registry);
    return error_set(err, ERROR_INVALID,
                     "Dockerfile: images cannot be pulled from %.100s: it is not on the list of "
                     "registries (DEFT_REGISTRIES)",
                     registry.text);
}
