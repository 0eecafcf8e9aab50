/*
 * Shared by the tests of lib/model: JSON written with single quotes, conversations made of a
 * request, golden files, comparison of shapes.
 */
#ifndef DEFT_TESTS_UNIT_MODEL_TEST_H
#define DEFT_TESTS_UNIT_MODEL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct event;
struct event_list;
struct tool_call_check;

/* Parses JSON whose quotes are written '; fails the test when it is none. A new reference. */
json_t *json_of(const char *text) NONNULL MUST_CHECK;
/* A file of tests/data/golden. A new reference. */
json_t *golden(const char *name) NONNULL MUST_CHECK;
/* Reads a start request that must be accepted; the secrets' JSON, or NULL when not wanted. */
void start_conversation(json_t *request, struct conversation *conversation_out,
                        json_t **secrets_out) __attribute__((nonnull(1, 2)));
/* A conversation with the three default tools and an analyzer if asked for. */
void start_default(struct conversation *conversation_out) NONNULL;
/* The agent's functions and ToolDefinitions. New references. */
json_t *functions_of(const struct conversation *conversation) NONNULL MUST_CHECK;
json_t *definitions_of(const struct conversation *conversation) NONNULL MUST_CHECK;
/* tool_call_check() with the conversation's tools; check_out->tool says only whether there is one.
 */
void check_call_of(const struct conversation *conversation, const char *name, const char *arguments,
                   struct tool_call_check *check_out) NONNULL;
/* The problems of a request that must be refused. A new reference. */
json_t *refusal_of(const char *request) NONNULL MUST_CHECK;
/* The "type" of the problem at a path like "agent.llm.timeout"; fails when there is none. */
const char *problem_at(json_t *problems, const char *path) NONNULL MUST_CHECK;
/* Same members with the same JSON types, at all depths; lists compare element by element. */
void assert_same_schema(json_t *ours, json_t *theirs, const char *where) NONNULL;
/* Equal values; prints both otherwise. */
void assert_json_equal(json_t *ours, json_t *theirs) NONNULL;
/* The same of the value that json_of() makes of a text. */
void assert_json_is(json_t *ours, const char *expected) NONNULL;
/* Compares a text with a file of tests/data line by line. */
void assert_is_listed(const char *ours, const char *file) NONNULL;
/* The event's wire form. A new reference. */
json_t *event_wire(const struct event *event) NONNULL MUST_CHECK;
/* "kind" or, of state updates, "key=value" of each event, separated by spaces. mem_free() it. */
char *event_order(const struct event_list *list) NONNULL MUST_CHECK;

int agent_profile_tests(void);
int agent_spec_tests(void);
int catalogue_tests(void);
int child_tests(void);
int client_arguments_tests(void);
int conversation_tests(void);
int conversation_info_tests(void);
int content_tests(void);
int event_builder_tests(void);
int event_kind_tests(void);
int error_class_tests(void);
int event_tests(void);
int event_text_tests(void);
int goal_tests(void);
int golden_tests(void);
int hook_match_tests(void);
int hook_verdict_tests(void);
int hooks_tests(void);
int mcp_config_tests(void);
int mcp_file_tests(void);
int mcp_listing_tests(void);
int mcp_progress_tests(void);
int mcp_tests(void);
int mcp_tools_tests(void);
int members_tests(void);
int llm_switch_tests(void);
int mask_escapes_tests(void);
int masker_tests(void);
int model_table_tests(void);
int observation_tests(void);
int openai_answer_tests(void);
int openai_stream_tests(void);
int openai_request_tests(void);
int package_tests(void);
int pattern_tests(void);
int plan_tests(void);
int preview_answer_tests(void);
int preview_tests(void);
int analyzer_spec_tests(void);
int policy_tests(void);
int progress_tests(void);
int web_origin_tests(void);
int prompt_form_tests(void);
int knowledge_change_tests(void);
int project_knowledge_tests(void);
int project_servers_tests(void);
int prompt_tests(void);
int redact_tests(void);
int repository_step_tests(void);
int repository_tests(void);
int secret_place_tests(void);
int secret_tests(void);
int settings_schema_tests(void);
int settings_tests(void);
int schema_tests(void);
int skill_file_tests(void);
int skill_member_tests(void);
int skills_tests(void);
int word_search_tests(void);
int risk_text_tests(void);
int security_analyzer_tests(void);
int source_tests(void);
int start_members_tests(void);
int start_request_tests(void);
int stats_tests(void);
int status_tests(void);
int sub_agents_tests(void);
int task_tests(void);
int title_tests(void);
int webhook_tests(void);
int resource_keys_tests(void);
int tool_call_tests(void);
int tool_list_tests(void);
int tool_repair_tests(void);
int tools_tests(void);

#endif
