/*
 * One message of the Chrome DevTools Protocol, read from text that a page may have had a hand in.
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
 * Appends JSON text with those escapes replaced by U+FFFD that JavaScript may write and JSON
 * readers refuse: lone surrogates and NULs (RFC 8259, section 8.2).
 */
void cdp_append_repaired(struct strbuf *out, const char *text, size_t len) NONNULL;
/* Parses such text; the caller owns *json_out. ERROR_INVALID when it is no JSON. */
int cdp_parse(const char *text, size_t len, json_t **json_out,
              struct error *err) NONNULL MUST_CHECK;

#endif
