/*
 * The skills of POST /api/skills that do not come from the sandbox's files: from marketplaces and
 * organizations that the client names, and one that describes the sandbox's addresses.
 *
 * Ownership: skill_set_done().
 */
#ifndef DEFT_FCGI_AGENT_PLUGINS_SKILL_SOURCES_H
#define DEFT_FCGI_AGENT_PLUGINS_SKILL_SOURCES_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;

/* The members of the answer's "sources". */
#define SKILL_ORIGINS(X)                                                                           \
    X(SKILL_OF_SANDBOX, "sandbox")                                                                 \
    X(SKILL_OF_MARKET, "registered_marketplaces")                                                  \
    X(SKILL_OF_USER, "sdk_base")                                                                   \
    X(SKILL_OF_ORGANISATION, "org")                                                                \
    X(SKILL_OF_PROJECT, "project")

#define X(constant, text) constant,
enum skill_origin { SKILL_ORIGINS(X) SKILL_N_ORIGINS };
#undef X

/* Skills by name; a later one replaces an earlier one of the same name. */
struct skill_set {
    json_t *skills;
    json_t *origins; /* name -> number */
};

/* An empty set, which skill_set_done() releases. */
struct skill_set skill_set_new(void) MUST_CHECK;
void skill_set_done(struct skill_set *set);
/* Takes over the skill. */
void skill_set_add(struct skill_set *set, json_t *skill, enum skill_origin origin) NONNULL;
/* The skills as a list, a new reference. */
json_t *skill_set_list(const struct skill_set *set) NONNULL MUST_CHECK;
/* {"sandbox": 0, …}: the number of skills per origin. A new reference. */
json_t *skill_set_count(const struct skill_set *set) NONNULL MUST_CHECK;

/*
 * Adds the skills of the sources in the request's body: "registered_marketplaces", and with
 * "load_org" "org_configs". An unreachable source is skipped and logged: the others are still
 * useful.
 */
void skill_sources_add(const struct request *request, const json_t *body,
                       struct skill_set *set) NONNULL;
/* Adds the skill that describes the addresses in "sandbox_config". */
void skill_sources_add_sandbox(const json_t *body, struct skill_set *set) NONNULL;

#endif
