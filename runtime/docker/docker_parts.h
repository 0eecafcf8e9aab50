/*
 * Internals of the Docker back end: its state, and the functions that its files share.
 *
 * Threading: settings and names are read-only after docker_new(); the lock guards the rest.
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

/* A home "x" is the volumes <instance>-ws-x and <instance>-j-x; its suffix: see sandbox_users.h. */
#define HOME_ID_BYTES 11
#define DOCKER_NAME_BYTES 160

struct docker {
    struct backend backend; /* must be first */
    struct docker_settings settings;
    struct engine engine;
    struct spares *spares;
    char action_volume[DOCKER_NAME_BYTES]; /* named after a hash of its content */
    char empty_image[DOCKER_NAME_BYTES];
    struct lock lock;   /* guards all below */
    struct error state; /* ERROR_NONE: the engine is reachable and prepared */
    struct http_call *watch;
    struct http_call *build_call;
    bool is_stopping_builds;
    struct condition stop_wanted;
    bool is_stopping;
    json_t *known_images;  /* image → true: its architecture is supported */
    char architecture[32]; /* the engine's, in an image's terms: "amd64" */
    int64_t n_cpus;
    char root[256];            /* the engine's data folder; "" until known */
    bool limits_volumes;       /* supports size limits of volumes */
    bool limits_layers;        /* and of container file systems */
    struct users_in_use users; /* of homes made by this process; the engine lists the others */
    bool is_podman;            /* takes a seccomp profile as a file, Docker as text */
};

/* --- docker_parts.c --- */

void docker_container_name(const struct docker *docker, const char *runtime_id,
                           char name[DOCKER_NAME_BYTES]) NONNULL;
void docker_workspace_name(const struct docker *docker, const char *home,
                           char name[DOCKER_NAME_BYTES]) NONNULL;
void docker_journal_name(const struct docker *docker, const char *home,
                         char name[DOCKER_NAME_BYTES]) NONNULL;
bool docker_is_podman(struct docker *docker) NONNULL MUST_CHECK;
/* Creates a container that never runs; its id is in the reply, a new reference. */
int docker_make_helper(struct docker *docker, const json_t *body, json_t **reply_out,
                       struct error *err) NONNULL MUST_CHECK;
/* `name`: a container's name or id; success if it does not exist. */
int docker_remove_container(struct docker *docker, const char *name,
                            struct error *err) NONNULL MUST_CHECK;
/* {"size": "…"}; a new reference, or NULL with err set. */
json_t *docker_size_option(int64_t bytes, struct error *err) NONNULL MUST_CHECK;
/* An existing one is left unchanged. size_bytes: its size limit; 0: none. */
int docker_make_volume(struct docker *docker, const char *name, const char *role,
                       int64_t size_bytes, struct error *err) NONNULL MUST_CHECK;
/* Success if it does not exist. */
int docker_remove_volume(struct docker *docker, const char *name,
                         struct error *err) NONNULL MUST_CHECK;

/* --- docker_disk.c --- */

/* Free space of the engine's data folder; ERROR_NOT_FOUND if it is on another machine. */
int docker_room(struct docker *docker, struct backend_room *room_out,
                struct error *err) NONNULL MUST_CHECK;
/* Tries which size limits this engine supports. */
void docker_try_limits(struct docker *docker) NONNULL;
/* Size limits of a new workspace, and of other writes in a sandbox; 0: none. */
int64_t docker_volume_limit(struct docker *docker) NONNULL MUST_CHECK;
int64_t docker_layer_limit(struct docker *docker) NONNULL MUST_CHECK;

/* --- docker_prepare.c --- */

/* Creates the objects that all sandboxes share: the empty image, the volume with deft-action. */
int docker_prepare(struct docker *docker, struct error *err) NONNULL MUST_CHECK;
/* Names the action volume after the hash of its content; ERROR_NOT_FOUND without the binary. */
int docker_name_action(struct docker *docker, struct error *err) NONNULL MUST_CHECK;
/* Copies an archive into a volume through a container that never runs. */
int docker_fill_volumes(struct docker *docker, const json_t *body, const struct strbuf *archive,
                        struct error *err) NONNULL MUST_CHECK;

/* --- docker_spares.c --- */

/* Make a network, or a home (workspace and journal volume), with an unused name. */
int docker_make_network(struct docker *docker, char name_out[SPARE_NAME_BYTES],
                        struct error *err) NONNULL MUST_CHECK;
int docker_make_home(struct docker *docker, char home_out[SPARE_NAME_BYTES],
                     struct error *err) NONNULL MUST_CHECK;
int docker_remove_network(struct docker *docker, const char *name,
                          struct error *err) NONNULL MUST_CHECK;
int docker_remove_home(struct docker *docker, const char *home,
                       struct error *err) NONNULL MUST_CHECK;
/* Reserve a home's users while its volumes are removed, so that no new home gets them. `home`: a
 * home's or a volume's name. */
void docker_hold_users(struct docker *docker, const char *home) NONNULL;
void docker_release_users(struct docker *docker, const char *home) NONNULL;
/* Makes one more spare of a kind that has too few. */
int docker_refill(struct docker *docker, bool *is_full_out, struct error *err) NONNULL MUST_CHECK;

/* --- docker_sweep.c --- */

/* Removes networks, volumes and build steps that belong to no row, and surplus spares. */
int docker_tidy(struct docker *docker, const struct kept_source *source,
                struct error *err) NONNULL MUST_CHECK;
/* Removes all objects of this instance. */
int docker_reap(struct docker *docker, struct error *err) NONNULL MUST_CHECK;

/* --- docker_image.c --- */

/* Ensures that the image is on this host (pulls it if allowed) and supports its architecture. */
int docker_check_image(struct docker *docker, const char *image,
                       struct error *err) NONNULL MUST_CHECK;
/* On this host, or in its registry if images may be pulled; ERROR_NOT_FOUND. */
int docker_find_image(struct docker *docker, const char *image, struct seen_image *seen_out,
                      struct error *err) NONNULL MUST_CHECK;
/* The engine's details of an image on this host; a new reference. ERROR_NOT_FOUND. */
int docker_inspect_image(struct docker *docker, const char *image, json_t **facts_out,
                         struct error *err) NONNULL MUST_CHECK;
/* Pulls it if its registry is listed. ERROR_NOT_FOUND. */
int docker_fetch_image(struct docker *docker, const char *image,
                       struct error *err) NONNULL MUST_CHECK;
/* As above, if images may be pulled for sandboxes. */
int docker_pull_image(struct docker *docker, const char *image,
                      struct error *err) NONNULL MUST_CHECK;

/* --- docker_build.c --- */

int docker_build(struct docker *docker, const struct image_order *order,
                 char image_id[BACKEND_IMAGE_BYTES], struct strbuf *said,
                 struct error *err) NONNULL MUST_CHECK;
/* Ends the running build and refuses later ones. */
void docker_stop_building(struct docker *docker) NONNULL;
/* Removes the name, and the image with its last name; success if it does not exist. */
int docker_remove_image(struct docker *docker, const char *image,
                        struct error *err) NONNULL MUST_CHECK;
/* Removes a step of a failed build: it has no name and would fill up the disk. Keeps named ones. */
void docker_remove_step(struct docker *docker, const char *image) NONNULL;
int docker_reap_images(struct docker *docker, struct error *err) NONNULL MUST_CHECK;

/* --- docker_start.c --- */

/* Creates and starts the order's container; returns once its server listens. */
int docker_start(struct docker *docker, const struct sandbox_order *order,
                 struct sandbox_place *place_out, struct error *err) NONNULL MUST_CHECK;
/* Why it ended, from its state and its last output; `tail` may be "". */
void docker_explain(struct docker *docker, const char *name, const char *tail,
                    struct error *why_out) NONNULL;

/* --- docker_pause.c --- */

/* Pause and resume a container; success if it is already so. */
int docker_pause(struct docker *docker, const char *container_id,
                 struct error *err) NONNULL MUST_CHECK;
int docker_resume(struct docker *docker, const char *container_id,
                  struct error *err) NONNULL MUST_CHECK;
int docker_is_paused(struct docker *docker, const char *container_id, bool *is_paused_out,
                     struct error *err) NONNULL MUST_CHECK;

/* --- docker_rest.c --- */

/* Whether its server and shells are all idle. */
int docker_is_at_rest(struct docker *docker, const char *container_id, bool *is_at_rest_out,
                      struct error *err) NONNULL MUST_CHECK;

/* --- docker_watch.c --- */

/* Reports events of this instance's containers to the sink until docker_stop_following(). */
void docker_follow(struct docker *docker, const struct news_sink *sink) NONNULL;
void docker_stop_following(struct docker *docker) NONNULL;
void docker_ping(struct docker *docker) NONNULL;
int docker_list(struct docker *docker, struct seen_list *list_out,
                struct error *err) NONNULL MUST_CHECK;

#endif
