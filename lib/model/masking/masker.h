/*
 * Hides the values of secrets in text that comes in pieces or whole: as they are, in base64 at each
 * alignment (RFC 4648, both alphabets, padded or not, wrapped), in hexadecimal, percent-encoded,
 * and escaped as in JSON or a shell. One pass: the time is linear in the text, whatever the number
 * of values, and a stream holds back a few kilobytes at most.
 *
 * A value of more than MASKER_HEAD_BYTES is known by its first ones: they are hidden, and what
 * follows as long as it is the value's. Where the sandbox left out a part of a text, what is left
 * of a value on either side is hidden, too (mask_border.h).
 *
 * Ownership: a masker owns copies of the values and wipes them; a masking borrows its masker.
 * Threading: a masker and its maskings belong to one thread.
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
 * Hides that value, too; a masking that has begun does not know of it. White space around it does
 * not count, and one that secret_is_masked() says no of is left out.
 */
void masker_add(struct masker *masker, const char *value) NONNULL;
/* Appends text with each value in any of its forms replaced by MASKER_HIDDEN; done twice it is as
 * if done once. */
void masker_append(struct masker *masker, const char *text, size_t len, struct strbuf *out) NONNULL;

/* Text in pieces: what cannot become a value any more is appended to out, masked. */
struct masking *masking_new(struct masker *masker) NONNULL MUST_CHECK;
void masking_free(struct masking *masking);
void masking_feed(struct masking *masking, const char *bytes, size_t len,
                  struct strbuf *out) NONNULL;
/* The text is at its end: appends what is held back, and is ready for another one. */
void masking_finish(struct masking *masking, struct strbuf *out) NONNULL;

#endif
