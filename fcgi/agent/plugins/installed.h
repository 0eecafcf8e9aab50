/*
 * The skills and plugins that a user has installed: fetched once and stored whole as the user's
 * documents until they are refreshed or removed.
 */
#ifndef DEFT_FCGI_AGENT_PLUGINS_INSTALLED_H
#define DEFT_FCGI_AGENT_PLUGINS_INSTALLED_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;

/*
 * Lists the skills of the caller's installed skills and plugins, in the API's form, without those
 * that are switched off; a new reference. A sandbox's key has none.
 */
int installed_skills(const struct request *request, json_t **skills_out,
                     struct error *err) NONNULL MUST_CHECK;
/* The caller's plugins that are switched on, as listed by POST /api/plugins. A new reference. */
int installed_plugins(const struct request *request, json_t **plugins_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
