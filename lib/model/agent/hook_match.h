/*
 * The events at which hooks run, and the hooks of a configuration that run at one.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_AGENT_HOOK_MATCH_H
#define DEFT_MODEL_AGENT_HOOK_MATCH_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

/* X(constant, name on the wire, member of a HookConfig) */
#define HOOK_EVENTS(X)                                                                             \
    X(HOOK_PRE_TOOL_USE, "PreToolUse", "pre_tool_use")                                             \
    X(HOOK_POST_TOOL_USE, "PostToolUse", "post_tool_use")                                          \
    X(HOOK_USER_PROMPT_SUBMIT, "UserPromptSubmit", "user_prompt_submit")                           \
    X(HOOK_SESSION_START, "SessionStart", "session_start")                                         \
    X(HOOK_SESSION_END, "SessionEnd", "session_end")                                               \
    X(HOOK_STOP, "Stop", "stop")

#define X(constant, name, member) constant,
enum hook_event { HOOK_EVENTS(X) HOOK_N_EVENTS };
#undef X

/* The event's name on the wire; a static string. */
const char *hook_event_name(enum hook_event event) MUST_CHECK;
/* The member of a HookConfig that holds the event's hooks; a static string. */
const char *hook_event_member(enum hook_event event) MUST_CHECK;

/*
 * The hooks of a HookConfig (NULL: none) whose matchers accept the tool, in order. A matcher is a
 * name; "*" or "" accepts all; a regular expression, of the whole name, if it is written /…/ or has
 * one of ^$.*+?()[]{}|\. An invalid one accepts none. tool_name: NULL for an event that is not
 * about a call; then every matcher accepts. A new reference.
 */
json_t *hooks_find(const json_t *config, enum hook_event event, const char *tool_name) MUST_CHECK;
/* True if the configuration has a hook for the event. */
bool hooks_has(const json_t *config, enum hook_event event) MUST_CHECK;
/* True if it has one for any of the events that deft knows. */
bool hooks_has_any(const json_t *config) MUST_CHECK;

#endif
