/*
 * The driver: a process that owns one Chromium and runs one call of a browser tool at a time,
 * blocking. It is a fork of the server, talks to it over a socket, one line of JSON each way, and
 * ends when that socket is closed.
 *
 * Ownership: struct driver owns the browser, its tabs and the notes for the next answer.
 * Threading: one thread, which blocks. Of this folder, only browser.c runs in the server itself.
 * Decision: docs/decisions/0023-browser.md
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
    char loaded[CDP_ID_BYTES]; /* the document that last finished loading */
    struct tab *next;          /* in order of opening */
};

/* A frame of the page whose state was read last, with the id of our isolated world in it. */
struct page_frame {
    char id[CDP_ID_BYTES];
    char *url;
    json_int_t world;
    size_t first; /* index of its first element */
    size_t n;     /* number of its elements */
};

/* A pending download. */
struct download {
    char id[CDP_ID_BYTES]; /* also its file name until it is complete */
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
    struct page_frame frames[MAX_FRAMES];
    size_t n_frames;
    char indexed_target[CDP_ID_BYTES]; /* the tab that the element numbers belong to */
    struct strbuf notes;               /* side events, for the next answer */
    char *folder;                      /* where downloads go */
    struct download downloads[MAX_DOWNLOADS];
    size_t n_downloads;                /* pending */
    size_t n_begun;                    /* downloads since the call began */
    int64_t deadline_ms;               /* of the current call */
    int n_timeouts;                    /* in a row */
    char paused_request[CDP_ID_BYTES]; /* a request paused until we answer it; "": none */
};

/* The answer of a tool. */
struct driver_reply {
    struct strbuf text;
    json_t *screenshot; /* base64 of a PNG; NULL: none */
};

/* Adds a line for the model to the next answer. */
void driver_note(struct driver *driver, const char *format, ...) NONNULL PRINTF_LIKE(2, 3);
/* Time by which a page must answer: the call's deadline, or sooner. */
int64_t driver_page_deadline(const struct driver *driver) NONNULL MUST_CHECK;
/* Calls a method of the browser itself. Takes ownership of params. */
int driver_ask(struct driver *driver, const char *method, json_t *params, json_t **result_out,
               struct error *err) __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;
/* Calls a method of the current tab. Takes ownership of params. */
int driver_ask_tab(struct driver *driver, const char *method, json_t *params, json_t **result_out,
                   struct error *err) __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;
/* Sends to the current tab without waiting for an answer. */
int driver_tell_tab(struct driver *driver, const char *method, json_t *params, struct error *err)
    __attribute__((nonnull(1, 2, 4))) MUST_CHECK;

#endif
