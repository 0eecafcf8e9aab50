#include "model/tools/browser_tools.h"

#include "base/attr.h"

static const struct field navigate_fields[] = {
    {.name = "url",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .help = "The address: http or https."},
    {.name = "new_tab",
     .kind = FIELD_BOOL,
     .fallback = "false",
     .help = "True: in a new tab. False (the default): in the current one."},
};
const struct object_schema browser_navigate_schema = CLOSED_SCHEMA(navigate_fields);

static const char index_help[] = "The element's number in the last browser_get_state.";

static const struct field click_fields[] = {
    {.name = "index",
     .kind = FIELD_INT,
     .rules = FIELD_REQUIRED | FIELD_FROM_0,
     .help = index_help},
    {.name = "new_tab",
     .kind = FIELD_BOOL,
     .fallback = "false",
     .help = "True: open the link in a new tab. Only for links."},
};
const struct object_schema browser_click_schema = CLOSED_SCHEMA(click_fields);

static const struct field type_fields[] = {
    {.name = "index",
     .kind = FIELD_INT,
     .rules = FIELD_REQUIRED | FIELD_FROM_0,
     .help = index_help},
    {.name = "text",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .help = "What the field is to hold. A newline presses Enter. For a list of choices: the text"
             " of one; for a file field: the path of a file."},
};
const struct object_schema browser_type_schema = CLOSED_SCHEMA(type_fields);

static const struct field get_state_fields[] = {
    {.name = "include_screenshot",
     .kind = FIELD_BOOL,
     .fallback = "false",
     .help = "True: with a picture of what is visible. It costs much; ask for it when the text does"
             " not do."},
};
const struct object_schema browser_get_state_schema = CLOSED_SCHEMA(get_state_fields);

static const struct field get_content_fields[] = {
    {.name = "extract_links",
     .kind = FIELD_BOOL,
     .fallback = "false",
     .help = "True: with the addresses of links."},
    {.name = "start_from_char",
     .kind = FIELD_INT,
     .rules = FIELD_FROM_0,
     .fallback = "0",
     .help = "Where to begin; the answer names the next beginning when there is more."},
};
const struct object_schema browser_get_content_schema = CLOSED_SCHEMA(get_content_fields);

static const struct field scroll_fields[] = {
    {.name = "direction",
     .kind = FIELD_TEXT,
     .fallback = "\"down\"",
     .words = "up|down",
     .help = "Which way to scroll."},
};
const struct object_schema browser_scroll_schema = CLOSED_SCHEMA(scroll_fields);

static const struct field tab_fields[] = {
    {.name = "tab_id",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .help = "The tab's four characters from browser_list_tabs."},
};
const struct object_schema browser_tab_schema = CLOSED_SCHEMA(tab_fields);

static const struct field set_storage_fields[] = {
    {.name = "storage_state",
     .kind = FIELD_MAP,
     .rules = FIELD_REQUIRED,
     .help = "{\"cookies\": [{\"name\", \"value\", \"domain\", \"path\", …}], \"origins\":"
             " [{\"origin\", \"localStorage\": [{\"name\", \"value\"}]}]}, as browser_get_storage"
             " gives it."},
};
const struct object_schema browser_set_storage_schema = CLOSED_SCHEMA(set_storage_fields);

const struct object_schema browser_nothing_schema = {NULL, 0, true};

const char browser_navigate_text[] =
    "Opens a web page in the browser of the sandbox and waits until it is loaded. Servers that you"
    " started in the sandbox are at http://localhost:PORT. Files that a page gives land in"
    " .downloads below the working directory.";

const char browser_click_text[] =
    "Clicks an element of the page by its number. Call browser_get_state first: the numbers are"
    " those of the last state and change with the page.";

const char browser_type_text[] =
    "Writes text into a field of the page by its number, in place of what it held; also chooses"
    " from a list and sets dates and files. Call browser_get_state first.";

const char browser_get_state_text[] =
    "Gives the page's address and title, the open tabs, and the elements that can be clicked or"
    " typed into, each with the number that browser_click and browser_type take. Read it before"
    " each of them: a page may have changed.";

const char browser_get_content_text[] =
    "Gives the text of the page as Markdown, up to 30,000 characters at a time. Use it to read a"
    " page; use browser_get_state to act on it.";

const char browser_scroll_text[] =
    "Scrolls the page by 500 pixels. Clicking and typing scroll by themselves: use this for pages"
    " that load more when they are scrolled, or before a screenshot.";

const char browser_go_back_text[] =
    "Goes back to the page that the current tab showed before, as the browser's back button does."
    " The numbers of elements have to be read again.";

const char browser_list_tabs_text[] =
    "Lists the open tabs with the id that browser_switch_tab and browser_close_tab take, the"
    " address and the title of each.";

const char browser_switch_tab_text[] =
    "Makes another tab the current one: all other browser tools then work there. A tab that is"
    " opened becomes the current one by itself.";

const char browser_close_tab_text[] =
    "Closes a tab. When it was the current one, the tab that was opened last becomes current, and"
    " the answer names it.";

const char browser_get_storage_text[] =
    "Gives the browser's cookies and the local storage of the current page as JSON, such as to keep"
    " a signed-in session for browser_set_storage.";

const char browser_set_storage_text[] =
    "Sets cookies and local storage from JSON as browser_get_storage gives it, such as to restore a"
    " signed-in session. What is there already stays unless it has the same name.";

const char browser_guidance[] =
    "- Fetch a page with a plain command (`curl`) first; use the browser for pages that need"
    " scripts, forms or a look.\n"
    "- Call `browser_get_state` before each click or text: the numbers of elements change with the"
    " page.\n"
    "- When about twenty browser calls have not brought you further, stop and say what is in the"
    " way.\n"
    "- Give up at captchas, sign-in walls and paywalls: tell the user, and do not try to get"
    " around them.\n"
    "- Do not submit forms, sign up, buy or post anything unless the user asked for it.";
