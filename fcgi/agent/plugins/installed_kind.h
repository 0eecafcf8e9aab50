/*
 * What installed skills and installed plugins have in common, as a table of what they have not.
 */
#ifndef DEFT_FCGI_AGENT_PLUGINS_INSTALLED_KIND_H
#define DEFT_FCGI_AGENT_PLUGINS_INSTALLED_KIND_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/plugins/package.h"
#include "store/user/document_store.h"

struct error;
struct reply;
struct request;

/* What can be installed, by the routes that are for it. */
struct installed_kind {
    const char *routes;
    const char *word;   /* "Skill" */
    const char *list;   /* member of the list's answer */
    const char *single; /* member of a refresh's answer */
    const char *param;  /* of the path */
    enum collection collection;
    int (*read)(const struct package_folder *folder, json_t **package_out, struct error *err);
};

/* The kind that the request's route is for. Lives for ever. */
const struct installed_kind *installed_kind_of(const struct request *request) NONNULL MUST_CHECK;
/* The one that the path names; ERROR_NOT_FOUND in the contract's words, ERROR_INVALID for what can
 * be no name. */
int installed_load(const struct request *request, struct document *document_out,
                   struct error *err) NONNULL MUST_CHECK;
bool installed_is_on(const struct document *document) NONNULL MUST_CHECK;
/* {"name", "description"} of each of a list of skills. A new reference. */
json_t *installed_summaries(const json_t *skills) __attribute__((warn_unused_result));
/* As the API shows it. A new reference. */
json_t *installed_to_json(const struct installed_kind *kind,
                          const struct document *document) NONNULL MUST_CHECK;
/* 200 with it. */
int installed_answer(const struct installed_kind *kind, const struct document *document,
                     struct reply *reply) NONNULL MUST_CHECK;
/* Says "not found" in the contract's words; other errors stay. Returns -1. */
int installed_not_found(const struct installed_kind *kind, const char *name,
                        struct error *err) NONNULL MUST_CHECK;
/* The name in the path; ERROR_INVALID, noted, when it can be none. Borrowed. */
int installed_path_name(const struct request *request, const char **name_out,
                        struct error *err) NONNULL MUST_CHECK;

#endif
