/*
 * The Chrome DevTools Protocol over a pair of pipes: calls that wait for their answer, and events.
 * Messages end in a NUL (--remote-debugging-pipe). What the browser says is bounded in size.
 *
 * Ownership: struct cdp borrows its descriptors; answers belong to the caller.
 * Threading: one thread, which blocks: this is for the driver's process, not for the loop.
 */
#ifndef DEFT_SANDBOX_BROWSER_CDP_H
#define DEFT_SANDBOX_BROWSER_CDP_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct cdp;
struct error;

/* No name, id or session of the protocol is longer; longer ones are cut. */
enum { CDP_ID_BYTES = 64 };

/* Keeps an id; a longer one is cut. */
void cdp_copy_id(char id[CDP_ID_BYTES], const char *text) NONNULL;

struct cdp_ends {
    int to_fd;   /* we write */
    int from_fd; /* we read */
    int stop_fd; /* what can be read here ends every wait */
};

/* Hears each event; session is "" for the browser's own. It may send, and must not call. */
struct cdp_listener {
    void *owner;
    void (*event)(void *owner, const char *method, const char *session, const json_t *params);
};

struct cdp_order {
    const char *session; /* "": the browser itself */
    const char *method;
    json_t *params;      /* taken over; NULL: none */
    int64_t deadline_ms; /* by the monotonic clock */
};

struct cdp *cdp_new(const struct cdp_ends *ends,
                    const struct cdp_listener *listener) NONNULL MUST_CHECK;
void cdp_free(struct cdp *cdp);

/*
 * Sends, and waits for the answer: its `result`, a new reference.
 * ERROR_TIMEOUT after the deadline; ERROR_CANCELLED when something came on stop_fd;
 * ERROR_UNAVAILABLE when the browser is gone or talks nonsense; ERROR_NOT_FOUND when the session
 * ended or crashed meanwhile; ERROR_INVALID when the browser refused, with its words.
 */
int cdp_call(struct cdp *cdp, const struct cdp_order *order, json_t **result_out,
             struct error *err) NONNULL MUST_CHECK;
/* Sends, and does not wait; a failure shows in the next call. */
void cdp_send(struct cdp *cdp, const struct cdp_order *order) NONNULL;
/* Waits for one message and hands it on; errors as of cdp_call(). */
int cdp_listen(struct cdp *cdp, int64_t deadline_ms, struct error *err) NONNULL MUST_CHECK;

#endif
