/*
 * Cookies and local storage, as Playwright's storage state: {cookies: […], origins: [{origin,
 * localStorage: [{name, value}]}]}.
 */
#ifndef DEFT_SANDBOX_BROWSER_STORAGE_H
#define DEFT_SANDBOX_BROWSER_STORAGE_H

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct driver_reply;
struct error;

/* browser_get_storage: all cookies, and the local storage of the page in the current tab. */
int storage_get(struct driver *driver, const json_t *args, struct driver_reply *reply,
                struct error *err) NONNULL MUST_CHECK;
/* browser_set_storage: storage_state. */
int storage_set(struct driver *driver, const json_t *args, struct driver_reply *reply,
                struct error *err) NONNULL MUST_CHECK;

#endif
