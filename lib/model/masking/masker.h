/*
 * Hides the values of secrets in text, whole or streamed: verbatim, in base64 at each alignment
 * (RFC 4648, both alphabets, padded or not, wrapped), in hexadecimal, percent-encoded, and escaped
 * as in JSON or a shell. One pass: time is linear in the text, regardless of the number of values;
 * a stream holds back a few kilobytes at most.
 *
 * A value of more than MASKER_HEAD_BYTES is detected by its first bytes: they are hidden, and so is
 * the text after them as far as it matches the value. Where the sandbox left out a part of a text,
 * the rest of a value on either side is hidden, too (mask_omission.h).
 *
 * Ownership: a masker owns copies of the values and wipes them; a masking borrows its masker.
 * Threading: a masker and its maskings belong to one thread.
 * Decision: docs/decisions/0035-masking.md
 */
#ifndef DEFT_MODEL_MASKING_MASKER_H
#define DEFT_MODEL_MASKING_MASKER_H

#include <stddef.h>

#include "base/attr.h"

struct masker;
struct masking;
struct strbuf;

#define MASKER_HIDDEN "<secret-hidden>"

struct masker *masker_new(void) MUST_CHECK;
void masker_free(struct masker *masker);
/*
 * Adds a value to hide; a masking that has begun ignores it. Surrounding white space is not part of
 * the value; values for which secret_is_masked() is false are left out.
 */
void masker_add(struct masker *masker, const char *value) NONNULL;
/* Appends text with each value in any of its forms replaced by MASKER_HIDDEN; idempotent. */
void masker_append(struct masker *masker, const char *text, size_t len, struct strbuf *out) NONNULL;

/* Masks streamed text: appends to out, masked, all that can no longer be part of a value. */
struct masking *masking_new(struct masker *masker) NONNULL MUST_CHECK;
void masking_free(struct masking *masking);
void masking_feed(struct masking *masking, const char *bytes, size_t len,
                  struct strbuf *out) NONNULL;
/* Ends the text: appends what is held back, and resets for another text. */
void masking_finish(struct masking *masking, struct strbuf *out) NONNULL;

#endif
