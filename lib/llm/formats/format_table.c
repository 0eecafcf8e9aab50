#include "llm/format.h"

#include "llm/formats/anthropic.h"
#include "llm/formats/bedrock.h"
#include "llm/formats/chat.h"
#include "llm/formats/gemini.h"
#include "llm/formats/responses.h"
#include "llm/llm_error.h"

static const struct llm_format formats[LLM_N_FORMATS] = {
    [LLM_FORMAT_CHAT] = {.path = "/chat/completions",
                         .end_of_stream = "[DONE]",
                         .add_message = chat_add_message,
                         .add_tools = chat_add_tools,
                         .add_headers = chat_add_headers,
                         .request_body = chat_request_body,
                         .read_event = chat_read_event,
                         .read_answer = chat_read_answer,
                         .read_error = llm_error_from_answer},
    [LLM_FORMAT_RESPONSES] = {.path = "/responses",
                              .end_of_stream = "",
                              .add_message = responses_add_message,
                              .add_tools = responses_add_tools,
                              .add_headers = chat_add_headers,
                              .request_body = responses_request_body,
                              .read_event = responses_read_event,
                              .read_answer = responses_read_answer,
                              .read_error = llm_error_from_answer},
    [LLM_FORMAT_ANTHROPIC] = {.path = "/messages",
                              .end_of_stream = "",
                              .add_message = anthropic_add_message,
                              .add_tools = anthropic_add_tools,
                              .add_headers = anthropic_add_headers,
                              .request_body = anthropic_request_body,
                              .read_event = anthropic_read_event,
                              .read_answer = anthropic_read_answer,
                              .read_error = llm_error_from_answer},
    [LLM_FORMAT_GEMINI] = {.path = "",
                           .end_of_stream = "",
                           .add_message = gemini_add_message,
                           .add_tools = gemini_add_tools,
                           .add_headers = gemini_add_headers,
                           .request_body = gemini_request_body,
                           .read_event = gemini_read_event,
                           .read_answer = gemini_read_answer,
                           .read_error = gemini_read_error},
    [LLM_FORMAT_BEDROCK] = {.end_of_stream = "",
                            .add_message = bedrock_add_message,
                            .add_tools = bedrock_add_tools,
                            .add_headers = bedrock_add_headers,
                            .request_body = bedrock_request_body,
                            .read_event = bedrock_read_event,
                            .read_answer = bedrock_read_answer,
                            .read_error = llm_error_from_answer,
                            .locate = bedrock_locate,
                            .check = bedrock_check,
                            .sign = bedrock_sign,
                            .id_header = "x-amzn-RequestId",
                            .error_header = "x-amzn-ErrorType"},
    /* A script counts the messages of a chat. */
    [LLM_FORMAT_SCRIPTED] = {.add_message = chat_add_message, .add_tools = chat_add_tools},
    [LLM_FORMAT_NONE] = {.add_message = chat_add_message, .add_tools = chat_add_tools},
};

const struct llm_format *llm_format_of(enum llm_format_kind format)
{
    return &formats[format];
}
