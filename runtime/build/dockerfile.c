#include "runtime/build/dockerfile.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

/* Maximum of one instruction, and of all joined lines, since lines may be read more than once. */
#define INSTRUCTION_MAX_BYTES (64UL * 1024)
#define JOINED_MAX_BYTES (2UL * 1024 * 1024)
#define IMAGES_MAX 200
/* Maximum number of values of one name with variables. */
#define MEANINGS_MAX 32
#define EXPANSION_MAX_BYTES 1024
#define EXPANSION_MAX_DEPTH 8
/* Expanded variables in total; those in values of variables count at each use. */
#define EXPANSIONS_MAX 2000

/* Separators of words, and trailing characters that builders strip from lines. */
#define BLANKS " \t\v\f\r"
/* Removed from words by shells and builders. */
#define QUOTES "\"'\\`"

struct reader {
    const char *at; /* rest of the text */
    const char *end;
    char escape;
    json_t *arguments; /* ARGs before the first FROM: name → list of values */
    json_t *late;      /* ARGs after it, likewise */
    bool has_from;     /* first FROM was read */
    struct dockerfile_images *images;
    size_t n_joined;     /* bytes so far */
    size_t n_expansions; /* expanded variables so far */
};

/* --- lines --- */

/* Length of the white space at `at`, Unicode's included, which builders strip before an
 * instruction; or 0. */
static size_t blank_len(const char *at, const char *end)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9",
        "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf",
    };

    if (at == end)
        return 0;
    if (strchr(BLANKS, *at) != NULL && *at != '\0')
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(wide); i++) {
        size_t len = strlen(wide[i]);

        if ((size_t)(end - at) >= len && memcmp(at, wide[i], len) == 0)
            return len;
    }
    /* U+2000 to U+200A */
    if (end - at >= 3 && memcmp(at, "\xe2\x80", 2) == 0 && (unsigned char)at[2] >= 0x80 &&
        (unsigned char)at[2] <= 0x8a)
        return 3;
    return 0;
}

static const char *skip_blanks(const char *at, const char *end)
{
    size_t len = 0;

    while ((len = blank_len(at, end)) > 0)
        at += len;
    return at;
}

static const char *line_end(const char *at, const char *end)
{
    const char *found = memchr(at, '\n', (size_t)(end - at));

    return found != NULL ? found : end;
}

/* Appends the line without its continuation character; returns whether it had one. */
static bool append_line(struct strbuf *out, const char *at, const char *end, char escape)
{
    while (end > at && strchr(BLANKS, end[-1]) != NULL)
        end--;
    if (end > at && end[-1] == escape) {
        strbuf_append_bytes(out, at, (size_t)(end - 1 - at));
        return true;
    }
    strbuf_append_bytes(out, at, (size_t)(end - at));
    return false;
}

/* Joins the instruction that begins at a line with its possible continuation lines. */
static int join(struct reader *reader, const char *at, struct strbuf *out, struct error *err)
{
    bool goes_on = true;

    while (goes_on && at < reader->end) {
        const char *end = line_end(at, reader->end);
        const char *begin = skip_blanks(at, end);
        bool is_skipped = out->len > 0 && (begin == end || *begin == '#');

        if (!is_skipped)
            goes_on = append_line(out, out->len > 0 ? at : begin, end, reader->escape);
        reader->n_joined += (size_t)(end - at) + 1;
        if (out->len > INSTRUCTION_MAX_BYTES || reader->n_joined > JOINED_MAX_BYTES)
            return error_set(err, ERROR_INVALID, "Dockerfile: an instruction is too long");
        at = end < reader->end ? end + 1 : end;
    }
    return 0;
}

/* --- words --- */

/* Reads the next word; false at the end. */
static bool next_word(const char **at, struct strbuf *word)
{
    const char *begin = *at + strspn(*at, BLANKS "\n");
    size_t len = strcspn(begin, BLANKS "\n");

    strbuf_reset(word);
    strbuf_append_bytes(word, begin, len);
    *at = begin + len;
    return len > 0;
}

static void append_plain(struct strbuf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (strchr(QUOTES, text[i]) == NULL)
            strbuf_append_char(out, text[i]);
    }
}

/* --- variables --- */

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_';
}

static bool has_text(const json_t *list, const char *text)
{
    const json_t *one = NULL;
    size_t i = 0;

    json_array_foreach (list, i, one) {
        if (text_equal(json_string_value(one), text))
            return true;
    }
    return false;
}

static void add_text(json_t *list, const char *text)
{
    if (!has_text(list, text))
        json_push(list, json_text_of(text));
}

/* A new reference. */
static json_t *list_of(const char *text)
{
    json_t *list = json_array();

    json_push(list, json_text_of(text));
    return list;
}

/* ARG NAME=value: adds one of the name's possible values. */
static void take_argument(json_t *arguments, const char *word)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    const char *equals = strchr(word, '=');
    json_t *values = NULL;

    if (equals == NULL)
        return;
    append_plain(&name, word, (size_t)(equals - word));
    append_plain(&value, equals + 1, strlen(equals + 1));
    if (name.len == 0)
        return;
    values = json_object_get(arguments, name.text);
    if (values == NULL) {
        values = json_array();
        json_put(arguments, name.text, values);
    }
    /* One value above the limit is kept, so that a use is refused. */
    if (json_array_size(values) <= MEANINGS_MAX)
        add_text(values, value.len > 0 ? value.text : "");
}

static int refuse_variable(const char *text, struct error *err)
{
    return error_set(err, ERROR_INVALID,
                     "Dockerfile: which image '%.100s' means cannot be told; name it without "
                     "variables",
                     text);
}

/* Combines each text with each ending. */
static int multiply(json_t **texts_io, const json_t *endings, const char *source, struct error *err)
{
    json_auto_t *texts = *texts_io;
    const json_t *text = NULL;
    size_t i = 0;

    *texts_io = json_array();
    json_array_foreach (texts, i, text) {
        const json_t *ending = NULL;
        size_t j = 0;

        json_array_foreach (endings, j, ending) {
            CLEANUP(strbuf_done) struct strbuf both = STRBUF_INIT;

            strbuf_appendf(&both, "%s%s", json_string_value(text), json_string_value(ending));
            add_text(*texts_io, both.text);
            if (both.len > EXPANSION_MAX_BYTES || json_array_size(*texts_io) > MEANINGS_MAX)
                return refuse_variable(source, err);
        }
    }
    return 0;
}

/* True unless an ARG after the first FROM adds a value. */
static bool is_settled(const struct reader *reader, const char *name)
{
    const json_t *before = json_object_get(reader->arguments, name);
    const json_t *value = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(reader->late, name), i, value) {
        if (!has_text(before, json_string_value(value)))
            return false;
    }
    return true;
}

static int expand(struct reader *reader, const char *text, int depth, json_t **meanings_io,
                  struct error *err);

/*
 * Possible values of "$NAME", "${NAME}", "${NAME-word}" or "${NAME:-word}" in FROM, where only ARGs
 * before the first FROM count. A name with another value later is refused, since builders and this
 * reader may disagree on which FROM is the first. *at_io moves past the variable.
 */
static int expand_variable(struct reader *reader, const char **at_io, int depth,
                           json_t **meanings_io, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;
    json_auto_t *endings = json_array();
    const json_t *values = NULL;
    const char *source = *at_io;
    const char *at = source + 1;
    bool has_brace = *at == '{';
    const json_t *value = NULL;
    size_t i = 0;

    at += has_brace;
    while (is_name_char(*at))
        strbuf_append_char(&name, *at++);
    if (name.len == 0 || ++reader->n_expansions > EXPANSIONS_MAX)
        return refuse_variable(source, err);
    if (has_brace && *at != '}') {
        size_t len = 0;

        at += *at == ':';
        len = *at == '-' ? strcspn(at + 1, "}") : 0;
        if (*at != '-' || at[1 + len] != '}' || memchr(at + 1, '$', len) != NULL)
            return refuse_variable(source, err);
        append_plain(&word, at + 1, len);
        at += 1 + len;
    }
    *at_io = at + has_brace;
    if (!is_settled(reader, name.text))
        return refuse_variable(source, err);
    /* Some forms treat an empty value as unset: the default word is another possible value. */
    values = json_object_get(reader->arguments, name.text);
    if (json_array_size(values) == 0 || has_text(values, ""))
        add_text(endings, word.text);
    json_array_foreach (values, i, value) {
        json_auto_t *texts = list_of("");

        if (expand(reader, json_string_value(value), depth + 1, &texts, err) < 0)
            return -1;
        if (json_array_extend(endings, texts) < 0)
            return error_set(err, ERROR_INTERNAL, "out of memory");
    }
    return multiply(meanings_io, endings, source, err);
}

/* Appends the text to each value, with variables expanded and quotes removed. */
static int expand(struct reader *reader, const char *text, int depth, json_t **meanings_io,
                  struct error *err)
{
    const char *at = text;

    if (depth > EXPANSION_MAX_DEPTH)
        return refuse_variable(text, err);
    while (*at != '\0') {
        CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
        size_t len = strcspn(at, "$");
        json_auto_t *ending = NULL;

        append_plain(&plain, at, len);
        ending = list_of(plain.len > 0 ? plain.text : "");
        at += len;
        if (multiply(meanings_io, ending, text, err) < 0 ||
            (*at == '$' && expand_variable(reader, &at, depth, meanings_io, err) < 0))
            return -1;
    }
    return 0;
}

/* --- images and sources --- */

static int take_image(struct reader *reader, json_t *images, const char *text, struct error *err)
{
    json_auto_t *meanings = list_of("");
    const json_t *one = NULL;
    size_t i = 0;

    if (expand(reader, text, 0, &meanings, err) < 0)
        return -1;
    json_array_foreach (meanings, i, one) {
        if (json_string_length(one) > 0)
            add_text(images, json_string_value(one));
    }
    if (json_array_size(images) > IMAGES_MAX)
        return error_set(err, ERROR_INVALID, "Dockerfile: names more than %d images", IMAGES_MAX);
    return 0;
}

/* Removes quotes, as builders do from flags. */
static void unquote(struct strbuf *word)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;

    append_plain(&plain, word->text, word->len);
    strbuf_reset(word);
    strbuf_append_bytes(word, plain.text != NULL ? plain.text : "", plain.len);
}

static bool is_flag(const char *word)
{
    return text_starts_with(word, "--");
}

/* FROM [--platform=…] image [AS name]: takes every word, since quotes may hide a flag's end. */
static int read_from(struct reader *reader, const char *rest, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;

    while (next_word(&rest, &word)) {
        if (!is_flag(word.text) && take_image(reader, reader->images->bases, word.text, err) < 0)
            return -1;
    }
    return 0;
}

/* COPY [--from=image] … */
static int read_copy(struct reader *reader, const char *rest, struct error *err)
{
    static const char flag[] = "--from=";
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;

    while (next_word(&rest, &word)) {
        unquote(&word);
        if (strncasecmp(word.text, flag, strlen(flag)) == 0 &&
            take_image(reader, reader->images->others, word.text + strlen(flag), err) < 0)
            return -1;
    }
    return 0;
}

/* --mount=type=bind,from=image,… */
static int take_mount(struct reader *reader, const char *flag, struct error *err)
{
    static const char key[] = "from=";

    for (const char *at = strcasestr(flag, key); at != NULL; at = strcasestr(at, key)) {
        CLEANUP(strbuf_done) struct strbuf image = STRBUF_INIT;

        at += strlen(key);
        strbuf_append_bytes(&image, at, strcspn(at, ","));
        if (image.len > 0 && take_image(reader, reader->images->others, image.text, err) < 0)
            return -1;
    }
    return 0;
}

/* RUN [--mount=…] … */
static int read_run(struct reader *reader, const char *rest, struct error *err)
{
    static const char flag[] = "--mount";
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;

    while (next_word(&rest, &word)) {
        unquote(&word);
        if (strncasecmp(word.text, flag, strlen(flag)) == 0 &&
            take_mount(reader, word.text, err) < 0)
            return -1;
    }
    return 0;
}

/* Whether a source of ADD is not a file of the context, with quotes and escapes removed. */
static bool is_remote(const char *source)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
    const char *tail = NULL;
    const char *user = NULL;

    append_plain(&plain, source, strlen(source));
    if (plain.len == 0)
        return false;
    tail = strcasestr(plain.text, ".git");
    user = strchr(plain.text, '@');
    return strstr(plain.text, "://") != NULL || (user != NULL && strchr(user, ':') != NULL) ||
           strncasecmp(plain.text, "github.com/", strlen("github.com/")) == 0 ||
           (tail != NULL && (tail[4] == '\0' || tail[4] == '#' || tail[4] == '?'));
}

static int check_source(const char *source, struct error *err)
{
    if (is_remote(source))
        return error_set(
            err, ERROR_INVALID,
            "Dockerfile: ADD fetches nothing here ('%.100s'); use RUN curl or RUN git, "
            "which run in the build's own network",
            source);
    if (strchr(source, '$') != NULL || strstr(source, "\\u") != NULL)
        return error_set(
            err, ERROR_INVALID,
            "Dockerfile: what ADD '%.100s' means cannot be told; use COPY for files of "
            "the context",
            source);
    return 0;
}

/* ADD ["source", …, "target"]; false if it is not a JSON list and has to be read as words. */
static bool read_add_list(const char *rest, int *rc_out, struct error *err)
{
    struct error ignored = ERROR_INIT;
    json_auto_t *list = NULL;

    if (rest[0] != '[' || json_parse(rest, strlen(rest), &list, &ignored) < 0)
        return false;
    *rc_out = 0;
    for (size_t i = 0; i + 1 < json_array_size(list) && *rc_out == 0; i++) {
        const char *source = json_string_value(json_array_get(list, i));

        *rc_out = source != NULL ? check_source(source, err) : 0;
    }
    return true;
}

/* ADD [--flags] source… target */
static int read_add(const char *rest, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf last = STRBUF_INIT;
    int rc = 0;

    rest += strspn(rest, BLANKS "\n");
    while (is_flag(rest)) {
        (void)next_word(&rest, &word);
        rest += strspn(rest, BLANKS "\n");
    }
    /* Quotes may hide where a flag ends and a list begins. */
    if (strchr(rest, '[') != NULL && rest[0] != '[' && strstr(rest, "\\u") != NULL)
        return check_source("\\u", err);
    if (read_add_list(rest, &rc, err))
        return rc;
    while (next_word(&rest, &word)) {
        if (last.len > 0 && check_source(last.text, err) < 0)
            return -1;
        strbuf_reset(&last);
        strbuf_append_bytes(&last, word.text, word.len);
    }
    return last.len > 0 && is_remote(last.text) ? check_source(last.text, err) : 0;
}

static int read_arguments(struct reader *reader, const char *rest)
{
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;

    while (next_word(&rest, &word))
        take_argument(reader->has_from ? reader->late : reader->arguments, word.text);
    return 0;
}

/* --- instructions --- */

enum pass { PASS_ARGUMENTS, PASS_IMAGES };

enum instruction {
    INSTRUCTION_ADD,
    INSTRUCTION_ARG,
    INSTRUCTION_COPY,
    INSTRUCTION_FROM,
    INSTRUCTION_ONBUILD,
    INSTRUCTION_RUN,
    INSTRUCTION_OTHER
};

static const char *const names[] = {
    [INSTRUCTION_ADD] = "ADD",   [INSTRUCTION_ARG] = "ARG",         [INSTRUCTION_COPY] = "COPY",
    [INSTRUCTION_FROM] = "FROM", [INSTRUCTION_ONBUILD] = "ONBUILD", [INSTRUCTION_RUN] = "RUN",
};

/* The instruction at the beginning of a text; *rest_out points past its name. */
static enum instruction find_instruction(const char *text, const char **rest_out)
{
    size_t len = strcspn(text, BLANKS "\n");

    *rest_out = text + len;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strlen(names[i]) == len && strncasecmp(text, names[i], len) == 0)
            return (enum instruction)i;
    }
    return INSTRUCTION_OTHER;
}

static int read_instruction(struct reader *reader, enum pass pass, const char *text,
                            struct error *err)
{
    const char *rest = NULL;
    enum instruction instruction = find_instruction(text, &rest);

    while (instruction == INSTRUCTION_ONBUILD)
        instruction = find_instruction(rest + strspn(rest, BLANKS "\n"), &rest);
    if (pass == PASS_ARGUMENTS) {
        reader->has_from = reader->has_from || instruction == INSTRUCTION_FROM;
        return instruction == INSTRUCTION_ARG ? read_arguments(reader, rest) : 0;
    }
    switch (instruction) {
    case INSTRUCTION_ADD:
        return read_add(rest, err);
    case INSTRUCTION_COPY:
        return read_copy(reader, rest, err);
    case INSTRUCTION_FROM:
        return read_from(reader, rest, err);
    case INSTRUCTION_RUN:
        return read_run(reader, rest, err);
    case INSTRUCTION_ARG:
    case INSTRUCTION_ONBUILD:
    case INSTRUCTION_OTHER:
        break;
    }
    return 0;
}

/* "# syntax = image": a front end that builders fetch; accepted on any line. */
static int read_directive(struct reader *reader, const char *at, const char *end, struct error *err)
{
    static const char key[] = "syntax";
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;

    while (at < end && (*at == '#' || *at == '/'))
        at++;
    at = skip_blanks(at, end);
    if ((size_t)(end - at) < strlen(key) || strncasecmp(at, key, strlen(key)) != 0)
        return 0;
    at = skip_blanks(at + strlen(key), end);
    if (at == end || *at != '=')
        return 0;
    at = skip_blanks(at + 1, end);
    strbuf_append_bytes(&value, at, (size_t)(end - at));
    if (value.len > 0)
        strbuf_truncate(&value, strcspn(value.text, BLANKS));
    return value.len > 0 ? take_image(reader, reader->images->others, value.text, err) : 0;
}

/* Whether the line may begin one of the instructions; only those are joined. */
static bool may_begin(const char *at, const char *end, char escape)
{
    size_t n = 0;

    while (at + n < end && isalpha((unsigned char)at[n]))
        n++;
    if (at + n < end && at[n] == escape)
        return true; /* the name may continue on the next line */
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strlen(names[i]) == n && strncasecmp(at, names[i], n) == 0)
            return true;
    }
    return false;
}

/* A dotted capital I, which Unicode-aware builders fold to "i". */
static bool has_odd_name(const char *at, const char *end)
{
    while (at < end && isalpha((unsigned char)*at))
        at++;
    return end - at >= 2 && memcmp(at, "\xc4\xb0", 2) == 0;
}

static int read_line(struct reader *reader, enum pass pass, const char *at, const char *end,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *begin = skip_blanks(at, end);

    if (begin < end && (*begin == '#' || *begin == '/') && pass == PASS_IMAGES)
        return read_directive(reader, begin, end, err);
    if (has_odd_name(begin, end))
        return error_set(err, ERROR_INVALID, "Dockerfile: an instruction's name has odd letters");
    if (begin == end || !may_begin(begin, end, reader->escape))
        return 0;
    if (join(reader, begin, &text, err) < 0)
        return -1;
    return text.len > 0 ? read_instruction(reader, pass, text.text, err) : 0;
}

static int read_all(struct reader *reader, enum pass pass, const char *text, struct error *err)
{
    const char *at = text;

    while (at < reader->end) {
        const char *end = line_end(at, reader->end);

        if (read_line(reader, pass, at, end, err) < 0)
            return -1;
        at = end < reader->end ? end + 1 : end;
    }
    return 0;
}

void dockerfile_images_done(struct dockerfile_images *images)
{
    if (images == NULL)
        return;
    json_decref(images->bases);
    json_decref(images->others);
    *images = (struct dockerfile_images)DOCKERFILE_IMAGES_INIT;
}

/* Called with both possible escape characters: a directive decides which one applies. */
static int read_with(const char *text, size_t len, char escape, struct dockerfile_images *images,
                     struct error *err)
{
    json_auto_t *arguments = json_object();
    json_auto_t *late = json_object();
    struct reader reader = {.end = text + len,
                            .escape = escape,
                            .arguments = arguments,
                            .late = late,
                            .images = images};

    if (read_all(&reader, PASS_ARGUMENTS, text, err) < 0)
        return -1;
    return read_all(&reader, PASS_IMAGES, text, err);
}

int dockerfile_list_images(const char *text, size_t len, struct dockerfile_images *images_out,
                           struct error *err)
{
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = {json_array(), json_array()};

    if (len > DOCKERFILE_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "Dockerfile: is larger than %lu bytes",
                         DOCKERFILE_MAX_BYTES);
    if (memchr(text, '\0', len) != NULL || !utf8_is_valid(text, len))
        return error_set(err, ERROR_INVALID, "Dockerfile: is no UTF-8 text");
    if (read_with(text, len, '\\', &images, err) < 0 || read_with(text, len, '`', &images, err) < 0)
        return -1;
    *images_out = images;
    images = (struct dockerfile_images)DOCKERFILE_IMAGES_INIT;
    return 0;
}
