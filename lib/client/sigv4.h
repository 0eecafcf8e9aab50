/*
 * AWS Signature Version 4: signs a request to an AWS service, so that it carries no secret.
 *
 * Ownership: struct sigv4_signature is a value, but for the strbuf in it; sigv4_signature_done()
 * wipes and releases that.
 * Threading: pure.
 * Source:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 * Decision: docs/decisions/0098-bedrock.md
 */
#ifndef DEFT_CLIENT_SIGV4_H
#define DEFT_CLIENT_SIGV4_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct http_header;

/* "20150830T123600Z" and a NUL. */
#define SIGV4_DATE_BYTES 17

struct sigv4_request {
    const char *access_key_id;
    const char *secret_access_key;
    const char *session_token; /* "": none */
    const char *region;
    const char *service; /* "bedrock" */
    const char *method;
    const char *url; /* as it is sent: with an encoded path, and without a query */
    /* Those whose names begin with x-amz- are signed; at most SIGV4_HEADERS_MAX of them. Ends with
     * a NULL name. */
    const struct http_header *headers;
    const char *body;
    size_t body_len;
    int64_t utc_us; /* clock_utc_us() */
};

enum { SIGV4_HEADERS_MAX = 32 };

/* The headers that a signed request has in addition to its own. */
struct sigv4_signature {
    char date[SIGV4_DATE_BYTES]; /* x-amz-date */
    const char *session_token;   /* x-amz-security-token, borrowed; "": none */
    struct strbuf authorization; /* Authorization */
};

/* clang-format off */
#define SIGV4_SIGNATURE_INIT {.date = "", .session_token = "", .authorization = STRBUF_INIT}
/* clang-format on */

void sigv4_signature_done(struct sigv4_signature *signature);
/*
 * Signs a request of any service but S3, whose path is encoded once less. The signature is valid
 * for a few minutes.
 */
void sigv4_sign(const struct sigv4_request *request, struct sigv4_signature *signature_out) NONNULL;

#endif
