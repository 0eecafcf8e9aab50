/*
 * The two observation objects that deft-action creates, in their wire format.
 * Source: docs/api/action-server.md
 */
#ifndef DEFT_SANDBOX_CORE_ACTION_OBSERVATION_H
#define DEFT_SANDBOX_CORE_ACTION_OBSERVATION_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

/* Result of a call of the terminal tool. Texts are borrowed. */
struct terminal_result {
    const char *content;
    size_t content_len;
    bool is_error;
    const char *command;
    bool has_exit_code;
    int exit_code; /* -1: still running */
    const char *prefix;
    const char *suffix;
    bool has_metadata; /* the fields below are known */
    int background_pid;
    const char *working_dir;
    const char *path;     /* PATH to search for a python */
    const char *save_dir; /* where the whole output is saved; NULL: nowhere */
};

/* TerminalObservation. The caller owns it. */
json_t *action_observation_from_terminal(const struct terminal_result *result) NONNULL MUST_CHECK;
/* A TerminalObservation for a refused call, with the reason. */
json_t *action_observation_from_refusal(const char *command, const char *reason) NONNULL MUST_CHECK;
/* [{"type":"text","text":…,"cache_prompt":false}] */
json_t *action_observation_content(const char *text, size_t len) NONNULL MUST_CHECK;

#endif
