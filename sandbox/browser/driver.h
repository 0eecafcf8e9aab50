/*
 * The driver: a process of its own that owns one Chromium and does one call of a browser tool at a
 * time, in straight lines. It is a copy of the server that talks to it over a socket, a line of
 * JSON each way, and ends when that socket is closed.
 *
 * Ownership: struct driver owns the browser, its tabs and what is noted for the next answer.
 * Threading: one thread, which blocks. Nothing here runs in the server itself but browser.c.
 */
#ifndef DEFT_SANDBOX_BROWSER_DRIVER_H
#define DEFT_SANDBOX_BROWSER_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "sandbox/browser/cdp.h"
#include "sandbox/browser/chromium.h"

struct browser_spec;
struct error;

enum {
    TAB_NAME_LEN = 4,
    MAX_TABS = 64,
    MAX_FRAMES = 64,
    MAX_DOWNLOADS = 32, /* at once */
    MAX_BROWSER_TEXT_CHARS = 50000,
};

struct tab {
    char target[CDP_ID_BYTES]; /* also the id of its main frame */
    char session[CDP_ID_BYTES];
    char *url;
    char *title;
    bool is_loading;
    bool is_crashed;
    char loaded[CDP_ID_BYTES]; /* the document that was loaded to its end last */
    struct tab *next;          /* in the order of opening */
};

/* A frame of the page whose state was read last, with our own world of scripts in it. */
struct frame {
    char id[CDP_ID_BYTES];
    char *url;
    json_int_t world;
    size_t first; /* the index of its first element */
    size_t n;     /* how many it has */
};

/* A file on its way. */
struct download {
    char id[CDP_ID_BYTES]; /* also its name until it is there */
    char *folder;
    char *name;
};

struct driver {
    const struct browser_spec *spec;
    int order_fd;
    struct chromium chromium;
    struct cdp *cdp; /* NULL: no browser runs */
    struct tab *tabs;
    struct tab *current; /* NULL: none is open */
    struct frame frames[MAX_FRAMES];
    size_t n_frames;
    char indexed_target[CDP_ID_BYTES]; /* the tab that the elements' numbers belong to */
    struct strbuf notes;               /* what happened aside, for the next answer */
    char *folder;                      /* where downloads go */
    struct download downloads[MAX_DOWNLOADS];
    size_t n_downloads;                /* under way */
    size_t n_begun;                    /* downloads since the call began */
    int64_t deadline_ms;               /* of the call under way */
    int n_timeouts;                    /* in a row */
    char paused_request[CDP_ID_BYTES]; /* that waits for an answer of ours; "": none */
};

/* What a tool answers. */
struct driver_reply {
    struct strbuf text;
    json_t *screenshot; /* base64 of a PNG; NULL: none */
};

/* Adds a line for the model to the next answer. */
void driver_note(struct driver *driver, const char *format, ...) NONNULL PRINTF_LIKE(2, 3);
/* When a page must have answered: the call's deadline, or sooner. */
int64_t driver_page_deadline(const struct driver *driver) NONNULL MUST_CHECK;
/* Asks the browser itself. params are taken over. */
int driver_ask(struct driver *driver, const char *method, json_t *params, json_t **result_out,
               struct error *err) __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;
/* Asks the current tab. params are taken over. */
int driver_ask_tab(struct driver *driver, const char *method, json_t *params, json_t **result_out,
                   struct error *err) __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;
/* Tells the current tab, without an answer. */
int driver_tell_tab(struct driver *driver, const char *method, json_t *params, struct error *err)
    __attribute__((nonnull(1, 2, 4))) MUST_CHECK;

#endif
