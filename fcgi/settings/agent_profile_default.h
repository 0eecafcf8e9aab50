/*
 * The agent profile `default`, which always exists: made from the settings when it is first needed.
 */
#ifndef DEFT_FCGI_SETTINGS_AGENT_PROFILE_DEFAULT_H
#define DEFT_FCGI_SETTINGS_AGENT_PROFILE_DEFAULT_H

#include "base/attr.h"

struct document;
struct document_list;
struct error;
struct request;

/*
 * Loads the profile `default`, creating it if missing. ERROR_STALE when another request created it.
 */
int agent_profile_ensure_default(const struct request *request, const struct document *settings,
                                 struct document *profile_out,
                                 struct error *err) NONNULL MUST_CHECK;
/*
 * If the settings do not point to a profile in the list, makes `default` the active one and stores
 * the settings.
 */
int agent_profile_ensure_active(const struct request *request, struct document *settings,
                                const struct document_list *list,
                                struct error *err) NONNULL MUST_CHECK;

#endif
