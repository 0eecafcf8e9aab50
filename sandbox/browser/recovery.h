/*
 * Handling of a failed call: the message for the model, and ending what blocks the next call.
 */
#ifndef DEFT_SANDBOX_BROWSER_RECOVERY_H
#define DEFT_SANDBOX_BROWSER_RECOVERY_H

#include "base/attr.h"

struct driver;
struct error;
struct strbuf;

enum {
    DEGRADED_MS = 30000, /* for a call after one that took too long */
    MAX_TIMEOUTS = 3,    /* in a row; then the browser is restarted */
};

/* Makes the browser usable again, then appends the message for the failed call. */
void recovery_settle(struct driver *driver, const struct error *failure,
                     struct strbuf *text) NONNULL;
/*
 * After a page did not answer in time, stops its script: 0 when it answers now, ERROR_TIMEOUT
 * otherwise.
 */
int recovery_stop_script(struct driver *driver, struct error *err) NONNULL MUST_CHECK;

#endif
