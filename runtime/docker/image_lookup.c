#include "runtime/docker/image_lookup.h"

#include <stdio.h>
#include <string.h>

#include "base/encode.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/build/image_source.h"
#include "runtime/docker/docker.h"

/* The name becomes part of the path unencoded: slashes and colon are kept. */
int docker_inspect_image(struct docker *docker, const char *image, json_t **reply_out,
                         struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/images/%s/json", image);
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = "GET", .path = path.text}, reply_out,
                       err);
}

/* Other registries are not contacted: a response would reveal whether a service listens there. */
static int check_registry(const struct docker *docker, const char *image, struct error *err)
{
    if (text_equal(image, docker->settings.own_image) ||
        image_source_is_listed(docker->settings.registries, image))
        return 0;
    return error_set(err, ERROR_NOT_FOUND,
                     "the image %.100s is not on this host, and its registry is not on the list "
                     "(DEFT_REGISTRIES)",
                     image);
}

int docker_fetch_image(struct docker *docker, const char *image, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf nothing = STRBUF_INIT;
    const char *last = strrchr(image, '/');
    bool has_tag = strchr(last != NULL ? last : image, ':') != NULL || strchr(image, '@') != NULL;

    if (check_registry(docker, image, err) < 0)
        return -1;
    log_info("image.pulled", LOG_STR("image", image));
    strbuf_append(&path, "/images/create?fromImage=");
    percent_append(&path, image);
    if (!has_tag)
        strbuf_append(&path, "&tag=latest");
    if (engine_load_image(&docker->engine, path.text, &nothing, err) < 0) {
        enum error_code code = err->code == ERROR_INTERNAL ? ERROR_NOT_FOUND : err->code;
        struct error cause = *err;

        return error_set(err, code, "the image %.100s is not on this host and cannot be pulled: %s",
                         image, cause.message);
    }
    return 0;
}

int docker_pull_image(struct docker *docker, const char *image, struct error *err)
{
    if (docker->settings.may_pull == 0)
        return error_set(err, ERROR_NOT_FOUND, "the image %s is not on this host", image);
    return docker_fetch_image(docker, image, err);
}

static bool is_known(struct docker *docker, const char *image)
{
    bool is = false;

    lock_take(&docker->lock);
    is = json_object_get(docker->known_images, image) != NULL;
    lock_release(&docker->lock);
    return is;
}

/* An image for another architecture would start, and fail at its first command. */
static int check_kind(struct docker *docker, const char *image, const json_t *facts,
                      struct error *err)
{
    const char *architecture = json_text_or(facts, "Architecture", "");
    const char *os = json_text_or(facts, "Os", "linux");
    char ours[sizeof(docker->architecture)] = "";

    lock_take(&docker->lock);
    memcpy(ours, docker->architecture, sizeof(ours));
    lock_release(&docker->lock);
    if (!text_equal(os, "linux"))
        return error_set(err, ERROR_UNSUPPORTED, "the image %.100s is for %.20s, not Linux", image,
                         os);
    if (architecture[0] != '\0' && ours[0] != '\0' && !text_equal(architecture, ours))
        return error_set(err, ERROR_UNSUPPORTED,
                         "the image %.100s is for %.20s processors, this host has %.20s", image,
                         architecture, ours);
    return 0;
}

int docker_check_image(struct docker *docker, const char *image, struct error *err)
{
    json_auto_t *facts = NULL;

    if (is_known(docker, image))
        return 0;
    if (docker_inspect_image(docker, image, &facts, err) < 0) {
        if (err->code != ERROR_NOT_FOUND)
            return -1;
        if (docker_pull_image(docker, image, err) < 0 ||
            docker_inspect_image(docker, image, &facts, err) < 0)
            return -1;
    }
    if (check_kind(docker, image, facts, err) < 0)
        return -1;
    lock_take(&docker->lock);
    json_object_set_new(docker->known_images, image, json_true());
    lock_release(&docker->lock);
    return 0;
}

/* The engine queries the registry; the response has neither size nor age. */
static int ask_registry(struct docker *docker, const char *image, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *reply = NULL;

    if (docker->settings.may_pull == 0)
        return error_set(err, ERROR_NOT_FOUND, "the image %.100s is not on this host", image);
    if (check_registry(docker, image, err) < 0)
        return -1;
    strbuf_appendf(&path, "/distribution/%s/json", image);
    if (engine_call(&docker->engine, &(struct engine_request){.method = "GET", .path = path.text},
                    &reply, err) == 0)
        return 0;
    /* Failures of registries vary: all of them mean that the image is not available. */
    if (error_is_transient(err) && err->code != ERROR_UNAVAILABLE)
        return -1;
    return error_set(err, ERROR_NOT_FOUND, "the image %.100s is not available", image);
}

int docker_find_image(struct docker *docker, const char *image, struct seen_image *seen_out,
                      struct error *err)
{
    json_auto_t *facts = NULL;

    if (docker_inspect_image(docker, image, &facts, err) < 0)
        return err->code == ERROR_NOT_FOUND ? ask_registry(docker, image, err) : -1;
    (void)snprintf(seen_out->id, sizeof(seen_out->id), "%s", json_text_or(facts, "Id", ""));
    (void)snprintf(seen_out->created_at, sizeof(seen_out->created_at), "%s",
                   json_text_or(facts, "Created", ""));
    seen_out->size_bytes = json_int_or(facts, "Size", 0);
    return 0;
}
