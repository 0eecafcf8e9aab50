/*
 * Descriptions of the tools for the model.
 */
#ifndef DEFT_MODEL_TOOLS_TOOL_TEXT_H
#define DEFT_MODEL_TOOLS_TOOL_TEXT_H

extern const char tool_text_terminal[];
extern const char tool_text_file_editor[];
extern const char tool_text_task_tracker[];
extern const char tool_text_finish[];
extern const char tool_text_think[];

#endif
