#include "base/pattern.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/pattern_op.h"

/* Where to go on when what is tried now fails; or where a look ahead began. */
struct way {
    size_t op;
    const char *at;
    bool is_look;
    uint32_t look; /* of one that began: the one that it is in */
};

struct match {
    const struct pattern *pattern;
    const char *text;
    size_t len;
    size_t op;
    const char *at;
    struct way *ways;
    size_t n_ways;
    size_t size;
    uint32_t look;       /* ahead, that is under way; 0: none */
    uint32_t n_looks;    /* that have begun */
    uint32_t *was_there; /* for each op and place: 1 + the look that was there last */
    size_t n_steps;
};

enum outcome { GOES_ON, FAILS, MATCHES };

static void push(struct match *match, const struct way *way)
{
    if (match->n_ways == match->size) {
        match->size = match->size == 0 ? 64 : 2 * match->size;
        match->ways = mem_resize(match->ways, match->size * sizeof(*match->ways));
    }
    match->ways[match->n_ways++] = *way;
}

/* Behind what was looked at, where the look began. */
static void go_behind(struct match *match, const struct way *look)
{
    match->look = look->look;
    match->at = look->at;
    match->op = look->op + (size_t)match->pattern->ops[look->op].first;
}

/* The newest way that is left; a look ahead that has none is decided. */
static bool turn_back(struct match *match)
{
    while (match->n_ways > 0) {
        const struct way way = match->ways[--match->n_ways];

        if (!way.is_look) {
            match->op = way.op;
            match->at = way.at;
            return true;
        }
        if (match->pattern->ops[way.op].kind == OP_NOT_AHEAD) {
            go_behind(match, &way);
            return true;
        }
        match->look = way.look;
    }
    return false;
}

/* What is ahead matches: the ways within it are forgotten. */
static enum outcome end_look(struct match *match)
{
    struct way look = {.is_look = false};

    assert(match->ways != NULL);
    while (!look.is_look)
        look = match->ways[--match->n_ways];
    if (match->pattern->ops[look.op].kind == OP_NOT_AHEAD) {
        match->look = look.look;
        return FAILS;
    }
    go_behind(match, &look);
    return GOES_ON;
}

static bool is_word(const char *at)
{
    return isalnum((unsigned char)*at) || *at == '_';
}

static bool is_edge(const struct match *match)
{
    bool before = match->at > match->text && is_word(match->at - 1);

    return before != is_word(match->at);
}

static enum outcome pass(struct match *match, bool may_pass)
{
    match->op += may_pass ? 1 : 0;
    return may_pass ? GOES_ON : FAILS;
}

static enum outcome take_byte(struct match *match, const struct pattern_op *op)
{
    unsigned char byte = (unsigned char)*match->at;

    if (byte == '\0' || (op->set[byte / 64] >> byte % 64 & 1) == 0)
        return FAILS;
    match->at++;
    return pass(match, true);
}

static enum outcome split(struct match *match, const struct pattern_op *op)
{
    push(match, &(struct way){match->op + (size_t)op->second, match->at, false, 0});
    match->op += (size_t)op->first;
    return GOES_ON;
}

static enum outcome look(struct match *match)
{
    push(match, &(struct way){match->op++, match->at, true, match->look});
    match->look = ++match->n_looks;
    return GOES_ON;
}

static enum outcome step(struct match *match)
{
    const struct pattern_op *op = &match->pattern->ops[match->op];

    switch (op->kind) {
    case OP_SET:
        return take_byte(match, op);
    case OP_SPLIT:
        return split(match, op);
    case OP_JUMP:
        match->op += (size_t)op->first;
        return GOES_ON;
    case OP_BEGIN:
        return pass(match, match->at == match->text);
    case OP_END:
        return pass(match, *match->at == '\0' || strcmp(match->at, "\n") == 0);
    case OP_VERY_END:
        return pass(match, *match->at == '\0');
    case OP_EDGE:
        return pass(match, is_edge(match));
    case OP_NO_EDGE:
        return pass(match, !is_edge(match));
    case OP_AHEAD:
    case OP_NOT_AHEAD:
        return look(match);
    case OP_AHEAD_END:
        return end_look(match);
    case OP_MATCH:
        return MATCHES;
    }
    return FAILS;
}

/*
 * True the first time that this op is come to at this place: what failed once, fails again. But how
 * a look ahead goes on depends on where it began, so each has its own first times.
 */
static bool is_new(struct match *match)
{
    size_t place = match->op * (match->len + 1) + (size_t)(match->at - match->text);
    bool was_there = match->was_there[place] == match->look + 1;

    match->was_there[place] = match->look + 1;
    return !was_there;
}

static bool run(struct match *match)
{
    while (++match->n_steps <= PATTERN_MAX_STEPS) {
        enum outcome outcome = is_new(match) ? step(match) : FAILS;

        if (outcome == MATCHES)
            return true;
        if (outcome == FAILS && !turn_back(match))
            return false;
    }
    return false;
}

bool pattern_matches(const struct pattern *pattern, const char *text)
{
    struct match match = {.pattern = pattern, .text = text, .len = strlen(text), .at = text};
    bool matches = false;

    match.was_there = mem_alloc_array(pattern->n * (match.len + 1), sizeof(*match.was_there));
    matches = run(&match);
    mem_free(match.was_there);
    mem_free(match.ways);
    return matches;
}

void pattern_free(struct pattern *pattern)
{
    if (pattern == NULL)
        return;
    mem_free(pattern->ops);
    mem_free(pattern);
}

void pattern_freep(struct pattern **pattern)
{
    pattern_free(*pattern);
}
