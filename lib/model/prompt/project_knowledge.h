/*
 * What a run learns from its workspace before its model's first call, if its agent asks for that:
 * texts of the repository, memories, skills, rules for paths, the branch. It is read once and then
 * stays as it was until a client asks for another reading (knowledge_request.h): an event holds the
 * prompt's second half, and the conversation's specification the skills that later messages may
 * activate.
 *
 * The event is a ConversationStateUpdateEvent with the key "agent_state" and the value
 *     {"project_knowledge": {"dynamic_context": text,
 *                            "skills": [{"name","type","source","description","triggers","paths"}],
 *                            "skipped": [{"path","reason"}],
 *                            "environment": {"working_dir","repository","branch","image",…},
 *                            "messages": {event's id: {"activated_skills","extended_content"}}}}
 * where "messages" completes the user's messages that were stored before. The specification's
 * member PROJECT_SKILLS is a list of skills as in an agent's context, with "paths". A hooks file,
 * the project's or else the user's, becomes the specification's hook_config if its creator gave
 * none.
 *
 * Ownership: project_knowledge_done(). Threading: pure.
 * Decision:  docs/decisions/0085-what-the-workspace-tells.md
 */
#ifndef DEFT_MODEL_PROMPT_PROJECT_KNOWLEDGE_H
#define DEFT_MODEL_PROMPT_PROJECT_KNOWLEDGE_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct catalogue;
struct conversation;

/* The event's key. */
#define PROJECT_KNOWLEDGE_KEY "agent_state"

struct project_knowledge {
    json_t *value;     /* of the event */
    json_t *skills;    /* for the specification */
    json_t *activated; /* names of skills that earlier messages activate */
    json_t *hooks;     /* a HookConfig; NULL: the creator gave one, or none was found */
    json_t *servers;   /* MCP servers, as project_servers_read() finds them */
};

/* clang-format off */
#define PROJECT_KNOWLEDGE_INIT {NULL, NULL, NULL, NULL, NULL}
/* clang-format on */

void project_knowledge_done(struct project_knowledge *knowledge);

/* Returns the body of the request for the files (PROJECT_FILES_PATH). A new reference. */
json_t *project_knowledge_request(const struct conversation *conversation) NONNULL MUST_CHECK;

/* Where it comes from; all pointers are borrowed. */
struct project_sources {
    const json_t *reply;     /* the sandbox's; malformed parts are left out */
    const json_t *installed; /* skills that the user has installed, in the API's form */
};

/* Those of the user's skills that are in files take precedence. */
void project_knowledge_read(const struct catalogue *catalogue,
                            const struct conversation *conversation,
                            const struct project_sources *sources,
                            struct project_knowledge *knowledge_out) NONNULL;
/* Adds to the event what a message of the user that is already stored activates. content: its
 * list of parts. */
void project_knowledge_add_message(struct project_knowledge *knowledge,
                                   const struct catalogue *catalogue,
                                   const struct conversation *conversation, const char *event_id,
                                   const json_t *content) NONNULL;

/* The knowledge in an event's body; NULL if it is another event. Borrowed. */
const json_t *project_knowledge_of(const json_t *event) NONNULL MUST_CHECK;
/* Its text for the model, a JSON string, or NULL. Borrowed. */
json_t *project_knowledge_context(const json_t *knowledge) NONNULL MUST_CHECK;
/* True if it adds to any message. */
bool project_knowledge_has_extra(const json_t *knowledge) NONNULL MUST_CHECK;
/* What it adds to a message, a list of parts, or NULL. Borrowed. */
const json_t *project_knowledge_extra(const json_t *knowledge,
                                      const char *event_id) NONNULL MUST_CHECK;

#endif
