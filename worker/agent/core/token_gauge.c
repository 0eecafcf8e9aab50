#include "worker/agent/core/token_gauge.h"

#include "base/text.h"

/* Without a report, estimates are taken as a little too low. */
#define MARGIN 1.1
/* A report further off than this counts something else, such as the uncached part of a prompt. */
#define SCALE_MIN 0.25
#define SCALE_MAX 4.0
/* A smaller context does not hold an agent's prompt. */
enum { WINDOW_MIN_TOKENS = 1024 };
/* The growth of a prompt that no tokenizer hides. */
enum { GROWTH_MIN_TOKENS = 500, GROWTH_SHARE = 10 };

void token_gauge_done(struct token_gauge *gauge)
{
    if (gauge != NULL)
        strbuf_done(&gauge->model);
}

static bool is_of(const struct token_gauge *gauge, const char *model)
{
    return gauge->model.len > 0 && text_equal(gauge->model.text, model);
}

static void restart(struct token_gauge *gauge, const char *model)
{
    strbuf_done(&gauge->model);
    *gauge = (struct token_gauge)TOKEN_GAUGE_INIT;
    strbuf_append(&gauge->model, model);
}

/* True if the prompt has clearly grown, and its count has not: it stays just below a limit. */
static bool is_cut(const struct token_gauge *gauge, const struct token_prompt *prompt,
                   int64_t n_reported)
{
    return gauge->n_reported > 0 && prompt->generation == gauge->generation &&
           n_reported >= WINDOW_MIN_TOKENS &&
           prompt->n_text >= gauge->n_text + GROWTH_MIN_TOKENS + gauge->n_text / GROWTH_SHARE &&
           n_reported <= gauge->n_reported && n_reported >= gauge->n_reported / 4 * 3;
}

static void note_scale(struct token_gauge *gauge, const struct token_prompt *prompt,
                       int64_t n_reported)
{
    double scale = prompt->n_estimated > 0 ? (double)n_reported / (double)prompt->n_estimated : 0;

    if (scale >= SCALE_MIN && scale <= SCALE_MAX)
        gauge->scale = scale;
}

bool token_gauge_note(struct token_gauge *gauge, const struct token_prompt *prompt,
                      int64_t n_reported)
{
    bool was_known = false;

    if (n_reported <= 0)
        return false;
    if (!is_of(gauge, prompt->model))
        restart(gauge, prompt->model);
    was_known = gauge->window_tokens > 0;
    if (is_cut(gauge, prompt, n_reported)) {
        gauge->window_tokens = gauge->n_reported;
        return !was_known;
    }
    if (n_reported > gauge->window_tokens)
        gauge->window_tokens = 0;
    /* The count of a cut prompt says nothing of its text. */
    if (gauge->window_tokens == 0)
        note_scale(gauge, prompt, n_reported);
    if (prompt->generation != gauge->generation || n_reported > gauge->n_reported) {
        gauge->generation = prompt->generation;
        gauge->n_text = prompt->n_text;
        gauge->n_reported = n_reported;
    }
    return false;
}

double token_gauge_scale(const struct token_gauge *gauge, const char *model)
{
    return is_of(gauge, model) && gauge->scale > 0 ? gauge->scale : MARGIN;
}

int64_t token_gauge_window(const struct token_gauge *gauge, const char *model)
{
    return is_of(gauge, model) ? gauge->window_tokens : 0;
}
