/* deft-resolver: DNS resolver for sandboxes. Confines itself, then executes dnsmasq with the
 * configured options. */
#include <stdlib.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/settings.h"
#include "runtime/egress/dnsmasq_command.h"

#define FIELD(field) offsetof(struct dnsmasq_settings, field)

static const struct setting settings_table[] = {
    {"DEFT_INSTANCE", SETTING_TEXT, "deft", FIELD(instance),
     "instance whose sandboxes may send queries: the prefix of container, volume and network "
     "names"},
    {"DEFT_RESOLVER_PORT", SETTING_COUNT, RESOLVER_PORT, FIELD(port),
     "UDP and TCP port to listen on at the gateway of each sandbox; must equal deft-runtime's"},
    {"DEFT_RESOLVER_UPSTREAMS", SETTING_TEXT, "", FIELD(upstreams),
     "upstream name servers, ADDRESS or ADDRESS#PORT; empty: those of /etc/resolv.conf"},
    {"DEFT_RESOLVER_PRIVATE_NAMES", SETTING_TEXT, "", FIELD(private_names),
     "domains that may resolve to private addresses; for other names such answers are dropped"},
    {"LOG_LEVEL", SETTING_TEXT, "info", FIELD(log_level), "debug, info, warning or error"},
};

static const struct process process = {
    .name = "deft-resolver",
    .help = "Usage: deft-resolver [--help | --help-config | --version]\n"
            "Answers DNS queries of sandboxes, using dnsmasq. It is configured by environment\n"
            "variables: see --help-config.\n",
    .settings = settings_table,
    .n_settings = ARRAY_SIZE(settings_table),
};

static int run_dnsmasq(const struct dnsmasq_settings *settings, struct error *err)
{
    const char *const no_folders[] = {NULL};
    CLEANUP(dnsmasq_command_done) struct dnsmasq_command command = DNSMASQ_COMMAND_INIT;

    if (dnsmasq_command_make(settings, &command, err) < 0 ||
        confine_program(RESOLVER_PROGRAM, no_folders, err) < 0)
        return -1;
    execv(RESOLVER_PROGRAM, command.items);
    return error_set(err, ERROR_UNAVAILABLE, RESOLVER_PROGRAM " (Debian: dnsmasq-base): %m");
}

static void resolver_settings_done(struct dnsmasq_settings *settings)
{
    settings_done(settings_table, ARRAY_SIZE(settings_table), settings);
}

int main(int argc, char **argv)
{
    CLEANUP(resolver_settings_done) struct dnsmasq_settings settings = {.instance = NULL};
    struct error err = ERROR_INIT;
    int status = EXIT_SUCCESS;

    if (argc > 1 && process_answer(&process, argv[1], &status))
        return status;
    if (argc > 1)
        return process_refuse(&process, argv[1]);
    if (process_configure(&process, &settings, &settings.log_level, &err) < 0 ||
        run_dnsmasq(&settings, &err) < 0)
        return process_complain(&process, &err);
    return EXIT_SUCCESS;
}
