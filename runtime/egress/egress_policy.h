/*
 * Egress policies: any public address, none, or the destinations of a list: names, names below a
 * name, ranges of addresses; each with one port or all.
 *
 *     github.com:443 *.pypi.org 140.82.112.0/20:22
 *
 * Names are compared in normalized form: lower case, A-labels, no trailing dot. Anything else is
 * invalid: other spellings of addresses, users, paths.
 *
 * Ownership: egress_policy_done() releases the destinations.
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_EGRESS_EGRESS_POLICY_H
#define DEFT_RUNTIME_EGRESS_EGRESS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

#define EGRESS_PLACES_MAX 200
/* RFC 1035, section 2.3.4, and the NUL. */
#define EGRESS_NAME_BYTES 254

/* Between the destinations of a list. */
#define EGRESS_SEPARATORS " \t\r\n,"

enum egress_mode { EGRESS_INTERNET, EGRESS_NONE, EGRESS_LIST };

enum egress_destination_kind { DESTINATION_NAME, DESTINATION_BELOW, DESTINATION_RANGE };

struct egress_destination {
    enum egress_destination_kind kind;
    char name[EGRESS_NAME_BYTES]; /* of DESTINATION_BELOW without "*." */
    uint32_t address;             /* of DESTINATION_RANGE, in host order */
    unsigned prefix;
    uint16_t port; /* 0: all */
};

struct egress_policy {
    enum egress_mode mode;
    struct egress_destination *destinations; /* of EGRESS_LIST */
    size_t n;
};

/* clang-format off */
#define EGRESS_POLICY_INIT {EGRESS_INTERNET, NULL, 0}
/* clang-format on */

void egress_policy_done(struct egress_policy *policy);
/* mode: internet, none, list; list: as above, separated by white space or commas. ERROR_INVALID
 * names the destination and the problem. */
int egress_policy_parse(const char *mode, const char *list, struct egress_policy *policy_out,
                        struct error *err) NONNULL MUST_CHECK;
/* True if the destination is that name or, for DESTINATION_BELOW, a parent domain; `name` is
 * normalized. */
bool egress_destination_holds(const struct egress_destination *destination,
                              const char *name) NONNULL MUST_CHECK;
bool egress_policy_holds(const struct egress_policy *policy, const char *name) NONNULL MUST_CHECK;
/* Normalizes a name; false if it is invalid. */
bool egress_name_read(const char *text, size_t len,
                      char name[EGRESS_NAME_BYTES]) NONNULL MUST_CHECK;
/* True for an address, in host order, that no sandbox may reach under any policy. */
bool egress_is_denied(uint32_t address) MUST_CHECK;

#endif
