#include "runtime/egress/dnsmasq_command.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/bridge.h"
#include "runtime/egress/egress_policy.h"
#include "runtime/egress/firewall.h"

#define SEPARATORS " \t\r\n,"
#define WORDS_MAX 64
#define UPSTREAM_BYTES 64
#define PORT_MOST 65535

/* Limits of dnsmasq for all sandboxes together: pending queries, cached names. */
#define QUESTIONS_UNDER_WAY 2000
#define NAMES_KEPT 1000
/* dnsmasq repeats a query to all servers after a second, for as long as a sandbox's libc does. */
#define ASK_AGAIN_MS 1000
#define ASK_UNTIL_MS 6000
/* RFC 9715: avoids fragments on all common paths. */
#define UDP_MOST_BYTES 1232

/*
 * Top-level names of private networks, unknown to public servers: RFC 6761, 6762 (and appendix G),
 * 8375, ICANN's resolution 2024.07.29.06. metadata.google.internal is one such name.
 */
static const char *const private_tops[] = {"internal", "local", "localhost", "home.arpa", "home",
                                           "intranet", "lan",   "corp",      "private"};

/*
 * Addresses filtered in addition to those of --stop-dns-rebind, also for names that may resolve to
 * private addresses: where clouds serve credentials (100.100.100.200), and IPv6 addresses that
 * embed an IPv4 one or that no sandbox may reach. Source: RFC 6598, 6052, 8215, 3056, 4193, 4291
 */
static const char *const never_answered[] = {
    "100.64.0.0/10", "::/96",    "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48",
    "2002::/16",     "fc00::/8", "fd00:ec2::/32", "fe80::/9",     "ff00::/8"};

void dnsmasq_command_done(struct dnsmasq_command *command)
{
    for (size_t i = 0; i < command->n; i++)
        mem_free(command->items[i]);
    mem_free(command->items);
    *command = (struct dnsmasq_command)DNSMASQ_COMMAND_INIT;
}

static void add(struct dnsmasq_command *command, const char *text)
{
    command->items = mem_resize(command->items, (command->n + 2) * sizeof(command->items[0]));
    command->items[command->n++] = mem_dup_text(text);
    command->items[command->n] = NULL;
}

static void addf(struct dnsmasq_command *command, const char *format, ...) PRINTF_LIKE(2, 3);

static void addf(struct dnsmasq_command *command, const char *format, ...)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    va_list args;

    va_start(args, format);
    strbuf_vappendf(&text, format, args);
    va_end(args);
    add(command, text.text);
}

/* Called for each word of a setting. */
typedef int word_function(struct dnsmasq_command *command, const char *word, size_t len,
                          struct error *err);

static int add_words(struct dnsmasq_command *command, const char *setting, const char *text,
                     word_function *take, struct error *err)
{
    for (size_t n = 0;; n++) {
        size_t len = 0;

        text += strspn(text, SEPARATORS);
        len = strcspn(text, SEPARATORS);
        if (len == 0)
            return 0;
        if (n == WORDS_MAX)
            return error_set(err, ERROR_INVALID, "%s: there may be at most %d", setting, WORDS_MAX);
        if (take(command, text, len, err) < 0)
            return error_wrap(err, "%s: %.*s", setting, (int)(len < 80 ? len : 80), text);
        text += len;
    }
}

static bool is_address(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

static int take_upstream(struct dnsmasq_command *command, const char *word, size_t len,
                         struct error *err)
{
    char text[UPSTREAM_BYTES] = "";
    char *port = NULL;
    int64_t number = 53;

    if (len >= sizeof(text))
        return error_set(err, ERROR_INVALID, "it is not an IP address");
    memcpy(text, word, len);
    port = strchr(text, '#');
    if (port != NULL)
        *port++ = '\0';
    if (!is_address(text))
        return error_set(err, ERROR_INVALID, "it is not an IP address");
    if (port != NULL && text_parse_int(port, 1, PORT_MOST, &number, err) < 0)
        return -1;
    addf(command, "--server=%s#%d", text, (int)number);
    return 0;
}

static int take_private_name(struct dnsmasq_command *command, const char *word, size_t len,
                             struct error *err)
{
    char name[EGRESS_NAME_BYTES] = "";

    if (!egress_name_read(word, len, name))
        return error_set(err, ERROR_INVALID, "it is not a host name");
    addf(command, "--rebind-domain-ok=/%s/", name);
    /* Sends queries to the usual servers, even if the name is below one of the private tops. */
    addf(command, "--server=/%s/#", name);
    return 0;
}

static bool has(const struct dnsmasq_command *command, const char *text)
{
    for (size_t i = 0; i < command->n; i++) {
        if (text_equal(command->items[i], text))
            return true;
    }
    return false;
}

static void add_private_tops(struct dnsmasq_command *command)
{
    for (size_t i = 0; i < ARRAY_SIZE(private_tops); i++) {
        CLEANUP(strbuf_done) struct strbuf excepted = STRBUF_INIT;

        strbuf_appendf(&excepted, "--server=/%s/#", private_tops[i]);
        if (!has(command, excepted.text))
            addf(command, "--local=/%s/", private_tops[i]);
    }
}

static void add_filters(struct dnsmasq_command *command)
{
    add(command, "--stop-dns-rebind");
    add(command, "--bogus-priv");
    add(command, "--domain-needed");
    add(command, "--filterwin2k");
    for (size_t i = 0; i < ARRAY_SIZE(never_answered); i++)
        addf(command, "--bogus-nxdomain=%s", never_answered[i]);
    for (size_t i = 0; i < firewall_n_denied; i++) {
        if (firewall_denied[i].reason != DENIED_PRIVATE)
            addf(command, "--bogus-nxdomain=%s", firewall_denied[i].range);
    }
}

/* Binds to the gateways' addresses as bridges come and go, never to all addresses. */
static void add_place(struct dnsmasq_command *command, const struct dnsmasq_settings *settings)
{
    char tag[BRIDGE_TAG_BYTES] = "";

    bridge_tag(settings->instance, tag);
    addf(command, "--port=%d", (int)settings->port);
    add(command, "--bind-dynamic");
    addf(command, "--interface=dsb%s*", tag);
    add(command, "--except-interface=lo");
}

/* Reads nothing of the host's configuration but its name servers. */
static void add_manners(struct dnsmasq_command *command)
{
    add(command, RESOLVER_PROGRAM);
    add(command, "--keep-in-foreground");
    add(command, "--conf-file=/dev/null");
    add(command, "--pid-file=");
    add(command, "--log-facility=-");
    add(command, "--no-hosts");
    add(command, "--no-ident");
    addf(command, "--cache-size=%d", NAMES_KEPT);
    addf(command, "--dns-forward-max=%d", QUESTIONS_UNDER_WAY);
    addf(command, "--fast-dns-retry=%d,%d", ASK_AGAIN_MS, ASK_UNTIL_MS);
    addf(command, "--edns-packet-max=%d", UDP_MOST_BYTES);
}

int dnsmasq_command_make(const struct dnsmasq_settings *settings,
                         struct dnsmasq_command *command_out, struct error *err)
{
    CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = DNSMASQ_COMMAND_INIT;

    if (settings->port < RESOLVER_PORT_LEAST || settings->port > RESOLVER_PORT_MOST)
        return error_set(err, ERROR_INVALID, "DEFT_RESOLVER_PORT: must be a port from %d to %d",
                         RESOLVER_PORT_LEAST, RESOLVER_PORT_MOST);
    add_manners(&command);
    add_place(&command, settings);
    add_filters(&command);
    if (add_words(&command, "DEFT_RESOLVER_UPSTREAMS", settings->upstreams, take_upstream, err) <
            0 ||
        add_words(&command, "DEFT_RESOLVER_PRIVATE_NAMES", settings->private_names,
                  take_private_name, err) < 0)
        return -1;
    if (settings->upstreams[strspn(settings->upstreams, SEPARATORS)] != '\0')
        add(&command, "--no-resolv");
    add_private_tops(&command);
    *command_out = command;
    command = (struct dnsmasq_command)DNSMASQ_COMMAND_INIT;
    return 0;
}
