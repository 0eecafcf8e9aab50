#include "runtime/docker/image_build.h"

#include <stdio.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "runtime/build/build_context.h"
#include "runtime/build/dockerfile.h"
#include "runtime/build/image_source.h"
#include "runtime/docker/container_config.h"
#include "runtime/docker/docker.h"
#include "runtime/docker/image_lookup.h"
#include "runtime/docker/network.h"

#define PIECE_BYTES (256UL * 1024)
/* Maximum line of the engine's output; longer ones are skipped. */
#define LINE_MAX_BYTES (64UL * 1024)
#define SAID_MAX_BYTES 4096UL
#define IMAGE_ID_DIGITS 12
#define CPU_PERIOD_US 100000
#define NANO_CPUS_PER_US (1000000000LL / CPU_PERIOD_US)

struct running_build {
    struct docker *docker;
    const struct image_build_request *order;
    struct strbuf *said; /* end of the build's output */
    char network[PREALLOC_NAME_BYTES];
    char image_id[BACKEND_IMAGE_BYTES];
    char last_step[IMAGE_ID_DIGITS + 1]; /* left over if the build fails */
    struct strbuf line;
    bool is_line_too_long;
    struct error failure;
};

/* --- request --- */

static int append_labels(const struct docker *docker, struct strbuf *path, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *labels = json_build(err, "{s:s}", LABEL_IMAGE_OF, docker->settings.instance);

    if (labels == NULL)
        return -1;
    json_append_text(&text, labels);
    strbuf_append(path, "&labels=");
    percent_append(path, text.text);
    return 0;
}

/* Limits the build's memory and processor to a sandbox's, as far as the engine supports it. */
static int append_query(const struct running_build *build, struct strbuf *path, struct error *err)
{
    const struct docker_profile *profile = &build->docker->settings.profile;
    const json_t *name = NULL;
    size_t i = 0;

    strbuf_appendf(path,
                   "/build?dockerfile=Dockerfile&rm=1&forcerm=1&memory=%lld&memswap=%lld&cpuperiod="
                   "%d&cpuquota=%lld"
                   "&cpushares=512&shmsize=%lld&networkmode=%s",
                   (long long)profile->memory_bytes, (long long)profile->memory_bytes,
                   CPU_PERIOD_US, (long long)(profile->nano_cpus / NANO_CPUS_PER_US),
                   (long long)profile->shm_bytes, build->network);
    json_array_foreach (build->order->names, i, name) {
        strbuf_append(path, "&t=");
        percent_append(path, json_string_value(name));
    }
    return append_labels(build->docker, path, err);
}

/* --- response --- */

/* Keeps the end of the output, starting at a UTF-8 character boundary. */
static void keep_end(struct strbuf *said)
{
    size_t cut = said->len - SAID_MAX_BYTES;

    while (cut < said->len && ((unsigned char)said->text[cut] & 0xC0) == 0x80)
        cut++;
    strbuf_remove_head(said, cut);
}

static void remember(struct running_build *build, const char *text)
{
    static const char arrow[] = " ---> ";

    if (text_starts_with(text, arrow) &&
        strspn(text + strlen(arrow), "0123456789abcdef") == IMAGE_ID_DIGITS)
        (void)snprintf(build->last_step, sizeof(build->last_step), "%s", text + strlen(arrow));
    strbuf_append(build->said, text);
    if (build->said->len > 2 * SAID_MAX_BYTES)
        keep_end(build->said);
}

static void take_line(struct running_build *build)
{
    json_auto_t *step = NULL;
    struct error ignored = ERROR_INIT;
    const char *id = NULL;
    const char *why = NULL;

    error_ignore(json_parse(build->line.text, build->line.len, &step, &ignored),
                 "progress is only read");
    id = json_text_or(json_object_get(step, "aux"), "ID", "");
    if (id[0] != '\0')
        (void)snprintf(build->image_id, sizeof(build->image_id), "%s", id);
    remember(build, json_text_or(step, "stream", ""));
    why = json_text_or(step, "error", NULL);
    if (why == NULL)
        why = json_text_or(step, "message", NULL); /* of an error response */
    if (why == NULL)
        return;
    error_set(&build->failure, ERROR_INVALID, "%.220s", why);
    remember(build, why);
}

static void feed(struct running_build *build, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != '\n') {
            build->is_line_too_long |= build->line.len >= LINE_MAX_BYTES;
            if (!build->is_line_too_long)
                strbuf_append_char(&build->line, bytes[i]);
            continue;
        }
        if (!build->is_line_too_long)
            take_line(build);
        strbuf_reset(&build->line);
        build->is_line_too_long = false;
    }
}

static int send_context(const struct strbuf *context, struct http_call *call, struct error *err)
{
    for (size_t at = 0; at < context->len; at += PIECE_BYTES) {
        size_t left = context->len - at;

        if (http_call_write(call, context->text + at, left < PIECE_BYTES ? left : PIECE_BYTES,
                            err) < 0)
            return -1;
    }
    return http_call_write(call, NULL, 0, err);
}

static int read_answer(struct running_build *build, struct http_call *call, struct error *err)
{
    const char *bytes = NULL;
    size_t len = 1;

    while (len > 0) {
        if (http_call_read(call, &bytes, &len, err) < 0)
            return error_wrap(err, "the build was interrupted");
        feed(build, bytes, len);
    }
    feed(build, "\n", 1);
    if (build->failure.code != ERROR_NONE) {
        *err = build->failure;
        return -1;
    }
    if (http_status(call) >= 400 || build->image_id[0] == '\0')
        return error_set(err, ERROR_INTERNAL, "the engine built no image and gave no reason");
    return 0;
}

/* --- base images --- */

static bool may_fetch(struct docker *docker, const char *image)
{
    json_auto_t *facts = NULL;
    struct error ignored = ERROR_INIT;

    return image_source_is_listed(docker->settings.registries, image) ||
           docker_inspect_image(docker, image, &facts, &ignored) == 0;
}

static int check_trigger(struct docker *docker, const char *base, const char *trigger,
                         struct error *err)
{
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
    const json_t *image = NULL;
    size_t i = 0;

    if (dockerfile_list_images(trigger, strlen(trigger), &images, err) < 0)
        return error_wrap(err, "ONBUILD of %.100s", base);
    json_array_foreach (images.others, i, image) {
        if (!may_fetch(docker, json_string_value(image)))
            return error_set(err, ERROR_INVALID,
                             "ONBUILD of %.100s uses an image that may not be fetched", base);
    }
    return 0;
}

/*
 * The engine runs a base image's ONBUILD instructions as part of the Dockerfile. Pulling the image
 * here ensures that the engine uses the one that was checked. A name without a path is an earlier
 * stage, an image of this host, or an official image of the registry.
 */
static int check_base(struct docker *docker, const char *base, struct error *err)
{
    json_auto_t *facts = NULL;
    const json_t *trigger = NULL;
    size_t i = 0;

    if (strchr(base, '/') == NULL)
        return 0;
    if (docker_inspect_image(docker, base, &facts, err) < 0 &&
        (err->code != ERROR_NOT_FOUND || docker_fetch_image(docker, base, err) < 0 ||
         docker_inspect_image(docker, base, &facts, err) < 0))
        return -1;
    json_array_foreach (json_object_get(json_object_get(facts, "Config"), "OnBuild"), i, trigger) {
        const char *text = json_string_value(trigger);

        if (text != NULL && check_trigger(docker, base, text, err) < 0)
            return -1;
    }
    return 0;
}

static int check_bases(struct docker *docker, const struct image_build_request *order,
                       struct error *err)
{
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
    const json_t *base = NULL;
    size_t i = 0;

    /* The size was checked on receipt. */
    if (build_context_list_images(order->context, INT64_MAX, &images, err) < 0)
        return -1;
    json_array_foreach (images.bases, i, base) {
        if (check_base(docker, json_string_value(base), err) < 0)
            return -1;
    }
    return 0;
}

/* --- the build --- */

/* False if the service is stopping. */
static bool publish(struct docker *docker, struct http_call *call)
{
    bool is_stopping = false;

    lock_take(&docker->lock);
    is_stopping = docker->is_stopping_builds;
    docker->build_call = is_stopping ? NULL : call;
    lock_release(&docker->lock);
    return !is_stopping;
}

void docker_stop_building(struct docker *docker)
{
    lock_take(&docker->lock);
    docker->is_stopping_builds = true;
    if (docker->build_call != NULL)
        http_cancel(docker->build_call);
    lock_release(&docker->lock);
}

static int run_build(struct running_build *build, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct docker *docker = build->docker;
    int rc = 0;

    if (append_query(build, &path, err) < 0 ||
        engine_stream_archive(&docker->engine, path.text, build->order->context->len,
                              docker->settings.build_ms, &call, err) < 0)
        return -1;
    if (!publish(docker, call))
        return error_set(err, ERROR_CANCELLED, "the service is stopping");
    rc = send_context(build->order->context, call, err);
    if (rc == 0)
        rc = read_answer(build, call, err);
    error_ignore(publish(docker, NULL) ? 0 : -1, "it no longer needs to be cancelled");
    return rc;
}

void docker_remove_step(struct docker *docker, const char *image)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *facts = NULL;
    struct error err = ERROR_INIT;

    if (image[0] == '\0')
        return;
    strbuf_appendf(&path, "/images/%s/json", image);
    if (engine_call(&docker->engine, &(struct engine_request){.method = "GET", .path = path.text},
                    &facts, &err) < 0 ||
        json_array_size(json_object_get(facts, "RepoTags")) > 0 ||
        json_array_size(json_object_get(facts, "RepoDigests")) > 0)
        return;
    if (docker_remove_image(docker, image, &err) < 0)
        log_debug("build_step.remove_failed", LOG_STR("image", image), LOG_ERROR(&err));
}

/* Removes earlier images whose names the new one has taken. */
static void remove_nameless(struct docker *docker)
{
    CLEANUP(strbuf_done) struct strbuf filter = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&filter, "{\"dangling\":[\"true\"],\"label\":[\"" LABEL_IMAGE_OF "=%s\"]}",
                   docker->settings.instance);
    strbuf_append(&path, "/images/prune?filters=");
    percent_append(&path, filter.text);
    if (engine_call(&docker->engine, &(struct engine_request){.method = "POST", .path = path.text},
                    NULL, &err) < 0)
        log_debug("images.prune_failed", LOG_ERROR(&err));
}

static void release_network(struct running_build *build)
{
    struct error err = ERROR_INIT;

    if (docker_remove_network(build->docker, build->network, &err) == 0)
        return;
    /* A step may still be ending; the sweep removes the network later. */
    log_debug("network.remove_failed", LOG_STR("network", build->network), LOG_ERROR(&err));
    prealloc_forget(build->docker->prealloc, PREALLOC_NETWORK, build->network);
}

int docker_build_image(struct docker *docker, const struct image_build_request *order,
                       char image_id[BACKEND_IMAGE_BYTES], struct strbuf *said, struct error *err)
{
    struct running_build build = {
        .docker = docker, .order = order, .said = said, .line = STRBUF_INIT, .failure = ERROR_INIT};
    int rc = 0;

    if (check_bases(docker, order, err) < 0)
        return -1;
    if (docker_make_network(docker, build.network, err) < 0)
        return error_wrap(err, "creating a network");
    rc = run_build(&build, err);
    strbuf_done(&build.line);
    release_network(&build);
    if (rc < 0) {
        docker_remove_step(docker, build.last_step);
        return -1;
    }
    remove_nameless(docker);
    (void)snprintf(image_id, BACKEND_IMAGE_BYTES, "%s", build.image_id);
    return 0;
}

int docker_remove_image(struct docker *docker, const char *image, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/images/%s", image);
    if (engine_call(&docker->engine,
                    &(struct engine_request){.method = "DELETE", .path = path.text}, NULL,
                    err) < 0 &&
        err->code != ERROR_NOT_FOUND)
        return error_wrap(err, "removing the image %.100s", image);
    lock_take(&docker->lock);
    json_object_del(docker->known_images, image);
    lock_release(&docker->lock);
    return 0;
}

/* All images built for this instance. */
int docker_remove_images(struct docker *docker, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *images = NULL;
    const json_t *image = NULL;
    size_t i = 0;

    strbuf_append(&path, "/images/json?");
    engine_append_label_filter(&path, LABEL_IMAGE_OF, docker->settings.instance);
    if (engine_call(&docker->engine, &(struct engine_request){.method = "GET", .path = path.text},
                    &images, err) < 0)
        return -1;
    json_array_foreach (images, i, image) {
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

        strbuf_appendf(&name, "%s?force=1", json_text_or(image, "Id", ""));
        if (docker_remove_image(docker, name.text, err) < 0)
            return -1;
    }
    return 0;
}
