/*
 * Validates a model's arguments for a client tool against the tool's JSON schema, to the extent the
 * official client does: known members, their types and those of list items. That client refuses a
 * whole conversation because of one action that it cannot parse.
 */
#ifndef DEFT_MODEL_SCHEMA_CLIENT_ARGUMENTS_H
#define DEFT_MODEL_SCHEMA_CLIENT_ARGUMENTS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

/* True if the schema of a tool's parameters (NULL: without members) has a member of that name. */
bool client_arguments_declare(const json_t *parameters, const char *name)
    __attribute__((nonnull(2))) MUST_CHECK;
/* Appends an entry (model/schema/validation_error.h) for each member that does not match the
 * schema. */
void client_arguments_check(const json_t *parameters, json_t *arguments, json_t *problems)
    __attribute__((nonnull(2, 3)));

#endif
