/*
 * The security analyzer of a conversation, as a client described it.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_AGENT_ANALYZER_SPEC_H
#define DEFT_MODEL_AGENT_ANALYZER_SPEC_H

#include <jansson.h>

#include "base/attr.h"

struct conversation_defaults;
struct json_path;

/* Kinds of the wire contract. */
#define ANALYZER_ENSEMBLE "EnsembleSecurityAnalyzer"
#define ANALYZER_GUARD "ToolShieldLLMSecurityAnalyzer"

/*
 * Reads a security analyzer, or null, and fills in the defaults of those that ask a model, whose
 * secrets are not yet removed. A new reference; errors go to problems.
 */
json_t *analyzer_read(json_t *input, const struct conversation_defaults *defaults,
                      const struct json_path *path, json_t *problems) NONNULL MUST_CHECK;
/*
 * The analyzers that ask a model, in the order in which an analyzer lists them: itself, or those in
 * its ensembles. An array that shares them; a new reference. analyzer: NULL for none.
 */
json_t *analyzer_guards(json_t *analyzer) MUST_CHECK;

#endif
