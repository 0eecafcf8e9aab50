#include "runtime/docker/home_volumes.h"

#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/mount_paths.h"
#include "runtime/backend/sandbox_users.h"
#include "runtime/docker/container.h"
#include "runtime/docker/container_config.h"
#include "runtime/docker/disk_limits.h"
#include "runtime/docker/docker.h"
#include "runtime/docker/shared_objects.h"
#include "runtime/docker/tar.h"
#include "runtime/docker/volume.h"

static void random_id(char id[HOME_ID_BYTES])
{
    unsigned char bytes[(HOME_ID_BYTES - 1) / 2];

    crypto_random(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), id);
}

static int call(struct docker *docker, const char *method, const char *path, const json_t *body,
                json_t **reply_out, struct error *err)
{
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = method, .path = path, .body = body},
                       reply_out, err);
}

/* The folders belong to the sandbox's users, whatever the image contains. */
static void append_home_archive(const char *home, struct strbuf *archive)
{
    const struct sandbox_users users = sandbox_users_of_home(home);
    const struct tar_entry folders[] = {
        {.name = "workspace/", .mode = 0755, .owner = users.command, .group = users.group},
        {.name = "workspace/project/", .mode = 0755, .owner = users.command, .group = users.group},
        {.name = ".deft-j/", .mode = 0700, .owner = users.server, .group = users.group},
    };

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        tar_append_directory(archive, &folders[i]);
    tar_append_end(archive);
}

static int fill_home(struct docker *docker, const char *home, const char *workspace,
                     const char *journal, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;
    json_auto_t *body = container_config_helper_json(docker->settings.instance, docker->empty_image,
                                                     workspace, WORKSPACE_MOUNT, err);

    if (body == NULL)
        return -1;
    json_array_append_new(json_object_get(json_object_get(body, "HostConfig"), "Mounts"),
                          json_build(err, "{s:s, s:s, s:s, s:{s:b}}", "Type", "volume", "Source",
                                     journal, "Target", JOURNAL_MOUNT, "VolumeOptions", "NoCopy",
                                     1));
    append_home_archive(home, &archive);
    return docker_fill_volumes(docker, body, &archive, err);
}

/* User pairs of all homes on this engine, other services' included. */
static int list_users(struct docker *docker, struct users_in_use *users_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *reply = NULL;
    const json_t *volume = NULL;
    size_t i = 0;

    strbuf_append(&path, "/volumes?");
    engine_append_label_filter(&path, LABEL_MANAGED, "1");
    if (call(docker, "GET", path.text, NULL, &reply, err) < 0)
        return -1;
    json_array_foreach (json_object_get(reply, "Volumes"), i, volume)
        users_in_use_add(users_out, json_text_or(volume, "Name", ""));
    return 0;
}

static int take_users(struct docker *docker, unsigned *command_out, struct error *err)
{
    struct users_in_use others = {.bits = {0}};
    uint32_t start = 0;
    bool is_taken = false;

    if (list_users(docker, &others, err) < 0)
        return -1;
    crypto_random(&start, sizeof(start));
    lock_take(&docker->lock);
    is_taken = users_in_use_take(&docker->users, &others, start, command_out);
    lock_release(&docker->lock);
    if (!is_taken)
        return error_set(err, ERROR_UNAVAILABLE,
                         "all %d pairs of users are in use by workspaces on this engine; delete "
                         "sandboxes that are no longer needed",
                         USERS_PAIRS);
    return 0;
}

void docker_hold_users(struct docker *docker, const char *home)
{
    lock_take(&docker->lock);
    users_in_use_add(&docker->users, home);
    lock_release(&docker->lock);
}

void docker_release_users(struct docker *docker, const char *home)
{
    lock_take(&docker->lock);
    users_in_use_remove(&docker->users, home);
    lock_release(&docker->lock);
}

static int name_home(struct docker *docker, char home_out[PREALLOC_NAME_BYTES], struct error *err)
{
    char id[HOME_ID_BYTES] = "";
    unsigned command = 0;

    if (take_users(docker, &command, err) < 0)
        return -1;
    random_id(id);
    (void)snprintf(home_out, PREALLOC_NAME_BYTES, "%s-%u", id, command);
    return 0;
}

int docker_make_home(struct docker *docker, char home_out[PREALLOC_NAME_BYTES], struct error *err)
{
    char home[PREALLOC_NAME_BYTES] = "";
    char workspace[DOCKER_NAME_BYTES] = "";
    char journal[DOCKER_NAME_BYTES] = "";
    int64_t size_bytes = docker_volume_limit(docker);

    if (name_home(docker, home, err) < 0)
        return error_wrap(err, "creating a workspace");
    docker_workspace_name(docker, home, workspace);
    docker_journal_name(docker, home, journal);
    prealloc_add_used(docker->prealloc, PREALLOC_HOME, home);
    if (docker_make_volume(docker, workspace, "workspace", size_bytes, err) < 0 ||
        docker_make_volume(docker, journal, "journal", size_bytes, err) < 0 ||
        fill_home(docker, home, workspace, journal, err) < 0) {
        prealloc_forget(docker->prealloc, PREALLOC_HOME, home);
        docker_release_users(docker, home);
        return error_wrap(err, "creating a workspace");
    }
    (void)snprintf(home_out, PREALLOC_NAME_BYTES, "%s", home);
    return 0;
}

static int list_helpers(struct docker *docker, const char *volume, json_t **list_out,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf filter = STRBUF_INIT;

    strbuf_appendf(&filter,
                   "{\"volume\":[\"%s\"],\"label\":[\"" LABEL_ROLE "=helper\",\"" LABEL_INSTANCE
                   "=%s\"]}",
                   volume, docker->settings.instance);
    strbuf_append(&path, "/containers/json?all=1&filters=");
    percent_append(&path, filter.text);
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = "GET", .path = path.text}, list_out, err);
}

/* A helper that filled a home and was left by an engine's shutdown keeps the volume in use. */
static int remove_helpers(struct docker *docker, const char *volume, struct error *err)
{
    json_auto_t *helpers = NULL;
    const json_t *helper = NULL;
    size_t i = 0;

    if (list_helpers(docker, volume, &helpers, err) < 0)
        return -1;
    json_array_foreach (helpers, i, helper) {
        if (docker_remove_container(docker, json_text_or(helper, "Id", ""), err) < 0)
            return -1;
    }
    return 0;
}

static int remove_home_volume(struct docker *docker, const char *name, struct error *err)
{
    if (docker_remove_volume(docker, name, err) == 0)
        return 0;
    if (err->code != ERROR_CONFLICT || remove_helpers(docker, name, err) < 0)
        return -1;
    return docker_remove_volume(docker, name, err);
}

int docker_remove_home(struct docker *docker, const char *home, struct error *err)
{
    char name[DOCKER_NAME_BYTES] = "";

    docker_hold_users(docker, home);
    docker_workspace_name(docker, home, name);
    if (remove_home_volume(docker, name, err) < 0)
        return -1;
    docker_journal_name(docker, home, name);
    if (remove_home_volume(docker, name, err) < 0)
        return -1;
    prealloc_forget(docker->prealloc, PREALLOC_HOME, home);
    docker_release_users(docker, home);
    return 0;
}
