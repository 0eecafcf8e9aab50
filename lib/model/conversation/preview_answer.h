/*
 * The first bytes that a program in a sandbox answers on a preview's port. nginx passes on any
 * status, and text without one; a browser may see the answers of HTTP only.
 *
 * Source: RFC 9112, section 4; RFC 9110, section 15
 */
#ifndef DEFT_MODEL_CONVERSATION_PREVIEW_ANSWER_H
#define DEFT_MODEL_CONVERSATION_PREVIEW_ANSWER_H

#include <stddef.h>

#include "base/attr.h"

enum preview_answer_kind {
    PREVIEW_ANSWER_PARTIAL,       /* more bytes are needed */
    PREVIEW_ANSWER_INFORMATIONAL, /* 1xx but 101: another head follows */
    PREVIEW_ANSWER_UPGRADE,       /* 101 */
    PREVIEW_ANSWER_FINAL,         /* 200 to 599 */
    PREVIEW_ANSWER_REFUSED,       /* no status line of HTTP/1.x, or another status */
};

struct preview_answer {
    enum preview_answer_kind kind;
    int status;          /* 0: no status was read */
    size_t n_head_bytes; /* of an informational head, with its empty line */
};

/* Reads the head that begins at bytes; its header lines are not looked at. */
struct preview_answer preview_answer_read(const char *bytes, size_t len) NONNULL MUST_CHECK;

#endif
