/*
 * The agent profile that is always there: `default`, made of the settings when it is first missed.
 */
#ifndef DEFT_FCGI_SETTINGS_AGENT_PROFILE_DEFAULT_H
#define DEFT_FCGI_SETTINGS_AGENT_PROFILE_DEFAULT_H

#include "base/attr.h"

struct document;
struct document_list;
struct error;
struct request;

/* The profile `default`, made when there is none. ERROR_STALE when somebody else made it. */
int agent_profile_ensure_default(const struct request *request, const struct document *settings,
                                 struct document *profile_out,
                                 struct error *err) NONNULL MUST_CHECK;
/* Without a pointer to one of the list, `default` becomes the active one; stores the settings. */
int agent_profile_ensure_active(const struct request *request, struct document *settings,
                                const struct document_list *list,
                                struct error *err) NONNULL MUST_CHECK;

#endif
