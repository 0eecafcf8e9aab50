#include "model/tools/tool_text.h"

const char tool_text_terminal[] =
    "Runs a command in a persistent bash shell inside the sandbox and returns what it printed.\n"
    "\n"
    "Commands\n"
    "- One command per call. Join steps with `&&` when the next needs the last one to succeed, with"
    " `;` when it does not; commands on separate lines are refused.\n"
    "- The shell stays: working directory, variables, functions and virtual environments carry over"
    " to the next call. Do not use `set -e` or `exec` here, they would end it.\n"
    "- Before you write into a directory, check that it exists. Prefer absolute paths to `cd`.\n"
    "- Pagers are off. For other interactive programs use their batch options (`-y`, "
    "`--no-input`).\n"
    "\n"
    "Long-running commands\n"
    "- Start servers and other programs that do not end in the background, with their output in a"
    " file: `python3 app.py > server.log 2>&1 &`.\n"
    "- For a command that may take long, set `timeout` in seconds. Without one, a command that"
    " prints nothing for a while comes back with exit code -1 and keeps running.\n"
    "- While a command runs, set `is_input` to true and give in `command`: an empty string to get"
    " further output, text to send to its standard input, or a key: `C-c`, `C-d`, `C-z`, `ENTER`,"
    " `TAB`, `ESC`, `UP`, `DOWN`, `LEFT`, `RIGHT`.\n"
    "\n"
    "Output\n"
    "- Long output is cut in the middle. Narrow it yourself with `head`, `tail`, `grep` or `sed "
    "-n`,"
    " or write it to a file and read parts.\n"
    "- When the shell no longer answers, set `reset` to true: a new shell starts, and all state of"
    " the old one is lost. `reset` does not go together with `is_input`.";

const char tool_text_file_editor[] =
    "Views, creates and edits text files. Paths are absolute. The commands:\n"
    "- `view`: a file with numbered lines (all of it, or the lines of `view_range`), or a directory"
    " two levels deep without hidden entries. Images (.png, .jpg, .gif, .webp, .bmp) are shown as"
    " images.\n"
    "- `create`: a new file with `file_text`. A file that exists is not overwritten. Parent"
    " directories are made.\n"
    "- `str_replace`: `new_str` in place of `old_str`. `old_str` has to match the file character by"
    " character, white space included, and has to occur exactly once: add neighbouring lines until"
    " it is unique. Without `new_str` the text is deleted.\n"
    "- `insert`: `new_str` after line `insert_line`; 0 is the top of the file.\n"
    "- `undo_edit`: takes the last edit of `path` back.\n"
    "\n"
    "How to use it well\n"
    "- View a file before you edit it, so that `old_str` is what is really there.\n"
    "- Keep each edit small and leave the file in a working state; do not replace a whole file to"
    " change a few lines.\n"
    "- Edits that do not depend on each other can be sent in one response, as several calls.\n"
    "- An edit that is refused has changed nothing: read the message, view the place again, and"
    " correct the call.";

const char tool_text_task_tracker[] =
    "Keeps the list of steps of a larger job, visible to the user.\n"
    "- Use it when a job has three or more distinct steps, when the user gives several wishes at"
    " once, or when the work shows more parts than expected. Do not use it for a single simple"
    " step, or for a question.\n"
    "- `plan` replaces the whole list with `task_list`, in the order of the work. `view` shows the"
    " list as it is.\n"
    "- A task is `todo`, `in_progress` or `done`. Have exactly one task in progress while you work."
    " Mark a task `done` at once when it is really done, tests included, and not before; when it is"
    " blocked, leave it in progress and add a task for what is in the way.\n"
    "- Write tasks as results that can be checked, and put what you learn into `notes`. Remove"
    " tasks that are no longer needed.";

const char tool_text_finish[] =
    "Says that the work is over and ends the run. Call it when everything that was asked is done"
    " and checked, or when you cannot go on without the user. Put into `message` what the user"
    " needs to know: what you did and where, how you checked it, what is left or uncertain, and"
    " what they have to decide. Nothing runs after this call.";

const char tool_text_think[] =
    "Writes down a thought. Nothing happens, nothing new is learned: it is room to think aloud"
    " before a hard decision, such as which of several causes explains an error, how a change"
    " should be cut, or whether the results so far fit together.";
