#include "runtime/build/image_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "unit/runtime/runtime_test.h"

static void registries_are_told_from_names(void **state)
{
    static const struct {
        const char *image;
        const char *registry;
    } cases[] = {
        {"a", "docker.io"},
        {"a:1", "docker.io"},
        {"a/b:1", "docker.io"},
        {"docker.io/a", "docker.io"},
        {"Index.docker.io/a", "docker.io"},
        {"ghcr.io/a/b", "ghcr.io"},
        {"GHCR.IO/a/b", "ghcr.io"},
        {"localhost/a", "localhost"},
        {"localhost:5000/a", "localhost:5000"},
        {"LOCALhost/a", "localhost"},
        {"a:5000/b", "a:5000"},
        {"127.0.0.1/a", "127.0.0.1"},
        {"[::1]/a", "[::1]"},
        {"Host/a", "host"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf registry = STRBUF_INIT;

        image_source_append(cases[i].image, &registry);
        assert_string_equal(registry.text, cases[i].registry);
    }
    assert_true(image_source_is_listed(IMAGE_SOURCE_DEFAULT, "a/b"));
    assert_true(image_source_is_listed("docker.io  own.example:5000", "own.example:5000/a"));
    assert_false(image_source_is_listed("docker.io own.example:5000", "own.example:5001/a"));
    assert_false(image_source_is_listed("docker.io own.example", "own.example:5000/a"));
    assert_false(image_source_is_listed("", "a"));
    assert_false(image_source_is_listed(IMAGE_SOURCE_DEFAULT, "localhost/a"));
}

int test_image_source(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registries_are_told_from_names),
    };

    return cmocka_run_group_tests_name("runtime/image_source", tests, NULL, NULL);
}
