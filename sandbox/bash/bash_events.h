/*
 * The events of /api/bash: each command and each piece of its output, kept in memory by scope, with
 * the filters and pages of the search route.
 *
 * Limited by MAX_BASH_EVENTS and MAX_BASH_EVENT_BYTES; the oldest are dropped first.
 * Ownership: the store owns its events; a returned json_t belongs to the caller.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_BASH_BASH_EVENTS_H
#define DEFT_SANDBOX_BASH_BASH_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct bash_events;
struct error;

enum { BASH_SCOPE_BYTES = 65 };

/* A command to run. */
struct bash_spec {
    const char *scope;
    const char *command;
    const char *cwd; /* "": the workspace */
    int64_t timeout_s;
};

enum bash_event_kind { BASH_COMMAND, BASH_OUTPUT, BASH_ANY };

struct bash_query {
    const char *scope;
    enum bash_event_kind kind;
    char command_id[UUID_HEX_BYTES]; /* "": any */
    int64_t since_us;                /* timestamp >= */
    int64_t before_us;               /* timestamp < */
    int64_t order_above;             /* outputs only; -1: all */
    bool newest_first;
    int64_t page; /* number of the first event; -1: from the start */
    size_t limit;
};

/* New output of a command; a text may be NULL when its stream has none. */
struct bash_output {
    const char *scope;
    const char *command_id;
    int64_t order;
    bool has_exit_code;
    int exit_code;
    const char *out;
    size_t out_len;
    const char *err;
    size_t err_len;
};

struct bash_events *bash_events_new(void) MUST_CHECK;
void bash_events_free(struct bash_events *events);

/* Called for each event once it is complete; a new store has no listener. */
struct bash_listener {
    void *owner;
    void (*added)(void *owner);
};

/* Sets the only listener; added NULL: none. */
void bash_events_listen(struct bash_events *events, const struct bash_listener *listener) NONNULL;
/* Whether the newest event matches the query. */
bool bash_events_newest_fits(const struct bash_events *events,
                             const struct bash_query *query) NONNULL MUST_CHECK;

/* Adds a BashCommand; *json_out is the object, *id_out its id. */
void bash_events_add_command(struct bash_events *events, const struct bash_spec *spec,
                             char id_out[UUID_HEX_BYTES], json_t **json_out) NONNULL;
/* Adds a BashOutput and returns its object. */
json_t *bash_events_add_output(struct bash_events *events,
                               const struct bash_output *output) NONNULL MUST_CHECK;
/* {"items":[…],"next_page_id":…}. */
json_t *bash_events_search(const struct bash_events *events,
                           const struct bash_query *query) NONNULL MUST_CHECK;
/* The event of an id (32 hex digits), or NULL. */
json_t *bash_events_get(const struct bash_events *events, const char *scope,
                        const char *id) NONNULL MUST_CHECK;
/* Both streams of a command joined over all its outputs, as one BashOutput like `last`. */
json_t *bash_events_join(const struct bash_events *events, const char *scope,
                         const char *command_id, const json_t *last) NONNULL MUST_CHECK;
/* Removes all events of a scope; returns their number. */
size_t bash_events_clear(struct bash_events *events, const char *scope) NONNULL;

#endif
