/*
 * Marks in a text where a part was left out: the text after one may begin with the end of a secret,
 * which must be hidden although the whole value is not there.
 *
 * Threading: as the forms.
 */
#ifndef DEFT_MODEL_MASKING_MASK_OMISSION_H
#define DEFT_MODEL_MASKING_MASK_OMISSION_H

#include <stddef.h>

#include "base/attr.h"

struct mask_forms;

/* Shorter parts of a value occur in any text. */
enum { MASK_PART_MIN_BYTES = 3 };

/* The sandbox puts this in place of a part that it leaves out; its notice ends with CLIPPED_END. */
#define CLIPPED_MARK "<response clipped>"
#define CLIPPED_END "</NOTE>"

/* Returns the mark of the first part left out of the text, or NULL. */
const char *mask_omission_find(const char *text, size_t len) NONNULL MUST_CHECK;
/* Returns where the text continues after a mark and its notice. */
const char *mask_omission_end(const char *omission, size_t len) NONNULL MUST_CHECK;

/*
 * Number of the text's first bytes that are the end of a form, verbatim or wrapped; 0 for fewer
 * than MASK_PART_MIN_BYTES.
 */
size_t mask_omission_tail_bytes(const struct mask_forms *forms, const char *text,
                                size_t len) NONNULL MUST_CHECK;

#endif
