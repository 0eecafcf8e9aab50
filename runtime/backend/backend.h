/*
 * Interface between the runtime service and a back end that runs sandboxes: a table of functions,
 * so that a new kind of host is one more file.
 *
 * A sandbox is identified by its runtime id. A home contains its files; it exists before the
 * sandbox and outlives it. A network belongs to one running sandbox; "" if a back end has none. No
 * function is optional: one that a back end cannot implement fails with an error that says so.
 *
 * Ownership: texts passed in are borrowed; returned lists are released with seen_list_done().
 * Threading: all functions from any thread; calls for the same runtime never overlap
 * (runtime_lock.h). Errors: ERROR_UNAVAILABLE if the back end cannot be reached; messages are
 * readable by users. Decision: docs/decisions/0030-backends.md
 */
#ifndef DEFT_RUNTIME_BACKEND_BACKEND_H
#define DEFT_RUNTIME_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct backend;
struct error;
struct strbuf;

#define BACKEND_NAME_BYTES 64
#define BACKEND_URL_BYTES 80
#define BACKEND_IMAGE_BYTES 80
#define BACKEND_KEY_BYTES 64

/* A sandbox to start. */
struct sandbox_config {
    const char *runtime_id;
    const char *session_id;      /* "" if it has no session yet; a label only */
    const char *conversation_id; /* "" if unknown; a label only */
    const char *image;
    const char *home;
    int64_t memory_bytes; /* 0: the default */
    int64_t nano_cpus;    /* 0: the default */
};

/* A started sandbox. */
struct started_sandbox {
    char container_id[72];
    char network[BACKEND_NAME_BYTES];
    char url[BACKEND_URL_BYTES];
    char image_id[BACKEND_IMAGE_BYTES]; /* the image that the name resolved to */
    char init_key[BACKEND_KEY_BYTES];   /* for the one call that sets session key and environment */
};

/* A sandbox in a list. */
enum seen_state { SEEN_CREATED, SEEN_RUNNING, SEEN_PAUSED, SEEN_ENDED, SEEN_N_STATES };

struct seen_sandbox {
    char runtime_id[24]; /* "" if it has no such label */
    char container_id[72];
    enum seen_state state;
    bool is_outdated;     /* runs another build of deft-action than new starts get */
    int64_t created_at_s; /* UTC */
};

struct seen_list {
    struct seen_sandbox *items;
    size_t n;
};

struct seen_image {
    char id[BACKEND_IMAGE_BYTES]; /* "" if it is not on this host */
    char created_at[40];          /* in the back end's format */
    int64_t size_bytes;
};

/* An image to build. */
struct image_build_request {
    const json_t *names;          /* its names */
    const struct strbuf *context; /* a gzipped archive with a Dockerfile */
};

/* Names in rows; anything else that the back end has of this instance is a leftover. */
struct kept_names {
    char (*networks)[BACKEND_NAME_BYTES];
    size_t n_networks;
    char (*homes)[BACKEND_NAME_BYTES];
    size_t n_homes;
};

/* Loads the names from the rows on request. */
struct kept_source {
    void *context;
    int (*load)(void *context, struct kept_names *kept_out, struct error *err);
};

/* Events that the back end reports while it is followed. */
enum backend_event_kind {
    BACKEND_EVENT_ENDED,
    BACKEND_EVENT_OUT_OF_MEMORY,
    BACKEND_EVENT_PAUSED,
    BACKEND_EVENT_UNPAUSED,
    BACKEND_EVENT_N_KINDS
};

struct backend_event {
    enum backend_event_kind kind;
    char runtime_id[24];
    char container_id[72];
    int64_t exit_code;
};

struct backend_event_sink {
    void *context;
    /* The back end is reachable and prepared: reconcile everything. */
    void (*up)(void *context);
    void (*down)(void *context, const struct error *why);
    void (*event)(void *context, const struct backend_event *event);
};

struct backend_space {
    int64_t free_bytes;
    int64_t n_free_files; /* INT64_MAX: limited only by bytes */
};

struct backend_functions {
    /* Its name in rows, once it is prepared: docker, podman or process. */
    const char *(*name)(struct backend *backend);
    /* Returns 0 while the back end is reachable and prepared; otherwise err says why not. */
    int (*check)(struct backend *backend, struct error *err);
    /* Free space of the disk that sandboxes use; ERROR_NOT_FOUND if unknown. */
    int (*space)(struct backend *backend, struct backend_space *space_out, struct error *err);
    /* A prepared home that is in no row yet; false if there is none. Does not block. */
    bool (*take_ready_home)(struct backend *backend, char home_out[BACKEND_NAME_BYTES]);
    /* A home for a new sandbox, in no row yet: a prepared one, or a new one. */
    int (*take_home)(struct backend *backend, char home_out[BACKEND_NAME_BYTES], struct error *err);
    /* The home or network is in a row now and no longer tracked here. */
    void (*home_is_kept)(struct backend *backend, const char *home);
    void (*network_is_kept)(struct backend *backend, const char *network);
    /* Returns an unused home. */
    void (*give_home)(struct backend *backend, const char *home);
    /* Identifies what a start puts into a sandbox now; another deft-action gives another value. */
    const char *(*agent_build)(struct backend *backend);
    /* Returns once the server in the sandbox listens; it is dormant until it gets its key. On
     * failure nothing is left of the sandbox. */
    int (*start)(struct backend *backend, const struct sandbox_config *order,
                 struct started_sandbox *place_out, struct error *err);
    /* Ends the sandbox, releases its network ("" or NULL: none); success if it does not exist. */
    int (*remove)(struct backend *backend, const char *runtime_id, const char *network,
                  struct error *err);
    int (*remove_home)(struct backend *backend, const char *home, struct error *err);
    /* Freezes all processes of a sandbox, or resumes them; success if already so. Errors other than
     * ERROR_UNAVAILABLE and ERROR_TIMEOUT: not possible for this sandbox. */
    int (*pause)(struct backend *backend, const char *container_id, struct error *err);
    int (*resume)(struct backend *backend, const char *container_id, struct error *err);
    int (*is_paused)(struct backend *backend, const char *container_id, bool *is_paused_out,
                     struct error *err);
    /* Sets why_out to the reason why a sandbox ended. */
    void (*explain_end)(struct backend *backend, const char *container_id, struct error *why_out);
    int (*list)(struct backend *backend, struct seen_list *list_out, struct error *err);
    /* Whether a container runs nothing but its server and shells that wait for a command. */
    int (*is_at_rest)(struct backend *backend, const char *container_id, bool *is_at_rest_out,
                      struct error *err);
    /* Details of an image that is on this host or that a start would pull; ERROR_NOT_FOUND. */
    int (*find_image)(struct backend *backend, const char *image, struct seen_image *seen_out,
                      struct error *err);
    /* Builds an image, with a sandbox's limits of network, memory and processor. Appends the end of
     * the build's output to `said`. ERROR_INVALID: its Dockerfile failed. */
    int (*build)(struct backend *backend, const struct image_build_request *order,
                 char image_id[BACKEND_IMAGE_BYTES], struct strbuf *said, struct error *err);
    /* Ends the running build and all later ones with ERROR_CANCELLED. */
    void (*stop_building)(struct backend *backend);
    /* Removes a name of an image; success if it does not exist, ERROR_CONFLICT while it is used. */
    int (*remove_image)(struct backend *backend, const char *image, struct error *err);
    /* Removes a listed container that belongs to no row. */
    int (*remove_container)(struct backend *backend, const char *container_id, struct error *err);
    /* Removes networks and homes that belong to no row. */
    int (*tidy)(struct backend *backend, const struct kept_source *source, struct error *err);
    /* Makes one network or home in advance; *is_full_out: none is missing any more. */
    int (*refill)(struct backend *backend, bool *is_full_out, struct error *err);
    /* Follows the back end until stop_following(); reconnects by itself. */
    void (*follow)(struct backend *backend, const struct backend_event_sink *sink);
    void (*stop_following)(struct backend *backend);
    /* Checks that it still answers; one that hangs counts as down. Blocks a few seconds at most. */
    void (*ping)(struct backend *backend);
    /* Removes everything of this instance. */
    int (*remove_all)(struct backend *backend, struct error *err);
    void (*free)(struct backend *backend);
};

/* First member of each back end's own struct. */
struct backend {
    const struct backend_functions *functions;
};

void seen_list_done(struct seen_list *list) NONNULL;
/* A new zeroed entry at the end; borrowed until the next call. */
struct seen_sandbox *seen_list_add(struct seen_list *list) NONNULL MUST_CHECK;
void kept_names_done(struct kept_names *kept) NONNULL;
void kept_names_add_network(struct kept_names *kept, const char *name) NONNULL;
void kept_names_add_home(struct kept_names *kept, const char *name) NONNULL;

/* From the file system that contains a path. ERROR_NOT_FOUND if it cannot be queried. */
int backend_read_room(const char *path, struct backend_space *space_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
