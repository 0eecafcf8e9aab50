/*
 * The risk of a call, as security analyzers state it and confirmation policies use it.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_SECURITY_POLICY_RISK_H
#define DEFT_MODEL_SECURITY_POLICY_RISK_H

#include "base/attr.h"

/* By increasing risk, except UNKNOWN, which means not judged. */
enum policy_risk { POLICY_RISK_UNKNOWN, POLICY_RISK_LOW, POLICY_RISK_MEDIUM, POLICY_RISK_HIGH };

/* Parses a risk's wire name; any other text is POLICY_RISK_UNKNOWN. */
enum policy_risk policy_risk_from_string(const char *name) NONNULL MUST_CHECK;
/* The wire name. Static storage. */
const char *policy_risk_to_string(enum policy_risk risk) MUST_CHECK;

#endif
