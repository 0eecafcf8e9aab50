/*
 * Going to pages: by address, back, and waiting until what an input began is loaded.
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
 * Appends the address that `url` means: one without a scheme is taken for https, or for http when
 * its host is this machine. ERROR_INVALID for what the browser must not open: only http, https and
 * about:blank are served.
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
/* After an input: waits for what it began, a navigation or a download. */
int navigate_settle(struct driver *driver, struct error *err) NONNULL MUST_CHECK;

#endif
