/*
 * The catalogue: all texts that models read, and what is known of models, as a process read them
 * at its start.
 *
 * Ownership: catalogue_free() releases it; results live as long as it does.
 * Threading: immutable, so any number of threads may use it.
 * Decision:  docs/decisions/0080-texts-and-models-as-data.md
 */
#ifndef DEFT_MODEL_CATALOGUE_CATALOGUE_H
#define DEFT_MODEL_CATALOGUE_CATALOGUE_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/catalogue/catalogue_texts.h"
#include "model/catalogue/model_features.h"
#include "model/catalogue/text_template.h"

struct catalogue;
struct error;
struct model_facts;
struct strbuf;
struct text_folder;

/*
 * Reads the files of a catalogue's folder. ERROR_INVALID, with the file and mostly the line, for a
 * file that is missing or does not parse, and for an override that replaces nothing.
 */
int catalogue_new(const struct text_folder *folder, struct catalogue **catalogue_out,
                  struct error *err) NONNULL MUST_CHECK;
void catalogue_free(struct catalogue *catalogue);
void catalogue_freep(struct catalogue **catalogue) NONNULL;

const struct text_template *catalogue_template(const struct catalogue *catalogue,
                                               enum catalogue_text text) NONNULL MUST_CHECK;
/* A text that takes no values. */
const char *catalogue_text(const struct catalogue *catalogue,
                           enum catalogue_text text) NONNULL MUST_CHECK;
/* Appends a part ("": the text itself) with its values, see text_template_append(). */
void catalogue_append(const struct catalogue *catalogue, enum catalogue_text text, const char *part,
                      const struct text_value *values, size_t n_values, struct strbuf *out)
    __attribute__((nonnull(1, 3, 6)));
/*
 * The name by which the model of an LLM object is known: its model_canonical_name, else its model;
 * "" if it has neither. Borrowed.
 */
const char *catalogue_model_name(const json_t *llm) MUST_CHECK;
/* What is known of the model of that name, as agents name it; NULL for an unknown one. */
const struct model_facts *catalogue_find_model(const struct catalogue *catalogue,
                                               const char *model) NONNULL MUST_CHECK;
enum model_answer catalogue_ask_feature(const struct catalogue *catalogue,
                                        enum model_feature feature,
                                        const char *model) NONNULL MUST_CHECK;
/* The section for the family of the model of that lower-case name; "" if it has none. */
const char *catalogue_family_text(const struct catalogue *catalogue,
                                  const char *model) NONNULL MUST_CHECK;

#endif
