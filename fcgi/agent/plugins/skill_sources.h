/*
 * The skills that POST /api/skills gathers from beside the sandbox's files: market places and
 * organisations that the client names, and the addresses that a sandbox is reached at.
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

/* Skills by name; a later one of a name takes the place of an earlier one. */
struct skill_set {
    json_t *skills;
    json_t *origins; /* name -> number */
};

struct skill_set skill_set_new(void) MUST_CHECK;
void skill_set_done(struct skill_set *set);
/* Takes over the skill. */
void skill_set_add(struct skill_set *set, json_t *skill, enum skill_origin origin) NONNULL;
/* The skills as a list, a new reference. */
json_t *skill_set_list(const struct skill_set *set) NONNULL MUST_CHECK;
/* {"sandbox": 0, …}: how many came from where. A new reference. */
json_t *skill_set_count(const struct skill_set *set) NONNULL MUST_CHECK;

/*
 * Adds what the request's body names: "registered_marketplaces", and with "load_org" "org_configs".
 * One that cannot be reached is left out and logged: the others are of use all the same.
 */
void skill_sources_add(const struct request *request, const json_t *body,
                       struct skill_set *set) NONNULL;
/* Adds the skill that tells of the addresses in "sandbox_config". */
void skill_sources_add_sandbox(const json_t *body, struct skill_set *set) NONNULL;

#endif
