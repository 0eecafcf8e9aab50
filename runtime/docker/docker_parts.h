/*
 * The Docker back end's inside, shared by its files: its state, and the steps that docker.c puts
 * together.
 *
 * Threading: settings and names are read-only after docker_new(); the rest stands under the lock.
 */
#ifndef DEFT_RUNTIME_DOCKER_DOCKER_PARTS_H
#define DEFT_RUNTIME_DOCKER_DOCKER_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/strbuf.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/sandbox_users.h"
#include "runtime/backend/spares.h"
#include "runtime/docker/docker_settings.h"
#include "runtime/docker/engine.h"

/* A home "x" is the volumes <instance>-ws-x and <instance>-j-x; sandbox_users.h says how it ends.
 */
#define HOME_ID_BYTES 11
#define DOCKER_NAME_BYTES 160

struct docker {
    struct backend backend; /* first */
    struct docker_settings settings;
    struct engine engine;
    struct spares *spares;
    char action_volume[DOCKER_NAME_BYTES]; /* named by what is in it */
    char empty_image[DOCKER_NAME_BYTES];
    struct lock lock;   /* guards all below */
    struct error state; /* ERROR_NONE: the engine answers and is prepared */
    struct http_call *watch;
    struct http_call *build_call;
    bool is_stopping_builds;
    struct condition stop_wanted;
    bool is_stopping;
    json_t *known_images;  /* image → true: its architecture suits */
    char architecture[32]; /* of the engine, in the words of an image: "amd64" */
    int64_t n_cpus;
    char root[256];      /* the folder in which the engine keeps everything; "" until it said so */
    bool limits_volumes; /* can hold a workspace to a size */
    bool limits_layers;  /* the same of what is written elsewhere */
    struct users_in_use users; /* of homes that this process made; the engine knows the others */
    bool is_podman; /* reads a seccomp profile from a file, where Docker takes its text */
};

/* --- docker_parts.c --- */

void docker_container_name(const struct docker *docker, const char *runtime_id,
                           char name[DOCKER_NAME_BYTES]) NONNULL;
void docker_workspace_name(const struct docker *docker, const char *home,
                           char name[DOCKER_NAME_BYTES]) NONNULL;
void docker_journal_name(const struct docker *docker, const char *home,
                         char name[DOCKER_NAME_BYTES]) NONNULL;
bool docker_is_podman(struct docker *docker) NONNULL MUST_CHECK;
/* Creates a container that never runs; its id stands in the reply, a new reference. */
int docker_make_helper(struct docker *docker, const json_t *body, json_t **reply_out,
                       struct error *err) NONNULL MUST_CHECK;
/* `name`: a container's name or id; a missing one is success. */
int docker_remove_container(struct docker *docker, const char *name,
                            struct error *err) NONNULL MUST_CHECK;
/* {"size": "…"}; a new reference, or NULL with err set. */
json_t *docker_size_option(int64_t bytes, struct error *err) NONNULL MUST_CHECK;
/* One that is there is left as it is. size_bytes: what it is held to; 0: nothing. */
int docker_make_volume(struct docker *docker, const char *name, const char *role,
                       int64_t size_bytes, struct error *err) NONNULL MUST_CHECK;
/* A missing one is success. */
int docker_remove_volume(struct docker *docker, const char *name,
                         struct error *err) NONNULL MUST_CHECK;

/* --- docker_disk.c --- */

/* What is free where the engine keeps everything; ERROR_NOT_FOUND when that is on another machine.
 */
int docker_room(struct docker *docker, struct backend_room *room_out,
                struct error *err) NONNULL MUST_CHECK;
/* Finds out which limits of size this engine can hold to. */
void docker_try_limits(struct docker *docker) NONNULL;
/* What a new workspace, and what is written elsewhere in a sandbox, is held to; 0: nothing. */
int64_t docker_volume_limit(struct docker *docker) NONNULL MUST_CHECK;
int64_t docker_layer_limit(struct docker *docker) NONNULL MUST_CHECK;

/* --- docker_prepare.c --- */

/* Makes what all sandboxes share: the empty image, the volume with deft-action. */
int docker_prepare(struct docker *docker, struct error *err) NONNULL MUST_CHECK;
/* Names the action volume after what will be in it; ERROR_NOT_FOUND without the binary. */
int docker_name_action(struct docker *docker, struct error *err) NONNULL MUST_CHECK;
/* Puts an archive into a volume through a container that never runs. */
int docker_fill_volumes(struct docker *docker, const json_t *body, const struct strbuf *archive,
                        struct error *err) NONNULL MUST_CHECK;

/* --- docker_spares.c --- */

/* Makes a network, or a home (workspace and journal volume), under a name that nobody has. */
int docker_make_network(struct docker *docker, char name_out[SPARE_NAME_BYTES],
                        struct error *err) NONNULL MUST_CHECK;
int docker_make_home(struct docker *docker, char home_out[SPARE_NAME_BYTES],
                     struct error *err) NONNULL MUST_CHECK;
int docker_remove_network(struct docker *docker, const char *name,
                          struct error *err) NONNULL MUST_CHECK;
int docker_remove_home(struct docker *docker, const char *home,
                       struct error *err) NONNULL MUST_CHECK;
/* Around the removal of a home's volumes, or of one: nobody else gets its users before the end. */
void docker_hold_users(struct docker *docker, const char *home) NONNULL;
void docker_release_users(struct docker *docker, const char *home) NONNULL;
/* Makes one more spare of what is short of them. */
int docker_refill(struct docker *docker, bool *is_full_out, struct error *err) NONNULL MUST_CHECK;

/* --- docker_sweep.c --- */

/* Removes networks, volumes and steps of builds that nobody answers for, and spares above the
 * wanted number. */
int docker_tidy(struct docker *docker, const struct kept_source *source,
                struct error *err) NONNULL MUST_CHECK;
/* Removes all of this instance. */
int docker_reap(struct docker *docker, struct error *err) NONNULL MUST_CHECK;

/* --- docker_image.c --- */

/* Sees to it that the image is there (pulls it when allowed) and runs on this host. */
int docker_check_image(struct docker *docker, const char *image,
                       struct error *err) NONNULL MUST_CHECK;
/* Here, or in its registry when images may be pulled; ERROR_NOT_FOUND. */
int docker_find_image(struct docker *docker, const char *image, struct seen_image *seen_out,
                      struct error *err) NONNULL MUST_CHECK;
/* What the engine knows of an image that is on this host; a new reference. ERROR_NOT_FOUND. */
int docker_inspect_image(struct docker *docker, const char *image, json_t **facts_out,
                         struct error *err) NONNULL MUST_CHECK;
/* Fetches it from its registry, if that is listed. ERROR_NOT_FOUND. */
int docker_fetch_image(struct docker *docker, const char *image,
                       struct error *err) NONNULL MUST_CHECK;
/* The same where images may be pulled for sandboxes. */
int docker_pull_image(struct docker *docker, const char *image,
                      struct error *err) NONNULL MUST_CHECK;

/* --- docker_build.c --- */

int docker_build(struct docker *docker, const struct image_order *order,
                 char image_id[BACKEND_IMAGE_BYTES], struct strbuf *said,
                 struct error *err) NONNULL MUST_CHECK;
/* The build under way ends, and no other begins. */
void docker_stop_building(struct docker *docker) NONNULL;
/* Takes the name away, and the image with its last name; a missing one is success. */
int docker_remove_image(struct docker *docker, const char *image,
                        struct error *err) NONNULL MUST_CHECK;
/* Steps of a build that failed have no name; without this the disk would fill up. Images that have
 * one stay. */
void docker_remove_step(struct docker *docker, const char *image) NONNULL;
int docker_reap_images(struct docker *docker, struct error *err) NONNULL MUST_CHECK;

/* --- docker_start.c --- */

/* Creates and starts the order's container; returns when its server listens. */
int docker_start(struct docker *docker, const struct sandbox_order *order,
                 struct sandbox_place *place_out, struct error *err) NONNULL MUST_CHECK;
/* Why it ended, from its state and what it printed last; `tail` may be "". */
void docker_explain(struct docker *docker, const char *name, const char *tail,
                    struct error *why_out) NONNULL;

/* --- docker_pause.c --- */

/* Freezes and thaws a container; one that is so already is success. */
int docker_pause(struct docker *docker, const char *container_id,
                 struct error *err) NONNULL MUST_CHECK;
int docker_resume(struct docker *docker, const char *container_id,
                  struct error *err) NONNULL MUST_CHECK;
int docker_is_paused(struct docker *docker, const char *container_id, bool *is_paused_out,
                     struct error *err) NONNULL MUST_CHECK;

/* --- docker_rest.c --- */

/* Whether its server and its shells all wait. */
int docker_is_at_rest(struct docker *docker, const char *container_id, bool *is_at_rest_out,
                      struct error *err) NONNULL MUST_CHECK;

/* --- docker_watch.c --- */

/* Tells the sink what the engine says of this instance's containers, until told to stop. */
void docker_follow(struct docker *docker, const struct news_sink *sink) NONNULL;
void docker_stop_following(struct docker *docker) NONNULL;
void docker_ping(struct docker *docker) NONNULL;
int docker_list(struct docker *docker, struct seen_list *list_out,
                struct error *err) NONNULL MUST_CHECK;

#endif
