/*
 * Files that pages give: they land in a folder of the workspace under their own names, none over
 * another, and the next answer tells of each.
 *
 * Ownership: the driver owns the names of those under way.
 */
#ifndef DEFT_SANDBOX_BROWSER_DOWNLOADS_H
#define DEFT_SANDBOX_BROWSER_DOWNLOADS_H

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct error;
struct strbuf;

/* Tells the browser where downloads of this call go. */
int downloads_set_up(struct driver *driver, struct error *err) NONNULL MUST_CHECK;
/* Events of the browser. */
void downloads_begun(struct driver *driver, const json_t *params);
void downloads_progressed(struct driver *driver, const json_t *params);
/* Waits for those that this call began; what takes longer is told with a later answer. */
int downloads_wait(struct driver *driver, struct error *err) NONNULL MUST_CHECK;
/* As that, where the browser has said that one begins. */
int downloads_wait_announced(struct driver *driver, struct error *err) NONNULL MUST_CHECK;
/* Forgets what is under way. */
void downloads_clear(struct driver *driver) NONNULL;

/* Appends a server's name for a file as one that stays in its folder. */
void downloads_append_name(struct strbuf *out, const char *told) NONNULL;

#endif
