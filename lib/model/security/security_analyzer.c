#include "model/security/security_analyzer.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/text.h"
#include "model/agent/analyzer_spec.h"
#include "model/limits.h"
#include "model/security/call_text.h"
#include "model/security/security_call.h"
#include "model/security/shell_command.h"
#include "model/security/shell_reader.h"
#include "model/security/text_patterns.h"

/* The call and what was read of it, once for all members of an ensemble. */
struct evidence {
    const struct security_call *call;
    struct call_text text;
    struct shell_findings findings;
    size_t n_guards; /* so many have been asked for their risk */
    enum policy_risk by_patterns;
    bool is_read;
    bool is_judged; /* by_patterns is set */
};

static void read_call(struct evidence *evidence)
{
    struct shell_findings *findings = &evidence->findings;

    if (evidence->is_read)
        return;
    evidence->is_read = true;
    call_text_read(&evidence->text, evidence->call);
    for (size_t i = 0; i < evidence->text.n_segments; i++) {
        const struct call_segment *segment = &evidence->text.segments[i];
        bool had_unknown = findings->has_unknown;

        shell_read(evidence->text.executable.text + segment->start, segment->len, findings);
        findings->has_unknown = segment->is_command ? findings->has_unknown : had_unknown;
    }
}

static enum policy_risk higher(enum policy_risk a, enum policy_risk b)
{
    return a > b ? a : b;
}

static enum policy_risk find_patterns(const struct evidence *evidence)
{
    const struct shell_findings *findings = &evidence->findings;
    enum policy_risk risk = text_patterns_of_code(evidence->text.executable.text);

    risk = higher(risk, text_patterns_of_prose(evidence->text.executable.text));
    risk = higher(risk, text_patterns_of_prose(evidence->text.spoken.text));
    if (findings->has_forced_delete || findings->has_root_delete || findings->has_fetched_code)
        return POLICY_RISK_HIGH;
    return risk != POLICY_RISK_HIGH && (findings->has_unknown || evidence->text.is_cut)
               ? POLICY_RISK_UNKNOWN
               : risk;
}

/* Once, however many members of ensembles ask. */
static enum policy_risk judge_by_patterns(struct evidence *evidence)
{
    read_call(evidence);
    if (!evidence->is_judged)
        evidence->by_patterns = find_patterns(evidence);
    evidence->is_judged = true;
    return evidence->by_patterns;
}

static enum policy_risk judge_by_rails(struct evidence *evidence)
{
    const struct shell_findings *findings = &evidence->findings;

    read_call(evidence);
    if (findings->has_fetched_code || findings->has_disk_write || findings->has_system_delete)
        return POLICY_RISK_HIGH;
    return evidence->text.is_cut ? POLICY_RISK_UNKNOWN : POLICY_RISK_LOW;
}

/* The analyzers are visited in the order of analyzer_guards(). */
static enum policy_risk next_guard(struct evidence *evidence)
{
    size_t i = evidence->n_guards++;

    return i < evidence->call->n_guards ? evidence->call->guards[i] : POLICY_RISK_UNKNOWN;
}

static enum policy_risk judge(const json_t *analyzer, struct evidence *evidence, size_t depth);

/* NOLINTNEXTLINE(misc-no-recursion): ANALYZER_MAX_DEPTH caps the depth */
static enum policy_risk judge_together(const json_t *ensemble, struct evidence *evidence,
                                       size_t depth)
{
    const json_t *members = json_object_get(ensemble, "analyzers");
    enum policy_risk worst = POLICY_RISK_UNKNOWN;
    bool has_unknown = false;

    if (depth > ANALYZER_MAX_DEPTH)
        return POLICY_RISK_UNKNOWN;
    for (size_t i = 0; i < json_array_size(members); i++) {
        enum policy_risk risk = judge(json_array_get(members, i), evidence, depth);

        worst = higher(worst, risk);
        has_unknown = has_unknown || risk == POLICY_RISK_UNKNOWN;
    }
    if (has_unknown && worst != POLICY_RISK_HIGH &&
        json_bool_or(ensemble, "propagate_unknown", 0) != 0)
        return POLICY_RISK_UNKNOWN;
    return worst;
}

/* depth: of ensembles around the analyzer */
/* NOLINTNEXTLINE(misc-no-recursion): ANALYZER_MAX_DEPTH caps the depth */
static enum policy_risk judge(const json_t *analyzer, struct evidence *evidence, size_t depth)
{
    const char *kind = json_text_or(analyzer, "kind", "");

    if (text_equal(kind, ANALYZER_GUARD))
        return next_guard(evidence);
    if (text_equal(kind, ANALYZER_ENSEMBLE))
        return judge_together(analyzer, evidence, depth + 1);
    if (text_equal(kind, "PatternSecurityAnalyzer"))
        return judge_by_patterns(evidence);
    if (text_equal(kind, "PolicyRailSecurityAnalyzer"))
        return judge_by_rails(evidence);
    return text_equal(kind, "LLMSecurityAnalyzer") ? evidence->call->own : POLICY_RISK_UNKNOWN;
}

static void evidence_done(struct evidence *evidence)
{
    call_text_done(&evidence->text);
}

enum policy_risk security_analyzer_judge(const json_t *analyzer, const struct security_call *call)
{
    CLEANUP(evidence_done) struct evidence evidence = {.call = call, .text = CALL_TEXT_INIT};

    return judge(analyzer, &evidence, 0);
}
