/*
 * Paths of secrets in objects of one kind, for tables that have such objects at several places.
 */
#ifndef DEFT_MODEL_SECRETS_SECRET_PATHS_H
#define DEFT_MODEL_SECRETS_SECRET_PATHS_H

/* clang-format off */
#define LLM_SECRETS(prefix)                                                                        \
    {prefix "api_key", true},                                                                      \
    {prefix "aws_access_key_id", true},                                                            \
    {prefix "aws_secret_access_key", true},                                                        \
    {prefix "aws_session_token", true},                                                            \
    {prefix "extra_headers/*", false}

#define ONE_ANALYZER_SECRETS(prefix)                                                               \
    {prefix "api_key", true},                                                                      \
    LLM_SECRETS(prefix "llm/")

/* Of a security analyzer, and of the members of ensembles: as deep as ANALYZER_MAX_DEPTH. */
#define ANALYZER_SECRETS(prefix)                                                                   \
    ONE_ANALYZER_SECRETS(prefix),                                                                  \
    ONE_ANALYZER_SECRETS(prefix "analyzers/*/"),                                                   \
    ONE_ANALYZER_SECRETS(prefix "analyzers/*/analyzers/*/"),                                       \
    ONE_ANALYZER_SECRETS(prefix "analyzers/*/analyzers/*/analyzers/*/"),                           \
    ONE_ANALYZER_SECRETS(prefix "analyzers/*/analyzers/*/analyzers/*/analyzers/*/")
/* clang-format on */

#endif
