#include "llm/formats/clip.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

/* Longer tool output is cut in the middle. */
enum { TOOL_TEXT_MAX_CODE_POINTS = 50000 };

static const char CUT_NOTE[] =
    "\n[... the middle of this output was left out because it is too long ...]\n";

/* Head and tail of a long text; NULL if it is not too long. */
json_t *clip_tool_text(const char *text)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    size_t len = strlen(text);
    size_t n = len > TOOL_TEXT_MAX_CODE_POINTS ? utf8_length(text, len) : 0;
    size_t n_kept = TOOL_TEXT_MAX_CODE_POINTS - strlen(CUT_NOTE);
    size_t head = 0;
    size_t tail = 0;

    if (n <= TOOL_TEXT_MAX_CODE_POINTS)
        return NULL;
    head = utf8_offset(text, len, n_kept - n_kept / 2);
    tail = utf8_offset(text, len, n - n_kept / 2);
    strbuf_append_bytes(&out, text, head);
    strbuf_append(&out, CUT_NOTE);
    strbuf_append_bytes(&out, text + tail, len - tail);
    return json_text(out.text, out.len);
}
