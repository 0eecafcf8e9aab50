/*
 * What the runtime service asks of whatever runs sandboxes: a small table of functions, so that
 * another kind of host is one more file.
 *
 * A sandbox is known by its runtime id. A home is where its files live; it is there before the
 * sandbox and outlives it. A network belongs to one running sandbox; "" where a back end has none.
 * No function is optional: one that a back end cannot do ends with an error that says so.
 *
 * Ownership: texts handed in are borrowed; lists handed out are released with seen_list_done().
 * Threading: all functions from any thread; calls for the same runtime never overlap (gate.h).
 * Errors: ERROR_UNAVAILABLE when the back end is out of reach; messages are words for a person.
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

/* What to start. */
struct sandbox_order {
    const char *runtime_id;
    const char *session_id;      /* "" when it is nobody's yet; a label only */
    const char *conversation_id; /* "" when unknown; a label only */
    const char *image;
    const char *home;
    int64_t memory_bytes; /* 0: the default */
    int64_t nano_cpus;    /* 0: the default */
};

/* What became of it. */
struct sandbox_place {
    char container_id[72];
    char network[BACKEND_NAME_BYTES];
    char url[BACKEND_URL_BYTES];
    char image_id[BACKEND_IMAGE_BYTES]; /* what the image's name stood for */
    char init_key[BACKEND_KEY_BYTES];   /* brings its session key and environment, once */
};

/* What a list shows of a sandbox. */
enum seen_state { SEEN_CREATED, SEEN_RUNNING, SEEN_PAUSED, SEEN_ENDED, SEEN_N_STATES };

struct seen_sandbox {
    char runtime_id[24]; /* "" when it bears none */
    char container_id[72];
    enum seen_state state;
    bool is_outdated;     /* runs another build of deft-action than starts get now */
    int64_t created_at_s; /* UTC */
};

struct seen_list {
    struct seen_sandbox *items;
    size_t n;
};

struct seen_image {
    char id[BACKEND_IMAGE_BYTES]; /* "" for one that is not here */
    char created_at[40];          /* as the back end says it */
    int64_t size_bytes;
};

/* An image to build. */
struct image_order {
    const json_t *names;          /* that it gets */
    const struct strbuf *context; /* a gzipped archive with a Dockerfile */
};

/* Names that rows hold; whatever else the back end keeps for this instance is a leftover. */
struct kept_names {
    char (*networks)[BACKEND_NAME_BYTES];
    size_t n_networks;
    char (*homes)[BACKEND_NAME_BYTES];
    size_t n_homes;
};

/* Reads from the rows, when asked, what is kept. */
struct kept_source {
    void *context;
    int (*load)(void *context, struct kept_names *kept_out, struct error *err);
};

/* What the back end tells while it is followed. */
enum news_kind { NEWS_ENDED, NEWS_OUT_OF_MEMORY, NEWS_PAUSED, NEWS_UNPAUSED, NEWS_N_KINDS };

struct news {
    enum news_kind kind;
    char runtime_id[24];
    char container_id[72];
    int64_t exit_code;
};

struct news_sink {
    void *context;
    /* The back end answers and is prepared: look at everything. */
    void (*up)(void *context);
    void (*down)(void *context, const struct error *why);
    void (*news)(void *context, const struct news *news);
};

struct backend_room {
    int64_t free_bytes;
    int64_t n_free_files; /* INT64_MAX: as many as there are bytes for */
};

struct backend_functions {
    /* What rows call it, once it is prepared: docker, podman or process. */
    const char *(*name)(struct backend *backend);
    /* True while the back end answers and is prepared; otherwise err says why not. */
    int (*check)(struct backend *backend, struct error *err);
    /* What is free on the disk that sandboxes fill; ERROR_NOT_FOUND when that cannot be seen. */
    int (*room)(struct backend *backend, struct backend_room *room_out, struct error *err);
    /* A home that was made ahead, not yet in any row; false when there is none. Never waits. */
    bool (*take_spare_home)(struct backend *backend, char home_out[BACKEND_NAME_BYTES]);
    /* A home for a new sandbox, not yet in any row: one that was made ahead, or a new one. */
    int (*take_home)(struct backend *backend, char home_out[BACKEND_NAME_BYTES], struct error *err);
    /* The home or network is in a row now: the row answers for it. */
    void (*home_is_kept)(struct backend *backend, const char *home);
    void (*network_is_kept)(struct backend *backend, const char *network);
    /* The home was not needed after all. */
    void (*give_home)(struct backend *backend, const char *home);
    /* What a start puts into a sandbox now, as a name: another deft-action has another one. */
    const char *(*fittings)(struct backend *backend);
    /* Returns when the server in the sandbox listens, dormant: it waits for its key. On failure
     * nothing is left of it. */
    int (*start)(struct backend *backend, const struct sandbox_order *order,
                 struct sandbox_place *place_out, struct error *err);
    /* Ends the sandbox and releases its network ("" or NULL: none); a missing one is success. */
    int (*remove)(struct backend *backend, const char *runtime_id, const char *network,
                  struct error *err);
    int (*remove_home)(struct backend *backend, const char *home, struct error *err);
    /* Holds all that runs in a sandbox where it is, and lets it go on; one that is so already is
     * success. Other errors than ERROR_UNAVAILABLE and ERROR_TIMEOUT: it cannot be had. */
    int (*pause)(struct backend *backend, const char *container_id, struct error *err);
    int (*resume)(struct backend *backend, const char *container_id, struct error *err);
    int (*is_paused)(struct backend *backend, const char *container_id, bool *is_paused_out,
                     struct error *err);
    /* Why a sandbox ended, in words. */
    void (*explain_end)(struct backend *backend, const char *container_id, struct error *why_out);
    int (*list)(struct backend *backend, struct seen_list *list_out, struct error *err);
    /* Whether nothing runs in a container but its server and shells that wait for a command. */
    int (*is_at_rest)(struct backend *backend, const char *container_id, bool *is_at_rest_out,
                      struct error *err);
    /* What is known of an image that is here, or that a start would fetch; ERROR_NOT_FOUND. */
    int (*find_image)(struct backend *backend, const char *image, struct seen_image *seen_out,
                      struct error *err);
    /* Builds an image, confined as a sandbox is in network, memory and processor. Appends the end
     * of what was printed. ERROR_INVALID: its Dockerfile failed. */
    int (*build)(struct backend *backend, const struct image_order *order,
                 char image_id[BACKEND_IMAGE_BYTES], struct strbuf *said, struct error *err);
    /* Ends the build under way with ERROR_CANCELLED, and all later ones. */
    void (*stop_building)(struct backend *backend);
    /* Takes a name away; a missing one is success, ERROR_CONFLICT while it is used. */
    int (*remove_image)(struct backend *backend, const char *image, struct error *err);
    /* Removes a listed container that no row answers for. */
    int (*remove_container)(struct backend *backend, const char *container_id, struct error *err);
    /* Removes networks and homes that nobody keeps. */
    int (*tidy)(struct backend *backend, const struct kept_source *source, struct error *err);
    /* Makes ahead one thing that starts will need; says whether all there should be is there. */
    int (*refill)(struct backend *backend, bool *is_full_out, struct error *err);
    /* Follows the back end until stop_following(); connects again by itself. */
    void (*follow)(struct backend *backend, const struct news_sink *sink);
    void (*stop_following)(struct backend *backend);
    /* Asks whether it still answers; one that hangs counts as down. Takes a few seconds at most. */
    void (*ping)(struct backend *backend);
    /* Removes everything of this instance. */
    int (*reap)(struct backend *backend, struct error *err);
    void (*free)(struct backend *backend);
};

/* Begins each back end's own struct. */
struct backend {
    const struct backend_functions *functions;
};

void seen_list_done(struct seen_list *list) NONNULL;
/* A new entry at the end, zeroed; borrowed until the next. */
struct seen_sandbox *seen_list_add(struct seen_list *list) NONNULL MUST_CHECK;
void kept_names_done(struct kept_names *kept) NONNULL;
void kept_names_add_network(struct kept_names *kept, const char *name) NONNULL;
void kept_names_add_home(struct kept_names *kept, const char *name) NONNULL;

/* By the file system below a path. ERROR_NOT_FOUND when it cannot be asked. */
int backend_read_room(const char *path, struct backend_room *room_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
