/*
 * Reads the first bytes of a response on a preview's port. nginx passes on any status, and text
 * without a status line; a browser must only get HTTP responses.
 *
 * Source: RFC 9112, section 4; RFC 9110, section 15
 */
#ifndef DEFT_MODEL_CONVERSATION_PREVIEW_ANSWER_H
#define DEFT_MODEL_CONVERSATION_PREVIEW_ANSWER_H

#include <stddef.h>

#include "base/attr.h"

enum preview_answer_kind {
    PREVIEW_ANSWER_PARTIAL,       /* more bytes are needed */
    PREVIEW_ANSWER_INFORMATIONAL, /* 1xx except 101: another head follows */
    PREVIEW_ANSWER_UPGRADE,       /* 101 */
    PREVIEW_ANSWER_FINAL,         /* 200 to 599 */
    PREVIEW_ANSWER_REFUSED,       /* not an HTTP/1.x status line, or another status */
};

struct preview_answer {
    enum preview_answer_kind kind;
    int status;          /* 0: none was read */
    size_t n_head_bytes; /* of an informational head, including its empty line */
};

/* Reads the head at the start of bytes; its header fields are not checked. */
struct preview_answer preview_answer_read(const char *bytes, size_t len) NONNULL MUST_CHECK;

#endif
