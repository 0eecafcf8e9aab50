/*
 * Shell code that deft-action sends to a new shell for its `eval`.
 *
 * A command never passes through the terminal's line editing: it is in a memory file that the shell
 * reads (COMMAND fd), after its exports. The end of a command is reported in two places: a record
 * on a pipe (RECORD fd), which output cannot forge, and a control sequence on the terminal (TTY
 * fd), which marks the end of the output. A record is five fields, each ended by NUL: nonce and
 * number of the command, exit code, pid of the last background job, working directory, PATH.
 */
#ifndef DEFT_SANDBOX_TERMINAL_SHELL_SCRIPT_H
#define DEFT_SANDBOX_TERMINAL_SHELL_SCRIPT_H

/* bash: numbers that scripts are unlikely to use. A plain sh accepts single digits only. */
enum {
    BASH_COMMAND_FD = 60,
    BASH_RECORD_FD = 61,
    BASH_TTY_FD = 62,
    SH_COMMAND_FD = 6,
    SH_RECORD_FD = 7,
    SH_TTY_FD = 8,
};

/* The line typed for the setup, and the one typed for each command. */
#define BASH_SETUP_LINE " IFS= read -r -d '' -u 60 __deft_c; eval \"$__deft_c\"\n"
#define SH_SETUP_LINE " __deft_c=$(cat <&6); eval \"$__deft_c\"\n"
/*
 * Both branches are the same, but set `$?` to that of the previous command. The leading newline
 * resets bash's parser, which a syntax error inside eval leaves in the middle of a command.
 */
#define SHELL_COMMAND_LINE                                                                         \
    "\n if __deft_get; then eval \"$__deft_c\"; else eval \"$__deft_c\"; fi; __deft_keep\n"

/*
 * PROMPT_COMMAND reports the end, also after Ctrl-C, which drops the rest of the typed line. The
 * user's own PROMPT_COMMAND runs before it; it may contain ours, so each end is reported once.
 * `local -` hides this code from a user's `set -x`.
 */
#define BASH_SETUP                                                                                 \
    "set +H; set +o history; unset HISTFILE; IGNOREEOF=1000\n"                                     \
    "__deft_get() { { local -; set +xeu; } 2>/dev/null; local e\n"                                 \
    "IFS= read -r -d '' -u 60 e; IFS= read -r -d '' -u 60 __deft_c\n"                              \
    "__deft_k=; eval \"$e\"; return \"$__deft_s\"; }\n"                                            \
    "__deft_keep() { __deft_s=$?; { local -; set +xeu; } 2>/dev/null; __deft_k=kept\n"             \
    "if [ \"$PROMPT_COMMAND\" != __deft_prompt ]; then __deft_u=$PROMPT_COMMAND\n"                 \
    "unset PROMPT_COMMAND; PROMPT_COMMAND=__deft_prompt; fi; return 0; }\n"                        \
    "__deft_prompt() { local s=$?; { local -; set +xeu; } 2>/dev/null\n"                           \
    "if [ \"$__deft_k\" = told ]; then return 0; fi\n"                                             \
    "if [ \"$__deft_k\" = kept ]; then s=$__deft_s; fi; __deft_k=told; __deft_s=$s\n"              \
    "if [ -n \"$__deft_u\" ]; then eval \"$__deft_u\"; fi; PS1=; PS2=\n"                           \
    "builtin printf '\\033]7770;%s;%s\\007' \"$__deft_n\" \"$__deft_i\" >&62\n"                    \
    "builtin printf '%s;%s\\0%s\\0%s\\0%s\\0%s\\0' \"$__deft_n\" \"$__deft_i\" \"$s\" \"$!\" "     \
    "\"$PWD\" \"$PATH\" >&61; return 0; } 2>/dev/null\n"                                           \
    "__deft_u=${PROMPT_COMMAND-}; unset PROMPT_COMMAND; PROMPT_COMMAND=__deft_prompt; "            \
    "__deft_s=0; __deft_k=\n"

/*
 * A plain sh cannot read up to a NUL: its file assigns the command, quoted, to __deft_c. It reports
 * the end at the end of the line; its prompt does so again, for Ctrl-C.
 */
#define SH_SETUP                                                                                   \
    "set -m 2>/dev/null\n"                                                                         \
    "__deft_tell() { printf '\\033]7770;%s;%s\\007' \"$__deft_n\" \"$__deft_i\" >&8\n"             \
    "printf '%s;%s\\000%s\\000%s\\000%s\\000%s\\000' \"$__deft_n\" \"$__deft_i\" \"$1\" "          \
    "\"${!:-}\" \"$PWD\" \"$PATH\" >&7; }\n"                                                       \
    "__deft_get() { eval \"$(cat <&6)\"; return \"$__deft_s\"; }\n"                                \
    "__deft_keep() { __deft_s=$?; __deft_tell \"$__deft_s\"; PS1='$(__deft_tell $?)'; PS2=; }\n"   \
    "PS1='$(__deft_tell $?)'; PS2=; __deft_s=0; __deft_tell 0\n"

#endif
