/*
 * First stage of a start: reads the members of a start request that later stages need.
 *
 * Ownership: a start_request owns the body; its other members borrow from it.
 * Threading: no state.
 */
#ifndef DEFT_START_START_PARSE_H
#define DEFT_START_START_PARSE_H

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct error;
struct start_context;

enum start_sealing { START_SECRETS_PLAIN, START_SECRETS_SEALED };

/* agent_launch_additions */
struct start_additions {
    const char *suffix;          /* "": none */
    json_t *skills;              /* NULL: none */
    const char *llm_profile_ref; /* NULL: that of the profile */
};

struct start_request {
    json_t *body;
    json_t *agent;   /* `agent` or `agent_settings`; NULL: neither is an object */
    json_t *secrets; /* NULL: not given */
    enum start_sealing sealing;
    struct uuid agent_profile_id;  /* unset: an agent is given, or the id is malformed */
    const char *title_llm_profile; /* NULL: not given */
    struct start_additions additions;
    const char *sender; /* of the initial message; NULL: not given */
    /* Results of start_expand(). */
    json_t *launched_profile; /* launched_agent_profile; NULL without one */
    json_t *refusal;          /* 422 body that refuses the agent profile; NULL: it is not refused */
};

/* clang-format off */
#define START_REQUEST_INIT {.agent_profile_id = UUID_INIT}
/* clang-format on */

void start_request_done(struct start_request *request);

/*
 * Reads a StartConversationRequest; later stages change the body in place. tracing: values of the
 * client's tracing headers by member, for those that the body leaves out; NULL: none. Members that
 * only the specification needs are validated by start_validate(). ERROR_INVALID, noted.
 */
int start_parse(const struct start_context *context, json_t *body, json_t *tracing,
                struct start_request *request_out, struct error *err)
    __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;

#endif
