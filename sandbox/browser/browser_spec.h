/*
 * What a browser is started with.
 *
 * Ownership: its texts are borrowed.
 */
#ifndef DEFT_SANDBOX_BROWSER_BROWSER_SPEC_H
#define DEFT_SANDBOX_BROWSER_BROWSER_SPEC_H

#include <stdbool.h>
#include <stdint.h>

struct browser_spec {
    const char *program;   /* "": what the image has */
    const char *workspace; /* HOME of the browser where the image has none */
    int64_t wait_ms;       /* for a page, until it is loaded or answers */
    int64_t timeout_ms;    /* for a call */
};

#endif
