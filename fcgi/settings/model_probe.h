/*
 * Tests an LLM object with one short call, so that a wrong key or name is found before it is saved.
 */
#ifndef DEFT_FCGI_SETTINGS_MODEL_PROBE_H
#define DEFT_FCGI_SETTINGS_MODEL_PROBE_H

#include <jansson.h>

#include "base/attr.h"

struct request;

/*
 * Calls the model (secrets in clear) once and waits some seconds. {"valid", "error"}: error is null
 * or {"type", "message"}. A new reference.
 */
json_t *model_probe(const struct request *request, json_t *llm) NONNULL MUST_CHECK;
/* {"valid": false, "error": {"type", "message"}}; with a NULL type {"valid": true, "error": null}.
 */
json_t *model_verdict(const char *type, const char *message) MUST_CHECK;

#endif
