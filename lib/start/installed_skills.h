/*
 * Skills of the skills and plugins that a user has installed: stored whole as the user's documents
 * until they are refreshed or removed.
 */
#ifndef DEFT_START_INSTALLED_SKILLS_H
#define DEFT_START_INSTALLED_SKILLS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "store/user/document_store.h"

struct error;

/* False for one that its user has switched off. */
bool installed_is_on(const struct document *document) NONNULL MUST_CHECK;
/* Appends the skills of a collection, in the API's form, without those that are switched off. */
int installed_skills_add(const struct document_scope *scope, enum collection collection,
                         json_t *skills, struct error *err) NONNULL MUST_CHECK;

#endif
