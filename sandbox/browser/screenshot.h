/*
 * Pictures of what is seen of a page.
 */
#ifndef DEFT_SANDBOX_BROWSER_SCREENSHOT_H
#define DEFT_SANDBOX_BROWSER_SCREENSHOT_H

#include <jansson.h>

#include "base/attr.h"

struct driver;
struct error;

/* A PNG in base64, small enough for an event; smaller pages keep their size. */
int screenshot_take(struct driver *driver, json_t **picture_out,
                    struct error *err) NONNULL MUST_CHECK;

#endif
