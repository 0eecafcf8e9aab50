/*
 * The parameters a browser is started with.
 *
 * Ownership: its texts are borrowed.
 */
#ifndef DEFT_SANDBOX_BROWSER_BROWSER_SPEC_H
#define DEFT_SANDBOX_BROWSER_BROWSER_SPEC_H

#include <stdbool.h>
#include <stdint.h>

struct browser_spec {
    const char *program;   /* "": the one in the image */
    const char *workspace; /* HOME of the browser if the image has none */
    int64_t wait_ms;       /* for a page to load or to answer */
    int64_t timeout_ms;    /* of a call */
};

#endif
