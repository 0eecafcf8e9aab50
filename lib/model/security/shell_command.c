#include "model/security/shell_command.h"

#include <ctype.h>
#include <string.h>

#include "base/normal_path.h"
#include "base/text.h"
#include "model/security/shell_words.h"

static const struct {
    const char *name;
    enum shell_role role;
} roles[] = {
    {"rm", SHELL_ROLE_DELETE}, {"dd", SHELL_ROLE_COPY},       {"mkfs", SHELL_ROLE_FORMAT},
    {"eval", SHELL_ROLE_EVAL}, {"source", SHELL_ROLE_SOURCE}, {".", SHELL_ROLE_SOURCE},
    {"find", SHELL_ROLE_FIND},
};

static enum shell_role role_of(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
        if (text_equal(roles[i].name, name))
            return roles[i].role;
    }
    if (text_starts_with(name, "mkfs."))
        return SHELL_ROLE_FORMAT;
    if (shell_words_has(SHELL_FETCHERS, name, len))
        return SHELL_ROLE_FETCH;
    if (shell_words_has(SHELL_PROGRAMS, name, len))
        return SHELL_ROLE_SHELL;
    return shell_words_has(SHELL_INTERPRETERS, name, len) ? SHELL_ROLE_INTERPRETER
                                                          : SHELL_ROLE_OTHER;
}

/* NAME=value, NAME+=value, NAME[i]=value */
static bool is_assignment(const char *word)
{
    size_t len = 0;

    if (isdigit((unsigned char)word[0]))
        return false;
    while (isalnum((unsigned char)word[len]) || word[len] == '_')
        len++;
    if (len > 0 && word[len] == '[')
        len += strcspn(word + len, "=");
    return len > 0 && (word[len] == '=' || (word[len] == '+' && word[len + 1] == '='));
}

static void take_wrapper_option(struct shell_command *command, const char *option)
{
    if (option[1] == 'S' && text_equal(command->wrapper->name, "env")) {
        strbuf_append(&command->text, option + 2);
        command->role = SHELL_ROLE_EVAL;
        return;
    }
    command->skips_next = option[1] != '\0' && option[2] == '\0' &&
                          strchr(command->wrapper->valued, option[1]) != NULL;
}

static void begin_wrapper(struct shell_command *command, const struct shell_wrapper *wrapper)
{
    command->wrapper = wrapper;
    command->n_operands = wrapper->n_operands;
    if (text_equal(wrapper->name, "sudo") || text_equal(wrapper->name, "doas"))
        command->is_privileged = true;
}

static void take_program(struct shell_command *command, const struct strbuf *word, bool is_expanded)
{
    size_t len = word->len;
    const char *name = shell_program_name(word->text, &len);
    const struct shell_wrapper *wrapper = shell_wrapper_find(name, len);

    if (command->wrapper != NULL && word->text[0] == '-')
        take_wrapper_option(command, word->text);
    else if (is_assignment(word->text))
        return;
    else if (command->n_operands > 0)
        command->n_operands--;
    else if (is_expanded)
        command->role = SHELL_ROLE_UNKNOWN;
    else if (wrapper != NULL)
        begin_wrapper(command, wrapper);
    else if (text_equal(name, "function"))
        command->skips_next = true;
    else if (!shell_words_has(SHELL_KEYWORDS, word->text, word->len))
        command->role = role_of(name, len);
}

/* --- rm --- */

/* The home's names. */
static const char *const homes[] = {"~", "$HOME", "${HOME}"};

/* The path below the home, or NULL if it is not there. */
static const char *below_home(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
        const char *rest = path + strlen(homes[i]);

        if (text_starts_with(path, homes[i]) && (*rest == '\0' || *rest == '/'))
            return rest;
    }
    return NULL;
}

/* All files of a folder are as good as the folder. */
static void drop_last_star(struct strbuf *path)
{
    if (text_ends_with(path->text, "/*"))
        strbuf_truncate(path, path->len - 2);
    else if (text_ends_with(path->text, "/.*"))
        strbuf_truncate(path, path->len - 3);
}

static bool is_system_folder(const char *path)
{
    static const char *const folders[] = {"", "/", "/etc", "/usr", "/var", "/home", "/boot"};
    CLEANUP(strbuf_done) struct strbuf normal = STRBUF_INIT;
    const char *rest = below_home(path);

    if (rest == NULL && path[0] != '/')
        return false;
    normal_path_append_absolute(&normal, "/", rest == NULL ? path : rest);
    drop_last_star(&normal);
    if (rest != NULL)
        return normal.len <= 1;
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        if (text_equal(normal.text, folders[i]))
            return true;
    }
    return false;
}

static void take_deleted(struct shell_command *command, const struct strbuf *word)
{
    if (command->ends_options || word->text[0] != '-') {
        command->has_system_folder = command->has_system_folder || is_system_folder(word->text);
        return;
    }
    command->ends_options = text_equal(word->text, "--");
    command->is_recursive =
        command->is_recursive || shell_option_has(word->text, word->len, 'r', "--recursive");
    command->is_forced =
        command->is_forced || shell_option_has(word->text, word->len, 'f', "--force");
}

/* --- programs that run text --- */

static void take_of_shell(struct shell_command *command, const struct strbuf *word)
{
    const char *option = word->text;
    bool is_cluster = (option[0] == '-' || option[0] == '+') && option[1] != '-';

    if (text_equal(option, "--rcfile") || text_equal(option, "--init-file")) {
        command->skips_next = true;
    } else if (is_cluster) {
        command->takes_text = command->takes_text || strchr(option, 'c') != NULL;
        command->skips_next = tolower((unsigned char)option[word->len - 1]) == 'o';
    } else if (command->takes_text && option[0] != '-') {
        strbuf_append(&command->text, option);
        command->takes_text = false;
    }
}

/* A program, a module or a script in the arguments: the input is its data. */
static void take_of_interpreter(struct shell_command *command, const struct strbuf *word)
{
    const char *option = word->text;

    if (option[0] == '-' && (option[1] == '-' || strpbrk(option, "cmeEnpr") == NULL))
        return;
    command->has_script = true;
}

static void take_of_find(struct shell_command *command, const struct strbuf *word)
{
    if (text_starts_with(word->text, "-exec") || text_starts_with(word->text, "-ok"))
        command->role = SHELL_ROLE_NONE;
}

void shell_command_take(struct shell_command *command, const struct strbuf *word, bool is_expanded)
{
    if (command->skips_next) {
        command->skips_next = false;
        return;
    }
    switch (command->role) {
    case SHELL_ROLE_NONE:
        take_program(command, word, is_expanded);
        break;
    case SHELL_ROLE_DELETE:
        take_deleted(command, word);
        break;
    case SHELL_ROLE_COPY:
        command->has_device = command->has_device || text_starts_with(word->text, "of=/dev/");
        break;
    case SHELL_ROLE_SHELL:
        take_of_shell(command, word);
        break;
    case SHELL_ROLE_INTERPRETER:
        take_of_interpreter(command, word);
        break;
    case SHELL_ROLE_EVAL:
        strbuf_append_char(&command->text, ' ');
        strbuf_append(&command->text, word->text);
        break;
    case SHELL_ROLE_FIND:
        take_of_find(command, word);
        break;
    case SHELL_ROLE_OTHER:
    case SHELL_ROLE_UNKNOWN:
    case SHELL_ROLE_FORMAT:
    case SHELL_ROLE_FETCH:
    case SHELL_ROLE_SOURCE:
        break;
    }
}

void shell_command_take_input(struct shell_command *command, const struct strbuf *word)
{
    strbuf_append_char(&command->text, '\n');
    strbuf_append(&command->text, word->text);
}

void shell_command_report(const struct shell_command *command, struct shell_findings *findings)
{
    bool is_forced_delete = command->is_recursive && command->is_forced;

    if (is_forced_delete)
        findings->has_forced_delete = true;
    if (is_forced_delete && command->has_system_folder)
        findings->has_system_delete = true;
    if (command->role == SHELL_ROLE_DELETE && command->is_privileged)
        findings->has_root_delete = true;
    if (command->has_device || command->role == SHELL_ROLE_FORMAT)
        findings->has_disk_write = true;
}

bool shell_command_runs_input(const struct shell_command *command)
{
    return command->role == SHELL_ROLE_SHELL || command->role == SHELL_ROLE_SOURCE ||
           (command->role == SHELL_ROLE_INTERPRETER && !command->has_script);
}

bool shell_command_runs_arguments(const struct shell_command *command)
{
    return command->role == SHELL_ROLE_SHELL || command->role == SHELL_ROLE_SOURCE ||
           command->role == SHELL_ROLE_INTERPRETER || command->role == SHELL_ROLE_EVAL ||
           command->role == SHELL_ROLE_UNKNOWN;
}

void shell_command_reset(struct shell_command *command)
{
    strbuf_done(&command->text);
    *command = (struct shell_command)SHELL_COMMAND_INIT;
}
