/*
 * The Chrome DevTools Protocol over a pair of pipes: calls that wait for their answer, and events.
 * Messages end in a NUL (--remote-debugging-pipe). The size of a message is limited.
 *
 * Ownership: struct cdp borrows its descriptors; answers belong to the caller.
 * Threading: one thread, which blocks: for the driver process, not for the loop.
 */
#ifndef DEFT_SANDBOX_BROWSER_CDP_H
#define DEFT_SANDBOX_BROWSER_CDP_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct cdp;
struct error;

/* Size of names, ids and sessions of the protocol; longer ones are cut. */
enum { CDP_ID_BYTES = 64 };

/* Copies an id; a longer one is cut. */
void cdp_copy_id(char id[CDP_ID_BYTES], const char *text) NONNULL;

struct cdp_ends {
    int to_fd;   /* we write */
    int from_fd; /* we read */
    int stop_fd; /* becomes readable to end any wait */
};

/* Receives each event; session is "" for the browser's own. It may send but must not call. */
struct cdp_listener {
    void *owner;
    void (*event)(void *owner, const char *method, const char *session, const json_t *params);
};

struct cdp_order {
    const char *session; /* "": the browser itself */
    const char *method;
    json_t *params;      /* ownership passes; NULL: none */
    int64_t deadline_ms; /* monotonic clock */
};

struct cdp *cdp_new(const struct cdp_ends *ends,
                    const struct cdp_listener *listener) NONNULL MUST_CHECK;
void cdp_free(struct cdp *cdp);

/*
 * Sends a request and waits for the answer's `result`, a new reference. ERROR_TIMEOUT after the
 * deadline; ERROR_CANCELLED when stop_fd became readable; ERROR_UNAVAILABLE when the browser has
 * exited or sent garbage; ERROR_NOT_FOUND when the session ended or crashed before the answer;
 * ERROR_INVALID when the browser refused, with its message.
 */
int cdp_call(struct cdp *cdp, const struct cdp_order *order, json_t **result_out,
             struct error *err) NONNULL MUST_CHECK;
/* Sends without waiting; a failure shows up in the next call. */
void cdp_send(struct cdp *cdp, const struct cdp_order *order) NONNULL;
/* Waits for one message and dispatches it; errors as for cdp_call(). */
int cdp_listen(struct cdp *cdp, int64_t deadline_ms, struct error *err) NONNULL MUST_CHECK;

#endif
