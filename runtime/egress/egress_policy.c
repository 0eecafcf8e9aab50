#include "runtime/egress/egress_policy.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/egress/firewall.h"

#define LABEL_MAX_BYTES 63
#define PLACE_BYTES 300
#define ADDRESS_BITS 32

static const char *const mode_texts[] = {
    [EGRESS_INTERNET] = "internet", [EGRESS_NONE] = "none", [EGRESS_LIST] = "list"};

void egress_policy_done(struct egress_policy *policy)
{
    mem_free(policy->destinations);
    *policy = (struct egress_policy)EGRESS_POLICY_INIT;
}

/* --- names --- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* With a last label such as "10" or "0x7f", others may parse the name as an address. */
static bool ends_like_address(const char *name)
{
    const char *label = strrchr(name, '.');

    label = label != NULL ? label + 1 : name;
    return is_digit(label[0]) &&
           (label[strspn(label, "0123456789")] == '\0' || (label[0] == '0' && label[1] == 'x'));
}

static bool has_good_labels(const char *name)
{
    size_t len = 0;

    for (;; name++) {
        if (*name != '.' && *name != '\0') {
            len++;
            continue;
        }
        if (len == 0 || len > LABEL_MAX_BYTES)
            return false;
        if (*name == '\0')
            return true;
        len = 0;
    }
}

bool egress_name_read(const char *text, size_t len, char name[EGRESS_NAME_BYTES])
{
    if (len > 0 && text[len - 1] == '.')
        len--;
    if (len == 0 || len >= EGRESS_NAME_BYTES)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c | 0x20);
        if (!is_letter(c) && c != '.')
            return false;
        name[i] = c;
    }
    name[len] = '\0';
    return has_good_labels(name) && !ends_like_address(name);
}

/* --- ranges --- */

static uint32_t mask_of(unsigned prefix)
{
    return prefix == 0 ? 0 : 0xffffffffU << (ADDRESS_BITS - prefix);
}

/* "192.0.2.0/24", or a single address. */
static bool range_read(const char *text, uint32_t *address_out, unsigned *prefix_out)
{
    char address[INET_ADDRSTRLEN] = "";
    size_t len = strcspn(text, "/");
    struct in_addr parsed = {0};
    struct error ignored = ERROR_INIT;
    int64_t prefix = ADDRESS_BITS;

    if (len >= sizeof(address))
        return false;
    memcpy(address, text, len);
    if (inet_pton(AF_INET, address, &parsed) != 1)
        return false;
    if (text[len] == '/' && text_parse_int(text + len + 1, 0, ADDRESS_BITS, &prefix, &ignored) < 0)
        return false;
    *address_out = ntohl(parsed.s_addr);
    *prefix_out = (unsigned)prefix;
    return true;
}

/* Whether two ranges overlap. */
static bool is_met(uint32_t address, unsigned prefix, const char *range)
{
    uint32_t other = 0;
    unsigned other_prefix = 0;
    uint32_t mask = 0;

    if (!range_read(range, &other, &other_prefix))
        return true;
    mask = mask_of(prefix < other_prefix ? prefix : other_prefix);
    return (address & mask) == (other & mask);
}

static bool is_denied_range(uint32_t address, unsigned prefix)
{
    for (size_t i = 0; i < firewall_n_denied; i++) {
        if (is_met(address, prefix, firewall_denied[i].range))
            return true;
    }
    return false;
}

bool egress_is_denied(uint32_t address)
{
    return is_denied_range(address, ADDRESS_BITS);
}

/* --- destinations --- */

static int read_port(char *text, uint16_t *port_out, struct error *err)
{
    char *colon = strrchr(text, ':');
    int64_t port = 0;

    if (colon == NULL)
        return 0;
    if (text_parse_int(colon + 1, 1, 65535, &port, err) < 0)
        return -1;
    *colon = '\0';
    *port_out = (uint16_t)port;
    return 0;
}

static int read_range(const char *text, struct egress_destination *destination, struct error *err)
{
    destination->kind = DESTINATION_RANGE;
    if (!range_read(text, &destination->address, &destination->prefix))
        return error_set(err, ERROR_INVALID, "it is not an IPv4 address or range");
    if ((destination->address & ~mask_of(destination->prefix)) != 0)
        return error_set(err, ERROR_INVALID, "the address has bits beyond its prefix");
    if (is_denied_range(destination->address, destination->prefix))
        return error_set(err, ERROR_INVALID,
                         "sandboxes can never reach private and reserved addresses");
    return 0;
}

static int read_destination(char *text, struct egress_destination *destination, struct error *err)
{
    const char *name = text;

    if (read_port(text, &destination->port, err) < 0)
        return -1;
    if (is_digit(text[0]) && text[strspn(text, "0123456789./")] == '\0')
        return read_range(text, destination, err);
    if (text_starts_with(text, "*.")) {
        destination->kind = DESTINATION_BELOW;
        name += 2;
    }
    if (egress_name_read(name, strlen(name), destination->name))
        return 0;
    return error_set(err, ERROR_INVALID,
                     "it is not a host name (letters, digits, '-' and dots, optionally after *.; "
                     "other alphabets as xn--…), address or range");
}

static int add_destination(struct egress_policy *policy, const char *text, size_t len,
                           struct error *err)
{
    char copy[PLACE_BYTES] = "";
    struct egress_destination destination = {.kind = DESTINATION_NAME};

    if (len >= sizeof(copy))
        return error_set(err, ERROR_INVALID, "an entry is longer than a host name can be");
    if (policy->n == EGRESS_PLACES_MAX)
        return error_set(err, ERROR_INVALID, "there may be at most %d entries", EGRESS_PLACES_MAX);
    memcpy(copy, text, len);
    if (read_destination(copy, &destination, err) < 0)
        return error_wrap(err, "%.*s", (int)len, text);
    policy->destinations = mem_resize(policy->destinations, (policy->n + 1) * sizeof(destination));
    policy->destinations[policy->n++] = destination;
    return 0;
}

static int read_destinations(struct egress_policy *policy, const char *list, struct error *err)
{
    for (;;) {
        size_t len = 0;

        list += strspn(list, EGRESS_SEPARATORS);
        len = strcspn(list, EGRESS_SEPARATORS);
        if (len == 0)
            return 0;
        if (add_destination(policy, list, len, err) < 0)
            return -1;
        list += len;
    }
}

static int read_mode(const char *text, enum egress_mode *mode_out, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(mode_texts); i++) {
        if (text_equal(text, mode_texts[i])) {
            *mode_out = (enum egress_mode)i;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "%.40s: must be internet, none or list", text);
}

int egress_policy_parse(const char *mode, const char *list, struct egress_policy *policy_out,
                        struct error *err)
{
    CLEANUP(egress_policy_done) struct egress_policy policy = EGRESS_POLICY_INIT;

    if (read_mode(mode, &policy.mode, err) < 0 || read_destinations(&policy, list, err) < 0)
        return -1;
    if (policy.mode == EGRESS_LIST && policy.n == 0)
        return error_set(err, ERROR_INVALID,
                         "the allow list is empty; use the policy none instead");
    *policy_out = policy;
    policy = (struct egress_policy)EGRESS_POLICY_INIT;
    return 0;
}

bool egress_destination_holds(const struct egress_destination *destination, const char *name)
{
    size_t len = strlen(name);
    size_t tail = strlen(destination->name);

    if (destination->kind == DESTINATION_NAME)
        return text_equal(destination->name, name);
    return destination->kind == DESTINATION_BELOW && len > tail + 1 &&
           name[len - tail - 1] == '.' && text_equal(name + len - tail, destination->name);
}

bool egress_policy_holds(const struct egress_policy *policy, const char *name)
{
    for (size_t i = 0; policy->mode == EGRESS_LIST && i < policy->n; i++) {
        if (egress_destination_holds(&policy->destinations[i], name))
            return true;
    }
    return false;
}
