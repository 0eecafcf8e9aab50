/*
 * What a model wrote for a tool of the client's, held against the tool's JSON schema, as far as the
 * official client's own model of it goes: which members there are, their types and those of lists'
 * items. That client refuses a whole conversation for one action that its model does not take.
 */
#ifndef DEFT_MODEL_SCHEMA_CLIENT_ARGUMENTS_H
#define DEFT_MODEL_SCHEMA_CLIENT_ARGUMENTS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

/* Whether the schema of a tool's parameters (NULL: one without members) has a member of that name.
 */
bool client_arguments_declare(const json_t *parameters, const char *name)
    __attribute__((nonnull(2))) MUST_CHECK;
/* Appends an entry (model/schema/problem.h) for each member that does not fit the schema. */
void client_arguments_check(const json_t *parameters, json_t *arguments, json_t *problems)
    __attribute__((nonnull(2, 3)));

#endif
