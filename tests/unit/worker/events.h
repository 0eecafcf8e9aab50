/*
 * Histories for tests, from events as the wire shows them.
 */
#ifndef DEFT_TESTS_UNIT_WORKER_EVENTS_H
#define DEFT_TESTS_UNIT_WORKER_EVENTS_H

#include <jansson.h>

#include "base/attr.h"

struct history;

/* Adds an array of events, as if they had been loaded. */
void history_add_json(struct history *history, const json_t *events) NONNULL;
/* The same from JSON text. */
void history_add_text(struct history *history, const char *events) NONNULL;
/* Text as JSON; a new reference. */
json_t *test_json(const char *text) NONNULL;
/* A file of tests/data/worker as JSON; a new reference. */
json_t *worker_data(const char *name) NONNULL;

/* Events for history_add_text(). */
#define USER(text)                                                                                 \
    "{\"kind\": \"MessageEvent\", \"source\": \"user\", \"llm_message\": {\"role\": \"user\","     \
    " \"content\": [{\"type\": \"text\", \"text\": \"" text "\"}]}}"
#define ENVIRONMENT(text)                                                                          \
    "{\"kind\": \"MessageEvent\", \"source\": \"environment\", \"llm_message\": {\"role\":"        \
    " \"user\", \"content\": [{\"type\": \"text\", \"text\": \"" text "\"}]}}"
#define AGENT(text)                                                                                \
    "{\"kind\": \"MessageEvent\", \"source\": \"agent\", \"llm_response_id\": \"r\","              \
    " \"llm_message\": {\"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": "    \
    "\"" text "\"}]}}"
#define ACTION(id, command)                                                                        \
    "{\"kind\": \"ActionEvent\", \"source\": \"agent\", \"tool_name\": \"terminal\","              \
    " \"tool_call_id\": \"" id "\", \"llm_response_id\": \"r" id "\", \"thought\": [],"            \
    " \"action\": {\"command\": \"" command "\"},"                                                 \
    " \"tool_call\": {\"name\": \"terminal\", \"arguments\": \"{}\"}}"
#define BAD_ACTION(id)                                                                             \
    "{\"kind\": \"ActionEvent\", \"source\": \"agent\", \"tool_name\": \"nosuch\","                \
    " \"tool_call_id\": \"" id "\", \"llm_response_id\": \"r" id "\", \"thought\": [],"            \
    " \"tool_call\": {\"name\": \"nosuch\", \"arguments\": \"{}\"}}"
#define RESULT(id, text)                                                                           \
    "{\"kind\": \"ObservationEvent\", \"tool_name\": \"terminal\", \"tool_call_id\": \"" id "\","  \
    " \"observation\": {\"kind\": \"ThinkObservation\", \"is_error\": false, \"content\":"         \
    " [{\"type\": \"text\", \"text\": \"" text "\"}]}}"
#define FAILURE(id)                                                                                \
    "{\"kind\": \"AgentErrorEvent\", \"tool_name\": \"nosuch\", \"tool_call_id\": \"" id "\","     \
    " \"error\": \"no such tool\"}"
#define RUNNING                                                                                    \
    "{\"kind\": \"ConversationStateUpdateEvent\", \"key\": \"execution_status\","                  \
    " \"value\": \"running\"}"

#endif
