/*
 * What a failed call means: which words the model gets, and what is ended so that the next call can
 * go on.
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

/* Appends the words for the failure of a call, once the browser can be used again. */
void recovery_settle(struct driver *driver, const struct error *failure,
                     struct strbuf *text) NONNULL;
/*
 * After a page did not answer in time: 0 when it answers now, since its script was stopped;
 * ERROR_TIMEOUT otherwise.
 */
int recovery_stop_script(struct driver *driver, struct error *err) NONNULL MUST_CHECK;

#endif
