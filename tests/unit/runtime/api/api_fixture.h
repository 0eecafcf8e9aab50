/*
 * Requests to the Runtime API, as the web server passes them on.
 *
 * Ownership: api_tear_down() releases everything.
 */
#ifndef DEFT_TESTS_UNIT_RUNTIME_API_API_FIXTURE_H
#define DEFT_TESTS_UNIT_RUNTIME_API_API_FIXTURE_H

#include <stdbool.h>

#include "base/attr.h"
#include "unit/runtime/lifecycle/service_fixture.h"

#define HOUSE_KEY "the-key-of-the-house"
#define TENANT_KEY "the-key-of-a-tenant"
#define ADMIN_KEY "the-key-of-administrators"
#define ADMIN_PASSWORD "the-password"
/* A running one of deft's own, one of another tenant, and one of the tenant with TENANT_KEY. */
#define OURS "aaaaaaaaaaaaaaaa"
#define THEIRS "bbbbbbbbbbbbbbbb"
#define TENANTS "cccccccccccccccc"

struct asked {
    const char *method;
    const char *path; /* with the query */
    const char *key;  /* NULL: none */
    bool is_outside;
    const char *body; /* NULL: none */
    const char *type; /* its media type; NULL: none is sent */
    const char *authorization;
    const char *address;
};

/* As service_set_up(), with keys, two tenants and two runtimes (without TENANTS). */
int api_set_up(void **state);
int api_tear_down(void **state);

/* The status; the whole reply in *reply. */
int api_ask(struct service_fixture *fixture, const struct asked *asked,
            struct strbuf *reply) NONNULL;
/* The reply's body. */
const char *api_body(const struct strbuf *reply) NONNULL MUST_CHECK;
void assert_status(struct service_fixture *fixture, const struct asked *asked, int status) NONNULL;
/* Fails unless the reply has that status and {"detail": detail}. */
void assert_refused(struct service_fixture *fixture, const struct asked *asked, int status,
                    const char *detail) NONNULL;
/* Fails unless the reply is 200 and has that member, as in assert_json_at(). */
void assert_replied(struct service_fixture *fixture, const struct asked *asked, const char *path,
                    const char *expected) __attribute__((nonnull(1, 2, 3)));
/* A running sandbox of the tenant with TENANT_KEY, whose name of the session is "mine". */
void api_add_tenants(struct service_fixture *fixture) NONNULL;

#define API_TEST(name) cmocka_unit_test_setup_teardown(name, api_set_up, api_tear_down)

#endif
