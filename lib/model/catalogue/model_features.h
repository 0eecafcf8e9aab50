/*
 * What models need or take, by parts of their names: model_features.tsv.
 *
 * Ownership: model_features_done() releases the rules.
 * Threading: immutable once read.
 */
#ifndef DEFT_MODEL_CATALOGUE_MODEL_FEATURES_H
#define DEFT_MODEL_CATALOGUE_MODEL_FEATURES_H

#include <stddef.h>

#include "base/attr.h"

struct error;
struct text_folder;

#define MODEL_FEATURES_FILE "model_features.tsv"

#define MODEL_FEATURES(X)                                                                          \
    X(MODEL_PLAIN_TEXT, "plain_text")           /* a message's content must be one string */       \
    X(MODEL_REASONING_BACK, "reasoning_back")   /* reasoning of earlier turns must be sent back */ \
    X(MODEL_EFFORT, "effort")                   /* takes reasoning_effort */                       \
    X(MODEL_CACHE_RETENTION, "cache_retention") /* takes prompt_cache_retention */                 \
    X(MODEL_RESPONSES, "responses")             /* is called by OpenAI's Responses */              \
    X(MODEL_STOP_WORDS, "stop_words")           /* takes stop words */                             \
    X(MODEL_CALL_EXAMPLE, "call_example")       /* needs an example of a call as text */

#define X(constant, text) constant,
enum model_feature { MODEL_FEATURES(X) MODEL_N_FEATURES };
#undef X

enum model_answer { MODEL_NO, MODEL_YES, MODEL_UNKNOWN };

struct model_feature_rule {
    enum model_feature feature;
    enum model_answer answer;
    char *part; /* of a name; "^" before its beginning */
};

struct model_features {
    struct model_feature_rule *rules; /* the last that matches counts */
    size_t n;
};

void model_features_done(struct model_features *features);
int model_features_read(const struct text_folder *folder, struct model_features *features_out,
                        struct error *err) NONNULL MUST_CHECK;
enum model_answer model_features_ask(const struct model_features *features,
                                     enum model_feature feature,
                                     const char *model) NONNULL MUST_CHECK;

#endif
