#include "base/pattern.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/pattern_op.h"
#include "base/text.h"

enum { DEPTH_MAX = 50, REPEAT_MAX = 1000, NO_ATOM = -1, WITHOUT_END = -1 };

/* An open bracket, or the whole. */
struct level {
    size_t begin;     /* its first op */
    size_t branch;    /* the first op of the alternative that is read now */
    size_t last_jump; /* to its end: the newest, and each says the one before; 0: none */
    bool looks_ahead;
};

struct maker {
    struct pattern *pattern;
    const char *at;
    bool ignores_case;
    long atom; /* where what a `*` would repeat begins */
    struct level levels[DEPTH_MAX];
    size_t n_levels;
};

static int complain(const struct maker *maker, const char *what, struct error *err)
{
    return error_set(err, ERROR_INVALID, "%s before '%.20s'", what, maker->at);
}

/* --- ops --- */

static int add_op(struct maker *maker, const struct pattern_op *op, struct error *err)
{
    struct pattern *pattern = maker->pattern;

    if (pattern->n == PATTERN_MAX_OPS)
        return error_set(err, ERROR_UNSUPPORTED, "the pattern is too large");
    if (pattern->n == pattern->size) {
        pattern->size = pattern->size == 0 ? 32 : 2 * pattern->size;
        pattern->ops = mem_resize(pattern->ops, pattern->size * sizeof(*pattern->ops));
    }
    pattern->ops[pattern->n++] = *op;
    return 0;
}

static int add_kind(struct maker *maker, enum pattern_op_kind kind, struct error *err)
{
    return add_op(maker, &(struct pattern_op){.kind = kind}, err);
}

static int insert_op(struct maker *maker, size_t where, const struct pattern_op *op,
                     struct error *err)
{
    struct pattern *pattern = maker->pattern;

    if (add_op(maker, op, err) < 0)
        return -1;
    memmove(&pattern->ops[where + 1], &pattern->ops[where], (pattern->n - 1 - where) * sizeof(*op));
    pattern->ops[where] = *op;
    return 0;
}

/* --- sets --- */

static void set_add(struct pattern_op *op, unsigned char byte)
{
    op->set[byte / 64] |= UINT64_C(1) << byte % 64;
}

static void set_add_range(struct pattern_op *op, int from, int to)
{
    for (int byte = from; byte <= to; byte++)
        set_add(op, (unsigned char)byte);
}

static bool is_in_class(char name, int byte)
{
    if (name == 'd')
        return isdigit(byte);
    if (name == 's')
        return isspace(byte);
    return isalnum(byte) || byte == '_' || byte > 127;
}

/* \d \w \s and their opposites, in capitals; false for another letter. */
static bool set_add_class(struct pattern_op *op, char letter)
{
    char name = (char)tolower((unsigned char)letter);

    if (letter == '\0' || strchr("dws", name) == NULL)
        return false;
    for (int byte = 1; byte < 256; byte++) {
        if (is_in_class(name, byte) == (letter == name))
            set_add(op, (unsigned char)byte);
    }
    return true;
}

static void set_turn(struct pattern_op *op)
{
    for (size_t i = 0; i < ARRAY_SIZE(op->set); i++)
        op->set[i] = ~op->set[i];
}

static void set_add_other_case(struct pattern_op *op)
{
    for (int letter = 'a'; letter <= 'z'; letter++) {
        bool has_small = (op->set[letter / 64] >> letter % 64 & 1) != 0;
        bool has_large = (op->set[toupper(letter) / 64] >> toupper(letter) % 64 & 1) != 0;

        if (has_small || has_large) {
            set_add(op, (unsigned char)letter);
            set_add(op, (unsigned char)toupper(letter));
        }
    }
}

static int add_set(struct maker *maker, struct pattern_op *op, struct error *err)
{
    if (maker->ignores_case)
        set_add_other_case(op);
    maker->atom = (long)maker->pattern->n;
    return add_op(maker, op, err);
}

static int read_hex(struct maker *maker, unsigned char *byte_out, struct error *err)
{
    char digits[3] = {maker->at[0]};

    if (digits[0] != '\0')
        digits[1] = maker->at[1];
    if (!isxdigit((unsigned char)digits[0]) || !isxdigit((unsigned char)digits[1]))
        return complain(maker, "\\x wants two digits", err);
    *byte_out = (unsigned char)strtoul(digits, NULL, 16);
    maker->at += 2;
    return 0;
}

/* The byte that the escape behind a backslash stands for. */
static int read_escaped(struct maker *maker, unsigned char *byte_out, struct error *err)
{
    static const char letters[] = "tnrfva";
    static const char bytes[] = "\t\n\r\f\v\a";
    char letter = *maker->at;
    const char *known = letter == '\0' ? NULL : strchr(letters, letter);

    if (letter == '\0')
        return complain(maker, "a backslash alone", err);
    maker->at++;
    if (letter == 'x')
        return read_hex(maker, byte_out, err);
    if (known == NULL && isalnum((unsigned char)letter))
        return error_set(err, ERROR_UNSUPPORTED, "\\%c is not known here", letter);
    *byte_out = (unsigned char)(known != NULL ? bytes[known - letters] : letter);
    return 0;
}

/* One byte of "[…]", or a class of it (*is_class_out), which is added to op. */
static int read_member(struct maker *maker, struct pattern_op *op, unsigned char *byte_out,
                       bool *is_class_out, struct error *err)
{
    *is_class_out = false;
    if (*maker->at != '\\') {
        *byte_out = (unsigned char)*maker->at++;
        return 0;
    }
    maker->at++;
    *is_class_out = set_add_class(op, *maker->at);
    if (*is_class_out) {
        maker->at++;
        return 0;
    }
    if (*maker->at == 'b') {
        maker->at++;
        *byte_out = '\b';
        return 0;
    }
    return read_escaped(maker, byte_out, err);
}

static int read_range(struct maker *maker, struct pattern_op *op, struct error *err)
{
    unsigned char from = 0;
    unsigned char to = 0;
    bool is_class = false;

    if (read_member(maker, op, &from, &is_class, err) < 0)
        return -1;
    if (is_class)
        return 0;
    if (maker->at[0] != '-' || maker->at[1] == ']' || maker->at[1] == '\0') {
        set_add(op, from);
        return 0;
    }
    maker->at++;
    if (read_member(maker, op, &to, &is_class, err) < 0)
        return -1;
    if (is_class || to < from)
        return complain(maker, "a bad range", err);
    set_add_range(op, from, to);
    return 0;
}

/* Behind the '['; a ']' at the beginning is a member. */
static int read_set(struct maker *maker, struct error *err)
{
    struct pattern_op op = {.kind = OP_SET};
    bool is_turned = *maker->at == '^';
    bool is_first = true;

    maker->at += is_turned ? 1 : 0;
    while (is_first || *maker->at != ']') {
        if (*maker->at == '\0')
            return complain(maker, "a '[' is not closed", err);
        if (read_range(maker, &op, err) < 0)
            return -1;
        is_first = false;
    }
    maker->at++;
    if (maker->ignores_case)
        set_add_other_case(&op);
    if (is_turned)
        set_turn(&op);
    maker->atom = (long)maker->pattern->n;
    return add_op(maker, &op, err);
}

/* --- brackets and alternatives --- */

static int open_level(struct maker *maker, enum pattern_op_kind kind, struct error *err)
{
    struct level *level = &maker->levels[maker->n_levels];
    bool looks_ahead = kind != OP_MATCH;

    if (maker->n_levels == DEPTH_MAX)
        return error_set(err, ERROR_UNSUPPORTED, "the pattern is too deep");
    *level = (struct level){.begin = maker->pattern->n, .looks_ahead = looks_ahead};
    if (looks_ahead && add_kind(maker, kind, err) < 0)
        return -1;
    level->branch = maker->pattern->n;
    maker->n_levels++;
    maker->atom = NO_ATOM;
    return 0;
}

/* Behind a '('. */
static int open_bracket(struct maker *maker, struct error *err)
{
    const char *name_end = NULL;

    if (*maker->at != '?')
        return open_level(maker, OP_MATCH, err);
    maker->at += 2;
    if (maker->at[-1] == ':')
        return open_level(maker, OP_MATCH, err);
    if (maker->at[-1] == '=')
        return open_level(maker, OP_AHEAD, err);
    if (maker->at[-1] == '!')
        return open_level(maker, OP_NOT_AHEAD, err);
    if (text_starts_with(maker->at - 1, "P<"))
        name_end = strchr(maker->at, '>');
    if (name_end == NULL)
        return error_set(err, ERROR_UNSUPPORTED, "this kind of bracket is not known here");
    maker->at = name_end + 1;
    return open_level(maker, OP_MATCH, err);
}

static int add_alternative(struct maker *maker, struct error *err)
{
    struct level *level = &maker->levels[maker->n_levels - 1];
    const struct pattern *pattern = maker->pattern;
    struct pattern_op split = {.kind = OP_SPLIT, .first = 1};
    struct pattern_op jump = {.kind = OP_JUMP, .first = (int)level->last_jump};

    split.second = (int)(pattern->n - level->branch) + 2;
    if (insert_op(maker, level->branch, &split, err) < 0 || add_op(maker, &jump, err) < 0)
        return -1;
    level->last_jump = pattern->n - 1;
    level->branch = pattern->n;
    maker->atom = NO_ATOM;
    return 0;
}

/* An alternative's jump is never op 0: a split stands before it. */
static void end_level(struct maker *maker)
{
    const struct level *level = &maker->levels[--maker->n_levels];
    struct pattern *pattern = maker->pattern;
    size_t jump = level->last_jump;

    while (jump != 0) {
        size_t before = (size_t)pattern->ops[jump].first;

        pattern->ops[jump].first = (int)(pattern->n - jump);
        jump = before;
    }
}

static int close_bracket(struct maker *maker, struct error *err)
{
    const struct level level = maker->levels[maker->n_levels - 1];

    if (maker->n_levels == 1)
        return complain(maker, "a ')' without a '('", err);
    end_level(maker);
    if (level.looks_ahead) {
        if (add_kind(maker, OP_AHEAD_END, err) < 0)
            return -1;
        maker->pattern->ops[level.begin].first = (int)(maker->pattern->n - level.begin);
    }
    maker->atom = (long)level.begin;
    return 0;
}

/* --- repeats --- */

struct repeat {
    long least;
    long most; /* or WITHOUT_END */
    bool is_lazy;
};

static int add_split(struct maker *maker, const struct repeat *repeat, int go, int leave,
                     struct error *err)
{
    const struct pattern_op op = {.kind = OP_SPLIT,
                                  .first = repeat->is_lazy ? leave : go,
                                  .second = repeat->is_lazy ? go : leave};

    return add_op(maker, &op, err);
}

static int add_part(struct maker *maker, const struct pattern_op *part, size_t len,
                    struct error *err)
{
    for (size_t i = 0; i < len; i++) {
        if (add_op(maker, &part[i], err) < 0)
            return -1;
    }
    return 0;
}

/* What comes behind the repetitions that must be. */
static int add_optional(struct maker *maker, const struct repeat *repeat,
                        const struct pattern_op *part, size_t len, struct error *err)
{
    const struct pattern_op again = {.kind = OP_JUMP, .first = -(int)len - 1};

    if (repeat->most == WITHOUT_END)
        return add_split(maker, repeat, 1, (int)len + 2, err) < 0 ||
                       add_part(maker, part, len, err) < 0 || add_op(maker, &again, err) < 0
                   ? -1
                   : 0;
    for (long i = repeat->least; i < repeat->most; i++) {
        if (add_split(maker, repeat, 1, (int)len + 1, err) < 0 ||
            add_part(maker, part, len, err) < 0)
            return -1;
    }
    return 0;
}

static int repeat_atom(struct maker *maker, const struct repeat *repeat, struct error *err)
{
    struct pattern *pattern = maker->pattern;
    size_t begin = (size_t)maker->atom;
    size_t len = pattern->n - begin;
    struct pattern_op *part = mem_alloc_array(len, sizeof(*part));
    int rc = 0;

    if (len > 0)
        memcpy(part, &pattern->ops[begin], len * sizeof(*part));
    pattern->n = begin;
    for (long i = 0; i < repeat->least && rc == 0; i++)
        rc = add_part(maker, part, len, err);
    if (rc == 0)
        rc = add_optional(maker, repeat, part, len, err);
    mem_free(part);
    maker->atom = NO_ATOM;
    return rc;
}

static long read_count(const char **at)
{
    char *end = NULL;
    long count = isdigit((unsigned char)**at) ? strtol(*at, &end, 10) : -1;

    if (end != NULL)
        *at = end;
    return count;
}

/* {m} {m,} {,n} {m,n}; false when the '{' is one that stands for itself. */
static bool read_counts(struct maker *maker, struct repeat *repeat)
{
    const char *at = maker->at + 1;
    long least = read_count(&at);
    long most = least;

    if (*at == ',') {
        at++;
        most = read_count(&at);
        if (least < 0 && most < 0)
            return false;
    }
    if (*at != '}' || (least < 0 && most < 0))
        return false;
    maker->at = at + 1;
    *repeat =
        (struct repeat){.least = least < 0 ? 0 : least, .most = most < 0 ? WITHOUT_END : most};
    return true;
}

/* True when there is one; maker->at is behind it then. */
static bool read_repeat(struct maker *maker, struct repeat *repeat)
{
    char sign = *maker->at;

    if (sign == '{') {
        if (!read_counts(maker, repeat))
            return false;
    } else if (sign == '*' || sign == '+' || sign == '?') {
        *repeat = (struct repeat){.least = sign == '+', .most = sign == '?' ? 1 : WITHOUT_END};
        maker->at++;
    } else {
        return false;
    }
    repeat->is_lazy = *maker->at == '?';
    maker->at += repeat->is_lazy ? 1 : 0;
    return true;
}

static int apply_repeat(struct maker *maker, const struct repeat *repeat, struct error *err)
{
    if (maker->atom == NO_ATOM)
        return complain(maker, "nothing to repeat", err);
    if (repeat->least > REPEAT_MAX || repeat->most > REPEAT_MAX)
        return error_set(err, ERROR_UNSUPPORTED, "the pattern repeats too much");
    if (repeat->most != WITHOUT_END && repeat->most < repeat->least)
        return complain(maker, "the least repetitions are more than the most", err);
    return repeat_atom(maker, repeat, err);
}

/* --- the rest --- */

static int add_place(struct maker *maker, enum pattern_op_kind kind, struct error *err)
{
    maker->atom = NO_ATOM;
    return add_kind(maker, kind, err);
}

/* Behind a backslash that is in no set. */
static int read_escape(struct maker *maker, struct error *err)
{
    static const char letters[] = "AZbB";
    static const enum pattern_op_kind kinds[] = {OP_BEGIN, OP_VERY_END, OP_EDGE, OP_NO_EDGE};
    struct pattern_op op = {.kind = OP_SET};
    const char *place = *maker->at == '\0' ? NULL : strchr(letters, *maker->at);
    unsigned char byte = 0;

    if (place != NULL) {
        maker->at++;
        return add_place(maker, kinds[place - letters], err);
    }
    if (set_add_class(&op, *maker->at)) {
        maker->at++;
        return add_set(maker, &op, err);
    }
    if (read_escaped(maker, &byte, err) < 0)
        return -1;
    set_add(&op, byte);
    return add_set(maker, &op, err);
}

static int read_plain(struct maker *maker, char sign, struct error *err)
{
    struct pattern_op op = {.kind = OP_SET};

    if (sign == '^')
        return add_place(maker, OP_BEGIN, err);
    if (sign == '$')
        return add_place(maker, OP_END, err);
    set_add(&op, sign == '.' ? '\n' : (unsigned char)sign);
    if (sign == '.')
        set_turn(&op);
    return add_set(maker, &op, err);
}

static int read_one(struct maker *maker, struct error *err)
{
    struct repeat repeat = {0};
    char sign = *maker->at;

    if (read_repeat(maker, &repeat))
        return apply_repeat(maker, &repeat, err);
    maker->at++;
    switch (sign) {
    case '|':
        return add_alternative(maker, err);
    case '(':
        return open_bracket(maker, err);
    case ')':
        return close_bracket(maker, err);
    case '[':
        return read_set(maker, err);
    case '\\':
        return read_escape(maker, err);
    default:
        return read_plain(maker, sign, err);
    }
}

static int make(struct maker *maker, struct error *err)
{
    if (text_starts_with(maker->at, "(?i)")) {
        maker->ignores_case = true;
        maker->at += strlen("(?i)");
    }
    if (open_level(maker, OP_MATCH, err) < 0)
        return -1;
    while (*maker->at != '\0') {
        if (read_one(maker, err) < 0)
            return -1;
    }
    if (maker->n_levels != 1)
        return complain(maker, "a '(' is not closed", err);
    end_level(maker);
    return add_kind(maker, OP_MATCH, err);
}

int pattern_new(const char *text, struct pattern **pattern_out, struct error *err)
{
    CLEANUP(pattern_freep) struct pattern *pattern = NEW(struct pattern);
    struct maker maker = {.pattern = pattern, .at = text};

    if (make(&maker, err) < 0)
        return -1;
    *pattern_out = TAKE_PTR(pattern);
    return 0;
}
