/*
 * One message of the Chrome DevTools Protocol; parts of its text may be controlled by a page.
 *
 * Threading: no state.
 * Source:    https://chromedevtools.github.io/devtools-protocol/
 */
#ifndef DEFT_SANDBOX_BROWSER_CDP_MESSAGE_H
#define DEFT_SANDBOX_BROWSER_CDP_MESSAGE_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct strbuf;

/*
 * Appends JSON text, replacing by U+FFFD those escapes that JavaScript may write but JSON readers
 * refuse: lone surrogates and NULs (RFC 8259, section 8.2).
 */
void cdp_append_repaired(struct strbuf *out, const char *text, size_t len) NONNULL;
/* Parses such text; the caller owns *json_out. ERROR_INVALID when it is not JSON. */
int cdp_parse(const char *text, size_t len, json_t **json_out,
              struct error *err) NONNULL MUST_CHECK;

#endif
