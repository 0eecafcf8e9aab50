/*
 * Dangerous words in a call's text, wherever they are: in a comment or a quoted argument, too. One
 * pass over the text, without case.
 *
 * Threading: pure.
 * Decision:  docs/decisions/0091-security-analyzers.md
 */
#ifndef DEFT_MODEL_SECURITY_TEXT_PATTERNS_H
#define DEFT_MODEL_SECURITY_TEXT_PATTERNS_H

#include "base/attr.h"
#include "model/security/policy_risk.h"

/* The highest risk of the patterns in text that is executed; LOW if there are none. */
enum policy_risk text_patterns_of_code(const char *text) NONNULL MUST_CHECK;
/* The same of attempts to change the agent's instructions or role, in any text. */
enum policy_risk text_patterns_of_prose(const char *text) NONNULL MUST_CHECK;

#endif
