#include "runtime/docker/shared_objects.h"

#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/mount_paths.h"
#include "runtime/docker/container.h"
#include "runtime/docker/container_config.h"
#include "runtime/docker/disk_limits.h"
#include "runtime/docker/docker.h"
#include "runtime/docker/tar.h"
#include "runtime/docker/volume.h"

#define ACTION_MAX_BYTES (64UL * 1024 * 1024)
#define CA_MAX_BYTES (4UL * 1024 * 1024)
/* Last in the archive: if it exists, the volume is complete. */
#define ACTION_MARK "complete"
#define HASH_DIGITS 12
#define INFO_TIMEOUT_MS 10000
#define EMPTY_IMAGE "deft-empty"
#define EMPTY_IMAGE_TAG "1"

/* Files at ACTION_MOUNT in every sandbox. */
struct action_files {
    struct strbuf binary;
    struct strbuf bundle; /* certificates; may be empty */
};

static void action_files_done(struct action_files *files)
{
    strbuf_done(&files->binary);
    strbuf_done(&files->bundle);
}

/* Sandboxes may start on a host without certificates. */
static int read_bundle(const struct docker *docker, struct strbuf *bundle, struct error *err)
{
    struct error why = ERROR_INIT;

    if (docker->settings.ca_bundle[0] == '\0' ||
        file_read(docker->settings.ca_bundle, CA_MAX_BYTES, bundle, &why) == 0 ||
        why.code == ERROR_NOT_FOUND)
        return 0;
    *err = why;
    return error_wrap(err, "DEFT_SANDBOX_CA_BUNDLE");
}

/* Reads the current files and derives the name of their volume. */
static int read_action(const struct docker *docker, struct action_files *files,
                       char name[DOCKER_NAME_BYTES], struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf hashes = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    if (file_read(docker->settings.action_binary, ACTION_MAX_BYTES, &files->binary, err) < 0)
        return error_wrap(err, "DEFT_ACTION_BINARY");
    if (read_bundle(docker, &files->bundle, err) < 0)
        return -1;
    crypto_sha256_hex(files->binary.text, files->binary.len, hash);
    strbuf_append(&hashes, hash);
    crypto_sha256_hex(files->bundle.text, files->bundle.len, hash);
    strbuf_append(&hashes, hash);
    crypto_sha256_hex(hashes.text, hashes.len, hash);
    (void)snprintf(name, DOCKER_NAME_BYTES, "%s-action-%.*s", docker->settings.instance,
                   HASH_DIGITS, hash);
    return 0;
}

int docker_name_action_volume(struct docker *docker, struct error *err)
{
    CLEANUP(action_files_done) struct action_files files = {STRBUF_INIT, STRBUF_INIT};

    if (read_action(docker, &files, docker->action_volume, err) < 0)
        return -1;
    (void)snprintf(docker->empty_image, sizeof(docker->empty_image), "%s:%s", EMPTY_IMAGE,
                   EMPTY_IMAGE_TAG);
    return 0;
}

/* Read again rather than kept: megabytes that are needed once. */
static int append_action_archive(const struct docker *docker, struct strbuf *archive,
                                 struct error *err)
{
    CLEANUP(action_files_done) struct action_files files = {STRBUF_INIT, STRBUF_INIT};
    const struct tar_entry entry = {.name = ACTION_NAME, .mode = 0555, .owner = 0};
    const struct tar_entry bundle = {.name = CA_NAME, .mode = 0444, .owner = 0};
    const struct tar_entry mark = {.name = ACTION_MARK, .mode = 0444, .owner = 0};
    char name[DOCKER_NAME_BYTES] = "";

    if (read_action(docker, &files, name, err) < 0)
        return -1;
    if (!text_equal(name, docker->action_volume))
        return error_set(err, ERROR_CONFLICT,
                         "%s, or the CA bundle, was changed after the start; restart this service",
                         docker->settings.action_binary);
    tar_append_file(archive, &entry, files.binary.text, files.binary.len);
    if (files.bundle.len > 0)
        tar_append_file(archive, &bundle, files.bundle.text, files.bundle.len);
    tar_append_file(archive, &mark, name, strlen(name));
    tar_append_end(archive);
    return 0;
}

/* Helpers use an empty image, so that they need no other one. */
static int make_empty_image(struct docker *docker, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;
    struct error missing = ERROR_INIT;

    if (engine_call(
            &docker->engine,
            &(struct engine_request){.method = "GET",
                                     .path = "/images/" EMPTY_IMAGE ":" EMPTY_IMAGE_TAG "/json"},
            NULL, &missing) == 0)
        return 0;
    if (missing.code != ERROR_NOT_FOUND) {
        *err = missing;
        return -1;
    }
    tar_append_end(&archive);
    return engine_load_image(&docker->engine,
                             "/images/create?fromSrc=-&repo=" EMPTY_IMAGE ":" EMPTY_IMAGE_TAG,
                             &archive, err);
}

int docker_fill_volumes(struct docker *docker, const json_t *body, const struct strbuf *archive,
                        struct error *err)
{
    json_auto_t *reply = NULL;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error removal = ERROR_INIT;
    const char *id = NULL;
    int rc = 0;

    if (docker_make_helper(docker, body, &reply, err) < 0)
        return -1;
    id = json_text_or(reply, "Id", "");
    strbuf_appendf(&path, "/containers/%s/archive?path=/", id);
    rc = engine_put_archive(&docker->engine, path.text, archive, err);
    if (docker_remove_container(docker, id, &removal) < 0)
        log_warning("helper.remove_failed", LOG_STR("container_id", id), LOG_ERROR(&removal));
    return rc;
}

/* Whether the volume is complete. */
static int has_mark(struct docker *docker, const char *helper, bool *has_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/containers/%s/archive?path=" ACTION_MOUNT "/" ACTION_MARK, helper);
    if (engine_call(&docker->engine, &(struct engine_request){.method = "HEAD", .path = path.text},
                    NULL, err) == 0) {
        *has_out = true;
        return 0;
    }
    *has_out = false;
    return err->code == ERROR_NOT_FOUND ? 0 : -1;
}

static int fill_action_volume(struct docker *docker, const char *helper, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;
    bool is_whole = false;

    if (has_mark(docker, helper, &is_whole, err) < 0)
        return -1;
    if (is_whole)
        return 0;
    log_info("action_volume.filled", LOG_STR("volume", docker->action_volume));
    strbuf_appendf(&path, "/containers/%s/archive?path=" ACTION_MOUNT, helper);
    if (append_action_archive(docker, &archive, err) < 0)
        return -1;
    return engine_put_archive(&docker->engine, path.text, &archive, err);
}

static int make_action_volume(struct docker *docker, struct error *err)
{
    json_auto_t *body = NULL;
    json_auto_t *reply = NULL;
    struct error removal = ERROR_INIT;
    const char *id = NULL;
    int rc = 0;

    /* Created separately to label it; an existing one is left unchanged. */
    if (docker_make_volume(docker, docker->action_volume, "action", 0, err) < 0)
        return -1;
    body = container_config_helper_json(docker->settings.instance, docker->empty_image,
                                        docker->action_volume, ACTION_MOUNT, err);
    if (body == NULL || docker_make_helper(docker, body, &reply, err) < 0)
        return -1;
    id = json_text_or(reply, "Id", "");
    rc = fill_action_volume(docker, id, err);
    if (docker_remove_container(docker, id, &removal) < 0)
        log_warning("helper.remove_failed", LOG_STR("container_id", id), LOG_ERROR(&removal));
    return rc;
}

/* The engine names architectures as the kernel does, images name them as Go does. */
static const struct {
    const char *engine;
    const char *image;
} architectures[] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"armv7l", "arm"}};

static void learn_engine(struct docker *docker, const json_t *info)
{
    const char *architecture = json_text_or(info, "Architecture", "");

    for (size_t i = 0; i < ARRAY_SIZE(architectures); i++) {
        if (text_equal(architectures[i].engine, architecture))
            architecture = architectures[i].image;
    }
    lock_take(&docker->lock);
    (void)snprintf(docker->architecture, sizeof(docker->architecture), "%s", architecture);
    docker->n_cpus = json_int_or(info, "NCPU", 0);
    (void)snprintf(docker->root, sizeof(docker->root), "%s",
                   json_text_or(info, "DockerRootDir", ""));
    docker->is_podman = json_object_get(info, "BuildahVersion") != NULL;
    json_object_clear(docker->known_images);
    lock_release(&docker->lock);
}

int docker_make_shared_objects(struct docker *docker, struct error *err)
{
    json_auto_t *info = NULL;

    if (engine_call(&docker->engine,
                    &(struct engine_request){
                        .method = "GET", .path = "/info", .timeout_ms = INFO_TIMEOUT_MS},
                    &info, err) < 0)
        return -1;
    learn_engine(docker, info);
    if (make_empty_image(docker, err) < 0)
        return error_wrap(err, "creating an empty image");
    if (make_action_volume(docker, err) < 0)
        return error_wrap(err, "making the volume with " ACTION_NAME);
    docker_detect_limits(docker);
    return 0;
}
