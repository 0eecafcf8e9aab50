#include "worker/agent/mcp/progress_notice.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/progress.h"
#include "model/tools/mcp_progress.h"
#include "store/conversation/event_store.h"
#include "store/db/hints.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/secret_list.h"
#include "worker/context.h"

enum { MESSAGE_MAX_CHARS = 200 };

_Static_assert(4 * MESSAGE_MAX_CHARS <= PROGRESS_TEXT_MAX_BYTES, "a message fits a line");

void progress_notice_send(const struct agent *agent, size_t action,
                          const struct mcp_progress *progress)
{
    const struct stored_event *call = &agent->history.items[action];
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    CLEANUP(mem_freep) char *message = NULL;
    struct progress notice = {.conversation_id = agent->lease.conversation_id,
                              .item_id = call->id,
                              .kind = PROGRESS_TOOL,
                              .anchor_seq = call->seq,
                              .done = progress->done,
                              .total = progress->total};

    secret_list_mask_text(&agent->secrets, progress->message, &masked);
    message = mem_dup_bytes(masked.text, utf8_offset(masked.text, masked.len, MESSAGE_MAX_CHARS));
    notice.text = message;
    progress_append_line(&notice, &line);
    hints_send_line(agent->context->hints, line.text);
}
