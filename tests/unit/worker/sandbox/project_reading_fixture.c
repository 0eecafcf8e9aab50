#include "worker/sandbox/project_reading_fixture.h"

#include "base/error.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/sandbox/project_reading.h"
#include "worker/agent_test.h"

void reading_settle(struct claimed_agent *claimed)
{
    struct error err = ERROR_INIT;

    if (project_reading_settle(&claimed->agent, &err) < 0)
        fail_msg("%s", err.message);
}

void reading_hear(struct claimed_agent *claimed)
{
    struct error err = ERROR_INIT;

    if (event_writer_load(&claimed->agent, &err) < 0)
        fail_msg("%s", err.message);
}
