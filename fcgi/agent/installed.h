/*
 * The families of things that could be installed (skills, plugins): nothing is, since this server
 * installs nothing yet.
 */
#ifndef DEFT_FCGI_AGENT_INSTALLED_H
#define DEFT_FCGI_AGENT_INSTALLED_H

#include "base/attr.h"

struct error;
struct reply;
struct request;

struct installed_kind {
    const char *word;   /* "Skill" */
    const char *member; /* of the list's answer */
    const char *param;  /* of the path */
};

/* 200 {member: []} */
int installed_list(const struct installed_kind *kind, struct reply *reply) NONNULL MUST_CHECK;
/* 404 "Skill 'x' is not installed", 422 for what can be no name. */
int installed_unknown(const struct installed_kind *kind, const struct request *request,
                      struct error *err) NONNULL MUST_CHECK;

#endif
