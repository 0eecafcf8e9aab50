#include "runtime/build/dockerfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/build/image_source.h"
#include "unit/runtime/runtime_test.h"

#define PUBLIC "docker.io ghcr.io"
#define EVIL "127.0.0.1:5000/x"

/* All that is fetched, bases first; NULL: refused. */
static json_t *list(const char *text, struct error *err)
{
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;

    if (dockerfile_list_images(text, strlen(text), &images, err) < 0)
        return NULL;
    assert_int_equal(json_array_extend(images.bases, images.others), 0);
    return json_incref(images.bases);
}

/* Whether anything but public registries would be asked. */
static bool is_refused(const char *text)
{
    struct error err = ERROR_INIT;
    json_auto_t *images = list(text, &err);
    const json_t *image = NULL;
    size_t i = 0;

    json_array_foreach (images, i, image) {
        if (!image_source_is_listed(PUBLIC, json_string_value(image)))
            return true;
    }
    return images == NULL;
}

static void what_makes_the_engine_fetch_is_refused(void **state)
{
    static const char *const files[] = {
        "FROM " EVIL,
        "from " EVIL,
        "  \t FROM\t" EVIL "\n",
        "\xef\xbb\xbf"
        "FROM " EVIL,
        "\xc2\xa0"
        "FROM " EVIL,
        "FROM --platform=linux/amd64 " EVIL " AS a",
        "FROM --platform=\"a b\" " EVIL,
        "FROM \"" EVIL "\"",
        "FROM 127.0.0.1:5000/\\\nx",
        "FR\\\nOM " EVIL,
        "FROM \\\n# a comment\n\n  " EVIL,
        "FROM \\  \n" EVIL,
        "FROM \\\r\n" EVIL "\r\n",
        "# escape=`\nFROM `\n" EVIL,
        "# escape = `\nFROM `  \n" EVIL,
        "#escape=`\nFROM a\\\nFROM " EVIL,
        "FROM a\nRUN echo \\\n  # not here\nFROM " EVIL,
        "\xe2\x80\x80\xe2\x80\x8a"
        "FROM " EVIL,
        "FROM LOCALHOST/x",
        "FROM localhost/x",
        "FROM localhost:1/x",
        "FROM 0x7f.1/x",
        "FROM 2130706433:80/x",
        "FROM [::1]:5000/x",
        "FROM 169.254.169.254/x",
        "FROM evil@example/x",
        "FROM evil%2eexample/x",
        "FROM [evil]/x",
        "FROM evil.example/x",
        "FROM evil.example/x@sha256:00",
        "ARG R=127.0.0.1:5000\nFROM $R/x",
        "ARG R=127.0.0.1:5000\nFROM ${R}/x",
        "ARG R=\"127.0.0.1:5000\"\nFROM ${R}/x",
        "ARG A=127.0.0.1\nARG R=$A:5000\nFROM ${R}/x",
        "ARG A=127.0.0.1 B=5000\nFROM $A:$B/x",
        "FROM ${R:-127.0.0.1:5000}/x",
        "FROM ${R-127.0.0.1:5000}/x",
        "FROM ${R:+127.0.0.1:5000}/x",
        "FROM ${R#x}/x",
        "FROM ${R:-127.0.0.1:5000}/x\nARG R=docker.io",
        "FROM ${R}127.0.0.1:5000/x\nARG R=docker.io/",
        "ARG R=\nFROM ${R:-127.0.0.1:5000}/x",
        "ARG R=docker.io\nARG R=127.0.0.1:5000\nFROM $R/x",
        "ARG R=127.0.0.1:5000\nARG R=docker.io\nFROM $R/x",
        "ARG X=\\\nFROM a\nARG R=127.0.0.1:5000\nFROM $R/x",
        "FROM ${R}/x\nARG R=ghcr.io",
        "ARG X=\\\nARG R=docker.io\nARG R=127.0.0.1:5000\nFROM $R/x",
        "FROM a\nCOPY --from=" EVIL " / /",
        "FROM a\nCOPY --FROM=" EVIL " / /",
        "FROM a\nCOPY --fr\\om=" EVIL " / /",
        "FROM a\nCOPY --chown=\"a b\" --from=" EVIL " / /",
        "FROM a\nCOPY --from=\"" EVIL "\" / /",
        "FROM a\nRUN --mount=type=bind,from=" EVIL ",target=/x true",
        "FROM a\nRUN --mount=\"type=bind,from=" EVIL "\" true",
        "FROM a\nRUN --network=none --mount=from=" EVIL " true",
        "# syntax=" EVIL "\nFROM a",
        "#syntax = " EVIL "\nFROM a",
        "// syntax=" EVIL "\nFROM a",
        "# SYNTAX=" EVIL "\nFROM a",
        "FROM a\nADD http://127.0.0.1/x /x",
        "FROM a\nADD https://example.org/x /x",
        "FROM a\nadd HTTP://127.0.0.1/x /x",
        "FROM a\nADD --chown=1:1 http://127.0.0.1/x /x",
        "FROM a\nADD --checksum=sha256:00 http://127.0.0.1/x /x",
        "FROM a\nADD a.txt http://127.0.0.1/x /x",
        "FROM a\nADD [\"http://127.0.0.1/x\", \"/x\"]",
        "FROM a\nADD [\"\\u0068ttp:\\u002f\\u002f127.0.0.1/x\", \"/x\"]",
        "FROM a\nADD --chown=\"a [\" [\"\\u0068ttp:\\u002f\\u002f127.0.0.1/x\", \"/x\"]",
        "FROM a\nADD [\"http:\\/\\/127.0.0.1/x\", \"/x\"]",
        "FROM a\nADD ht\\tp://127.0.0.1/x /x",
        "FROM a\nADD \"http\"://127.0.0.1/x /x",
        "FROM a\nADD ht\\\ntp://127.0.0.1/x /x",
        "FROM a\nADD \\\n  # here\n  http://127.0.0.1/x /x",
        "FROM a\nENV U=http://127.0.0.1/x\nADD $U /x",
        "FROM a\nADD git@127.0.0.1:a/b /x",
        "FROM a\nADD git://127.0.0.1/a /x",
        "FROM a\nADD ssh://git@127.0.0.1/a /x",
        "FROM a\nADD github.com/a/b /x",
        "FROM a\nADD 127.0.0.1/a.git#main /x",
        "FROM a\nADD 127.0.0.1/a.git?ref=main /x",
        "FROM a\nADD http://127.0.0.1/x",
        "FROM a\nADD a.txt http://127.0.0.1/x",
        "FROM a\nONBUILD ADD http://127.0.0.1/x /x",
        "FROM a\nonbuild  add http://127.0.0.1/x /x",
        "FROM a\nONBUILD COPY --from=" EVIL " / /",
        "FROM a\nONBUILD ONBUILD ADD http://127.0.0.1/x /x",
        "FROM a\nONBUILD \\\nADD http://127.0.0.1/x /x",
        "FROM a\nRUN true\nADD http://127.0.0.1/x /x",
        "FROM a\nRUN echo '\\'\nADD http://127.0.0.1/x /x",
        "FROM a\nRUN true \\\\\nADD http://127.0.0.1/x /x",
        "FROM a\nRUN <<EOF\necho\nEOF\nADD http://127.0.0.1/x /x",
        "FROM a\nONBU\xc4\xb0LD ADD http://127.0.0.1/x /x",
        "FROM a\n\xc4\xb0",
        "FROM a\xff",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        if (!is_refused(files[i]))
            fail_msg("passed: %s", files[i]);
    }
}

/* Builders read on after the NUL; functions on C strings do not. */
static void text_with_a_nul_is_refused(void **state)
{
    static const char text[] = "FROM a\0\nFROM " EVIL;
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(dockerfile_list_images(text, sizeof(text) - 1, &images, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

static void what_runs_in_the_builds_own_network_passes(void **state)
{
    static const char *const files[] = {
        "",
        "FROM scratch\nCOPY . /",
        "FROM deft-sandbox:1\nENV BUILT=here\n",
        "FROM ubuntu:24.04\nRUN curl -O http://example.org/x && git clone "
        "https://example.org/x.git",
        "# syntax=docker/dockerfile:1\nFROM docker.io/library/node:22 AS build\nFROM build\nCOPY "
        "--from=build /a /b",
        "FROM a AS one\nFROM b\nCOPY --from=0 /a /b\nRUN --mount=type=cache,target=/root/.cache "
        "make",
        "FROM ghcr.io/astral-sh/uv:latest AS uv\nFROM python:3.12\nCOPY "
        "--from=ghcr.io/astral-sh/uv /uv /bin/",
        "FROM index.docker.io/library/a",
        "# syntax=\nFROM a",
        "ARG VERSION=1.2\nFROM ubuntu:${VERSION}\nARG VERSION\nRUN echo $VERSION",
        "ARG BASE=docker.io/library/a\nARG TAG\nFROM ${BASE}:${TAG:-latest}",
        "ARG REGISTRY=ghcr.io\nFROM --platform=$BUILDPLATFORM ${REGISTRY}/a/b AS x",
        "FROM a\nADD app.tar.gz /opt\nADD [\"a b\", \"/c\"]\nADD --chown=1:1 x $HOME/y",
        "FROM a\nADD node_modules/@types /x",
        "FROM a\nRUN <<EOF\nfrom os import path\nEOF\nCMD [\"python\", \"-m\", \"http.server\"]",
        "FROM a\nRUN psql -c 'SELECT 1 \\\nFROM users'",
        "FROM a\nRUN echo \\\n    # a comment\n    and on\n",
        "FROM a\nLABEL url=http://127.0.0.1/ escape=no\nENV X=http://127.0.0.1\nHEALTHCHECK CMD "
        "curl http://127.0.0.1/",
        "# escape=`\nFROM a\nRUN dir c:\\\nRUN echo\n",
        "FROM a\nADDITIONAL words http://x\nCOPYRIGHT --from=127.0.0.1:1/x",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        struct error err = ERROR_INIT;
        json_auto_t *images = list(files[i], &err);

        if (images == NULL || is_refused(files[i]))
            fail_msg("refused: %s: %s", files[i], err.message);
    }
}

static void each_image_is_listed_once(void **state)
{
    static const char text[] =
        "# syntax=docker/dockerfile:1 more words\nARG A=one\nFROM $A/x\nFROM two/y AS "
        "b\nFROM two/y\nCOPY --from=three/z a b\n";
    static const char *const expected[] = {"docker/dockerfile:1", "one/x", "two/y", "three/z"};
    struct error err = ERROR_INIT;
    json_auto_t *images = list(text, &err);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        size_t n = 0;

        for (size_t j = 0; j < json_array_size(images); j++)
            n += text_equal(json_string_value(json_array_get(images, j)), expected[i]);
        if (n != 1)
            fail_msg("%s is there %zu times", expected[i], n);
    }
}

static void words_say_what_to_do_instead(void **state)
{
    struct error err = ERROR_INIT;

    (void)state;
    assert_null(list("FROM a\nADD http://127.0.0.1:8/x /x", &err));
    assert_non_null(strstr(err.message, "use RUN curl"));
    err = (struct error)ERROR_INIT;
    assert_null(list("FROM a\nADD $X /x", &err));
    assert_non_null(strstr(err.message, "use COPY"));
}

/* How long they take is for tests/unit/linear. */
static void largest_texts_are_read_or_refused(void **state)
{
    static const char *const units[] = {"RUN \\\n",  "FROM $A$B$C$D$E$F\n", "ADD \\\n",
                                        "ARG A=b\n", "FROM a b c d\n",      "#\n",
                                        "\\\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
        struct error err = ERROR_INIT;

        while (text.len + strlen(units[i]) <= DOCKERFILE_MAX_BYTES)
            strbuf_append(&text, units[i]);
        if (dockerfile_list_images(text.text, text.len, &images, &err) < 0)
            assert_int_equal(err.code, ERROR_INVALID);
    }
}

int test_dockerfile(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_makes_the_engine_fetch_is_refused),
        cmocka_unit_test(text_with_a_nul_is_refused),
        cmocka_unit_test(what_runs_in_the_builds_own_network_passes),
        cmocka_unit_test(each_image_is_listed_once),
        cmocka_unit_test(words_say_what_to_do_instead),
        cmocka_unit_test(largest_texts_are_read_or_refused),
    };

    return cmocka_run_group_tests_name("runtime/dockerfile", tests, NULL, NULL);
}
