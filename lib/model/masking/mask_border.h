/*
 * The border of what was left out of a text: what follows it may begin with a value's end, which is
 * not the value and is hidden all the same.
 *
 * Threading: as the forms.
 */
#ifndef DEFT_MODEL_MASKING_MASK_BORDER_H
#define DEFT_MODEL_MASKING_MASK_BORDER_H

#include <stddef.h>

#include "base/attr.h"

struct mask_forms;

/* Fewer bytes of a value are found in any text. */
enum { MASK_PART_MIN_BYTES = 3 };

/* What stands where the sandbox left out a part; its words end with CLIPPED_END. */
#define CLIPPED_MARK "<response clipped>"
#define CLIPPED_END "</NOTE>"

/* The border of the first part that was left out of the text, or NULL. */
const char *mask_border_find(const char *text, size_t len) NONNULL MUST_CHECK;
/* Where the text goes on after a border: behind the words. */
const char *mask_border_end(const char *border, size_t len) NONNULL MUST_CHECK;

/*
 * How many of the text's first bytes are the end of a form, as it is or wrapped; 0 for fewer than
 * MASK_PART_MIN_BYTES.
 */
size_t mask_border_ended(const struct mask_forms *forms, const char *text,
                         size_t len) NONNULL MUST_CHECK;

#endif
