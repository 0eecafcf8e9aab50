/*
 * The skills and plugins that a user has installed: fetched once, kept whole as documents of the
 * user's, until they are refreshed or removed.
 */
#ifndef DEFT_FCGI_AGENT_PLUGINS_INSTALLED_H
#define DEFT_FCGI_AGENT_PLUGINS_INSTALLED_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;

/*
 * The skills that the caller's installed skills and plugins bring along, those that are switched
 * off left out: a list of them as the API shows them, a new reference. A sandbox's key has none.
 */
int installed_skills(const struct request *request, json_t **skills_out,
                     struct error *err) NONNULL MUST_CHECK;
/* The same of plugins alone. */
int installed_plugin_skills(const struct request *request, json_t **skills_out,
                            struct error *err) NONNULL MUST_CHECK;
/* The caller's plugins that are switched on, as POST /api/plugins lists them. A new reference. */
int installed_plugins(const struct request *request, json_t **plugins_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
