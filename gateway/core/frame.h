/*
 * A reference-counted text frame that several sockets may send, with the room in front of the text
 * that libwebsockets needs.
 */
#ifndef DEFT_GATEWAY_CORE_FRAME_H
#define DEFT_GATEWAY_CORE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct frame {
    size_t n_holders;
    size_t len;
    unsigned char bytes[]; /* LWS_PRE bytes, then the text and a NUL */
};

/* Returns a frame with one reference: a copy of text. */
struct frame *frame_new(const char *text, size_t len) NONNULL MUST_CHECK;
/* Adds a reference; returns frame. */
struct frame *frame_hold(struct frame *frame) NONNULL MUST_CHECK;
/* Drops a reference; accepts NULL. */
void frame_release(struct frame *frame);
/* Returns the start of the text, which ends with a NUL. */
unsigned char *frame_text(struct frame *frame) NONNULL MUST_CHECK;

/* The envelopes of /sockets/session, each around an event's text. */
struct frame *frame_durable(const char *event, int64_t seq) NONNULL MUST_CHECK;
struct frame *frame_transient(const char *event) NONNULL MUST_CHECK;
/* Contents of the first frame of a socket. */
struct sync {
    int64_t from_seq;    /* as on the wire (0-based); below -1: left out */
    int64_t through_seq; /* the same; below 0: left out */
    int64_t silent_ms;   /* how long a run has been silent; below SYNC_SILENT_MS: left out */
};
enum { SYNC_SILENT_MS = 20000 };
struct frame *frame_sync(const struct sync *sync) NONNULL MUST_CHECK;

#endif
