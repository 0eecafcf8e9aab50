/*
 * Internal to the room: the families of models that have a section of the system prompt.
 */
#ifndef DEFT_MODEL_CATALOGUE_MODEL_FAMILIES_H
#define DEFT_MODEL_CATALOGUE_MODEL_FAMILIES_H

#include <stddef.h>

#include "base/attr.h"
#include "model/catalogue/text_template.h"

struct error;
struct text_folder;

struct model_family {
    char *part;                /* of a model's name */
    struct text_template text; /* empty: no section */
};

/* The table, and the beginning of the names of the files of its sections. */
#define MODEL_FAMILIES_FILE "prompt/families.tsv"
#define MODEL_FAMILIES_TEXT "prompt/important_"

struct model_families {
    struct model_family *items; /* the first that matches counts */
    size_t n;
};

void model_families_done(struct model_families *families);
/* Reads the table, and the texts that it names. */
int model_families_read(const struct text_folder *folder, struct model_families *families_out,
                        struct error *err) NONNULL MUST_CHECK;
/* "" for a model of no family, or of one without a section. */
const char *model_families_text(const struct model_families *families,
                                const char *model) NONNULL MUST_CHECK;

#endif
