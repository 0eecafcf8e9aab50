#include "runtime/backend/failure_reason.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"

struct failure_pattern {
    const char *needle; /* substring of the message, case-insensitive; first match counts */
    const char *reason; /* Kubernetes' term, if it has one */
    const char *words;  /* NULL: the message is clear by itself */
};

static const struct failure_pattern failures[] = {
    {"OOM-killed", "OOMKilled", "the sandbox has too little memory to start in"},
    {"memory limit too low", "OOMKilled", "the sandbox has too little memory to start in"},
    {"minimum memory limit", "OOMKilled", "less memory is requested than a sandbox needs to start"},
    {"ran out of memory", "OOMKilled", NULL},
    {"cannot allocate memory", "HostOutOfMemory", "the host is out of memory"},
    {"exec format error", "ExecFormatError",
     "deft-action or the image is built for another processor architecture"},
    {"processors, this host has", "ExecFormatError", NULL},
    {", not Linux", "ExecFormatError", NULL},
    {"executable file not found", "CommandNotFound", "the command does not exist in the sandbox"},
    {"no such file or directory: unknown", "CommandNotFound",
     "the command does not exist in the sandbox"},
    {"permission denied: unknown", "NotExecutable", "the sandbox's server cannot be executed"},
    {"no space left on device", "DiskFull", "the host's disk is full"},
    {"disk quota exceeded", "DiskFull", "the host's disk is full"},
    {"are to stay free (DEFT_SANDBOX_FREE_", "DiskFull", NULL},
    {"is not on this host", "ImageNotFound", NULL},
    {"no such image", "ImageNotFound", "the image is not on this host"},
    {"unknown runtime", "NoSuchRuntime",
     "the container engine has no such runtime (DEFT_SANDBOX_OCI_RUNTIME)"},
    {"range of CPUs", "TooManyProcessors", "more processors are requested than the host has"},
    {"setting rlimits", "LimitsRefused",
     "the host does not allow the sandbox's limits (DEFT_SANDBOX_FILES)"},
    {"did not get ready", "StartTimeout", NULL},
    {"was killed", "Killed", NULL},
    {"container was removed", "ContainerRemoved", NULL},
    {"ended when the engine or the host did", "HostRestarted", NULL},
    {"container engine", "EngineUnavailable", NULL},
    {"ended with exit code", "Error", NULL},
};

static const struct failure_pattern *find_pattern(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        if (strcasestr(text, failures[i].needle) != NULL ||
            (failures[i].words != NULL && strstr(text, failures[i].words) != NULL))
            return &failures[i];
    }
    return NULL;
}

const char *failure_reason_explain(const char *said)
{
    const struct failure_pattern *failure = find_pattern(said);

    return failure != NULL ? failure->words : NULL;
}

const char *failure_reason_find(const char *detail)
{
    const struct failure_pattern *failure = find_pattern(detail);

    return failure != NULL ? failure->reason : NULL;
}

/* A reason's index is that of its first row. */
static size_t first_of(const char *reason)
{
    size_t i = 0;

    while (!text_equal(failures[i].reason, reason))
        i++;
    return i;
}

size_t failure_reason_index(const char *detail)
{
    const struct failure_pattern *failure = find_pattern(detail);

    static_assert(ARRAY_SIZE(failures) < FAILURE_REASONS_MAX, "one number each, and one more");
    return failure != NULL ? first_of(failure->reason) : FAILURE_REASONS_MAX - 1;
}

const char *failure_reason_at(size_t index)
{
    if (index == FAILURE_REASONS_MAX - 1)
        return "Other";
    if (index >= ARRAY_SIZE(failures) || first_of(failures[index].reason) != index)
        return NULL;
    return failures[index].reason;
}
