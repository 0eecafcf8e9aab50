/*
 * The tabs of a browser, kept up to date by its events, including dialogs and crashes.
 *
 * Ownership: the tabs belong to the driver.
 */
#ifndef DEFT_SANDBOX_BROWSER_TABS_H
#define DEFT_SANDBOX_BROWSER_TABS_H

#include <jansson.h>

#include "base/attr.h"
#include "sandbox/browser/driver.h"

/* Handles an event of the browser; `owner` is the driver. */
void tabs_take_event(void *owner, const char *method, const char *session, const json_t *params);
void tabs_clear(struct driver *driver) NONNULL;
/* The tab with that name: the last four characters of its target; NULL when there is none. */
struct tab *tabs_find(const struct driver *driver, const char *name) NONNULL MUST_CHECK;
const char *tab_name(const struct tab *tab) NONNULL MUST_CHECK;
/* Opens a tab, which becomes the current one. */
int tabs_open(struct driver *driver, const char *url, struct error *err) NONNULL MUST_CHECK;
/* Closes a tab and waits until it is gone; another tab becomes current. */
int tabs_close(struct driver *driver, const struct tab *tab, struct error *err) NONNULL MUST_CHECK;
/* Reads the tabs' titles again: they change without an event. */
int tabs_refresh(struct driver *driver, struct error *err) NONNULL MUST_CHECK;
/* [{"url", "title"}]. A new reference. */
json_t *tabs_list(const struct driver *driver) NONNULL MUST_CHECK;
/* [{"tab_id", "url", "title"}]. A new reference. */
json_t *tabs_list_named(const struct driver *driver) NONNULL MUST_CHECK;

#endif
