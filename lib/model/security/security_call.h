/*
 * A call as a security analyzer sees it. Everything is borrowed.
 */
#ifndef DEFT_MODEL_SECURITY_SECURITY_CALL_H
#define DEFT_MODEL_SECURITY_SECURITY_CALL_H

#include <stddef.h>

#include <jansson.h>

#include "model/security/policy_risk.h"

struct security_call {
    const char *tool_name;
    const json_t *action; /* its strings, at all depths, are the call's arguments */
    const char *summary;  /* these three may be NULL */
    const char *thought;
    const char *reasoning;
    enum policy_risk own;           /* the model's assessment */
    const enum policy_risk *guards; /* what guard models stated, as analyzer_guards() lists them */
    size_t n_guards;
};

#endif
