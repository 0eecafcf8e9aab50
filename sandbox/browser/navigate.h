/*
 * Navigation: by address, back, and waiting for loads that an input started.
 */
#ifndef DEFT_SANDBOX_BROWSER_NAVIGATE_H
#define DEFT_SANDBOX_BROWSER_NAVIGATE_H

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct driver_reply;
struct error;
struct strbuf;

/*
 * Appends the address that `url` means: without a scheme it is https, or http when its host is this
 * machine. ERROR_INVALID for other schemes: only http, https and about:blank may be opened.
 */
int navigate_read_url(const char *url, struct strbuf *out, struct error *err) NONNULL MUST_CHECK;

/* browser_navigate: url, new_tab. */
int navigate_to(struct driver *driver, const json_t *args, struct driver_reply *reply,
                struct error *err) NONNULL MUST_CHECK;
/* browser_go_back. */
int navigate_back(struct driver *driver, const json_t *args, struct driver_reply *reply,
                  struct error *err) NONNULL MUST_CHECK;
/* Opens an address in the current tab, or in a new one. */
int navigate_open(struct driver *driver, const char *url, struct error *err) NONNULL MUST_CHECK;
int navigate_open_tab(struct driver *driver, const char *url, struct error *err) NONNULL MUST_CHECK;
/* After an input: waits for the navigation or download that it started. */
int navigate_settle(struct driver *driver, struct error *err) NONNULL MUST_CHECK;

#endif
