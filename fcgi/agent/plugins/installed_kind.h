/*
 * Common code for installed skills and installed plugins, with a table of their differences.
 */
#ifndef DEFT_FCGI_AGENT_PLUGINS_INSTALLED_KIND_H
#define DEFT_FCGI_AGENT_PLUGINS_INSTALLED_KIND_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/plugins/plugin_folder.h"
#include "store/user/document_store.h"

struct error;
struct reply;
struct request;

/* A kind of installable, and the routes that serve it. */
struct installed_kind {
    const char *routes;
    const char *word;   /* "Skill" */
    const char *list;   /* member of the list's answer */
    const char *single; /* member of a refresh's answer */
    const char *param;  /* of the path */
    enum collection collection;
    int (*read)(const struct plugin_folder *folder, json_t **package_out, struct error *err);
};

/* The kind that the request's route serves; a static object. */
const struct installed_kind *installed_kind_of(const struct request *request) NONNULL MUST_CHECK;
/*
 * Loads the one named by the path; ERROR_NOT_FOUND with the contract's wording, ERROR_INVALID for
 * an invalid name.
 */
int installed_load(const struct request *request, struct document *document_out,
                   struct error *err) NONNULL MUST_CHECK;
/* {"name", "description"} of each of a list of skills. A new reference. */
json_t *installed_summaries(const json_t *skills) __attribute__((warn_unused_result));
/* The API's form. A new reference. */
json_t *installed_to_json(const struct installed_kind *kind,
                          const struct document *document) NONNULL MUST_CHECK;
/* Replies 200 with the API's form. */
int installed_answer(const struct installed_kind *kind, const struct document *document,
                     struct reply *reply) NONNULL MUST_CHECK;
/* Gives a "not found" the contract's wording; leaves other errors. Returns -1. */
int installed_not_found(const struct installed_kind *kind, const char *name,
                        struct error *err) NONNULL MUST_CHECK;
/* The name in the path; ERROR_INVALID, noted, for an invalid name. Borrowed. */
int installed_path_name(const struct request *request, const char **name_out,
                        struct error *err) NONNULL MUST_CHECK;

#endif
