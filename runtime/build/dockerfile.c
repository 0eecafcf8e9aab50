#include "runtime/build/dockerfile.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/build/dockerfile_text.h"
#include "runtime/build/dockerfile_variables.h"

#define IMAGES_MAX 200

struct dockerfile_reader {
    struct dockerfile_text text;
    struct dockerfile_variables variables;
    bool has_from; /* first FROM was read */
    struct dockerfile_images *images;
};

/* --- images and sources --- */

/* Adds an image's name unless it is listed. */
static void add_image(json_t *images, const char *name)
{
    const json_t *one = NULL;
    size_t i = 0;

    json_array_foreach (images, i, one) {
        if (text_equal(json_string_value(one), name))
            return;
    }
    json_push(images, json_text_of(name));
}

static int take_image(struct dockerfile_reader *reader, json_t *images, const char *text,
                      struct error *err)
{
    json_auto_t *meanings = NULL;
    const json_t *one = NULL;
    size_t i = 0;

    if (dockerfile_expand(&reader->variables, text, &meanings, err) < 0)
        return -1;
    json_array_foreach (meanings, i, one) {
        if (json_string_length(one) > 0)
            add_image(images, json_string_value(one));
    }
    if (json_array_size(images) > IMAGES_MAX)
        return error_set(err, ERROR_INVALID, "Dockerfile: refers to more than %d images",
                         IMAGES_MAX);
    return 0;
}

static bool is_flag(const char *word)
{
    return text_starts_with(word, "--");
}

/* FROM [--platform=…] image [AS name]: takes every word, since quotes may hide a flag's end. */
static int read_from(struct dockerfile_reader *reader, const char *rest, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;

    while (dockerfile_next_word(&rest, &word)) {
        if (!is_flag(word.text) && take_image(reader, reader->images->bases, word.text, err) < 0)
            return -1;
    }
    return 0;
}

/* COPY [--from=image] … */
static int read_copy(struct dockerfile_reader *reader, const char *rest, struct error *err)
{
    static const char flag[] = "--from=";
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;

    while (dockerfile_next_word(&rest, &word)) {
        dockerfile_unquote(&word);
        if (strncasecmp(word.text, flag, strlen(flag)) == 0 &&
            take_image(reader, reader->images->others, word.text + strlen(flag), err) < 0)
            return -1;
    }
    return 0;
}

/* --mount=type=bind,from=image,… */
static int take_mount(struct dockerfile_reader *reader, const char *flag, struct error *err)
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
static int read_run(struct dockerfile_reader *reader, const char *rest, struct error *err)
{
    static const char flag[] = "--mount";
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;

    while (dockerfile_next_word(&rest, &word)) {
        dockerfile_unquote(&word);
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

    dockerfile_append_plain(&plain, source, strlen(source));
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
        return error_set(err, ERROR_INVALID,
                         "Dockerfile: ADD cannot fetch URLs here ('%.100s'); use RUN curl or RUN "
                         "git, which use the build's network",
                         source);
    if (strchr(source, '$') != NULL || strstr(source, "\\u") != NULL)
        return error_set(err, ERROR_INVALID,
                         "Dockerfile: ADD '%.100s' is ambiguous; use COPY for files of the context",
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

    rest += strspn(rest, DOCKERFILE_BLANKS "\n");
    while (is_flag(rest)) {
        (void)dockerfile_next_word(&rest, &word);
        rest += strspn(rest, DOCKERFILE_BLANKS "\n");
    }
    /* Quotes may hide where a flag ends and a list begins. */
    if (strchr(rest, '[') != NULL && rest[0] != '[' && strstr(rest, "\\u") != NULL)
        return check_source("\\u", err);
    if (read_add_list(rest, &rc, err))
        return rc;
    while (dockerfile_next_word(&rest, &word)) {
        if (last.len > 0 && check_source(last.text, err) < 0)
            return -1;
        strbuf_reset(&last);
        strbuf_append_bytes(&last, word.text, word.len);
    }
    return last.len > 0 && is_remote(last.text) ? check_source(last.text, err) : 0;
}

static int read_arguments(struct dockerfile_reader *reader, const char *rest)
{
    CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;
    enum dockerfile_position position = reader->has_from ? DOCKERFILE_LATE : DOCKERFILE_EARLY;

    while (dockerfile_next_word(&rest, &word))
        dockerfile_variables_add(&reader->variables, position, word.text);
    return 0;
}

/* --- instructions --- */

enum dockerfile_pass { PASS_ARGUMENTS, PASS_IMAGES };

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
    size_t len = strcspn(text, DOCKERFILE_BLANKS "\n");

    *rest_out = text + len;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strlen(names[i]) == len && strncasecmp(text, names[i], len) == 0)
            return (enum instruction)i;
    }
    return INSTRUCTION_OTHER;
}

static int read_instruction(struct dockerfile_reader *reader, enum dockerfile_pass pass,
                            const char *text, struct error *err)
{
    const char *rest = NULL;
    enum instruction instruction = find_instruction(text, &rest);

    while (instruction == INSTRUCTION_ONBUILD)
        instruction = find_instruction(rest + strspn(rest, DOCKERFILE_BLANKS "\n"), &rest);
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
static int read_directive(struct dockerfile_reader *reader, const char *at, const char *end,
                          struct error *err)
{
    static const char key[] = "syntax";
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;

    while (at < end && (*at == '#' || *at == '/'))
        at++;
    at = dockerfile_skip_blanks(at, end);
    if ((size_t)(end - at) < strlen(key) || strncasecmp(at, key, strlen(key)) != 0)
        return 0;
    at = dockerfile_skip_blanks(at + strlen(key), end);
    if (at == end || *at != '=')
        return 0;
    at = dockerfile_skip_blanks(at + 1, end);
    strbuf_append_bytes(&value, at, (size_t)(end - at));
    if (value.len > 0)
        strbuf_truncate(&value, strcspn(value.text, DOCKERFILE_BLANKS));
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

static int read_line(struct dockerfile_reader *reader, enum dockerfile_pass pass, const char *at,
                     const char *end, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *begin = dockerfile_skip_blanks(at, end);

    if (begin < end && (*begin == '#' || *begin == '/') && pass == PASS_IMAGES)
        return read_directive(reader, begin, end, err);
    if (has_odd_name(begin, end))
        return error_set(err, ERROR_INVALID,
                         "Dockerfile: an instruction's name has invalid characters");
    if (begin == end || !may_begin(begin, end, reader->text.escape))
        return 0;
    if (dockerfile_join(&reader->text, begin, &text, err) < 0)
        return -1;
    return text.len > 0 ? read_instruction(reader, pass, text.text, err) : 0;
}

static int read_all(struct dockerfile_reader *reader, enum dockerfile_pass pass, const char *text,
                    struct error *err)
{
    const char *at = text;

    while (at < reader->text.end) {
        const char *end = dockerfile_line_end(at, reader->text.end);

        if (read_line(reader, pass, at, end, err) < 0)
            return -1;
        at = end < reader->text.end ? end + 1 : end;
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
    struct dockerfile_reader reader = {.text = {.end = text + len, .escape = escape},
                                       .images = images};
    int rc = 0;

    dockerfile_variables_init(&reader.variables);
    rc = read_all(&reader, PASS_ARGUMENTS, text, err);
    if (rc == 0)
        rc = read_all(&reader, PASS_IMAGES, text, err);
    dockerfile_variables_done(&reader.variables);
    return rc;
}

int dockerfile_list_images(const char *text, size_t len, struct dockerfile_images *images_out,
                           struct error *err)
{
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = {json_array(), json_array()};

    if (len > DOCKERFILE_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "Dockerfile: larger than %lu bytes",
                         DOCKERFILE_MAX_BYTES);
    if (memchr(text, '\0', len) != NULL || !utf8_is_valid(text, len))
        return error_set(err, ERROR_INVALID, "Dockerfile: not UTF-8 text");
    if (read_with(text, len, '\\', &images, err) < 0 || read_with(text, len, '`', &images, err) < 0)
        return -1;
    *images_out = images;
    images = (struct dockerfile_images)DOCKERFILE_IMAGES_INIT;
    return 0;
}
