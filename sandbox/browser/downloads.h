/*
 * Downloads: each file is stored in a folder of the workspace under its own name, without
 * overwriting another, and reported with the next answer.
 *
 * Ownership: the driver owns the names of pending downloads.
 */
#ifndef DEFT_SANDBOX_BROWSER_DOWNLOADS_H
#define DEFT_SANDBOX_BROWSER_DOWNLOADS_H

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct error;
struct strbuf;

/* Sets the browser's download folder for this call. */
int downloads_set_up(struct driver *driver, struct error *err) NONNULL MUST_CHECK;
/* Events of the browser. */
void downloads_begun(struct driver *driver, const json_t *params);
void downloads_progressed(struct driver *driver, const json_t *params);
/* Waits for the downloads that this call began; slower ones are reported with a later answer. */
int downloads_wait(struct driver *driver, struct error *err) NONNULL MUST_CHECK;
/* As above, after the browser announced that a download begins. */
int downloads_wait_announced(struct driver *driver, struct error *err) NONNULL MUST_CHECK;
/* Drops all pending downloads. */
void downloads_clear(struct driver *driver) NONNULL;

/* Appends a server's file name, made safe: it cannot leave its folder. */
void downloads_append_name(struct strbuf *out, const char *told) NONNULL;

#endif
