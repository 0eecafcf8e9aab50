/*
 * The text that a guard model reads and writes: an analyzer's model is shown calls and events as
 * quoted lines, and states the risk on a line of its own. A line that it quotes is no verdict,
 * because the quoted text may be hostile.
 *
 * Threading: pure.
 * Decision:  docs/decisions/0111-guards-that-ask-a-model.md
 */
#ifndef DEFT_MODEL_SECURITY_RISK_TEXT_H
#define DEFT_MODEL_SECURITY_RISK_TEXT_H

#include "base/attr.h"
#include "model/security/policy_risk.h"

struct strbuf;

/*
 * Appends the text with "> " before each line. All line breaks of Unicode end a line, so no part of
 * the text is without the mark.
 */
void risk_text_quote(struct strbuf *out, const char *text) NONNULL;
/*
 * The risk that an answer states: "RISK: LOW", "RISK: MEDIUM" or "RISK: HIGH" as a whole line, with
 * or without asterisks around it. Of several lines the highest risk counts. Lines in block quotes,
 * in code blocks and between double quotation marks are quoted and do not count.
 * POLICY_RISK_UNKNOWN if there is no such line.
 */
enum policy_risk risk_text_verdict(const char *answer) NONNULL MUST_CHECK;

#endif
