# The rules of words.sh. A line that has to break one says why: NOLINT(words): the reason; or
# NOLINTNEXTLINE(words) above it.
# Each line is seen twice: `code` without comments and with empty texts,
# `texts` with its texts.

function complain(text) {
    if (is_excused)
        return
    printf "%s:%d: %s\n", FILENAME, FNR, text
    n_bad++
}

# Sets code and texts from $0; keeps in mind whether a comment goes on.
function strip(line,    rest, at, what, end) {
    rest = line
    code = ""
    texts = ""
    while (rest != "") {
        if (in_comment) {
            end = index(rest, "*/")
            if (end == 0)
                return
            rest = substr(rest, end + 2)
            in_comment = 0
            continue
        }
        if (!match(rest, /["']|\/\*|\/\//)) {
            code = code rest
            texts = texts rest
            return
        }
        at = RSTART
        what = substr(rest, at, RLENGTH)
        code = code substr(rest, 1, at - 1)
        texts = texts substr(rest, 1, at - 1)
        rest = substr(rest, at)
        if (what == "//")
            return
        if (what == "/*") {
            in_comment = 1
            rest = substr(rest, 3)
            continue
        }
        if (!match(rest, what == "\"" ? "^\"([^\"\\\\]|\\\\.)*\"" : "^'([^'\\\\]|\\\\.)*'"))
            RLENGTH = length(rest)
        code = code what what
        texts = texts substr(rest, 1, RLENGTH)
        rest = substr(rest, RLENGTH + 1)
    }
}

function is_call(name) {
    return code ~ ("(^|[^A-Za-z0-9_>.])" name "[ \t]*\\(")
}

function check_calls(    i) {
    for (i = 1; i <= n_banned; i++) {
        if (index(code, banned[i]) > 0 && is_call(banned[i]))
            complain(banned[i] "() is not used here")
    }
    if (code ~ /(^|[^A-Za-z0-9_])goto[ \t]/)
        complain("goto")
    if (index(code, "getenv") > 0 && is_call("(secure_)?getenv") &&
        FILENAME != "lib/base/settings.c" && !is_test)
        complain("the environment is read in lib/base/settings.c alone")
    if (index(code, "json_") > 0 && is_call("json_v?pack(_ex)?") && FILENAME != "lib/base/json.c")
        complain("json_build() instead of json_pack()")
    # It gives NULL for what is no UTF-8, as outside text may be.
    if (index(code, "json_string") > 0 && is_call("json_stringn?(_nocheck)?") &&
        FILENAME != "lib/base/json.c" && !is_test)
        complain("json_text() or json_text_of() instead of json_string()")
    if (code ~ /(!|if \(|&& |\|\| )str(n|case|ncase)?cmp\([^()]*\) *(\)|&&|\|\||\?|$)/)
        complain("a bare strcmp() reads as its opposite: text_equal()")
    if (!is_main && !is_test && code !~ /^#/) {
        if (is_call("(v?printf|puts|putchar|perror)") || is_call("fprintf"))
            complain("only main.c prints")
        if (is_call("(exit|quick_exit)"))
            complain("only main.c ends the process")
    }
    if (is_test && is_call("(sleep|usleep|nanosleep)"))
        complain("a test does not sleep, it waits for a condition")
}

# A static inside a function must be constant all through.
function check_static() {
    if (code !~ /^[ \t]+static[ \t]/ || code ~ /static[ \t]+inline|static_assert/)
        return
    if (code !~ /const/ || (code ~ /\*[ \t]*[A-Za-z_]/ && code !~ /\*[ \t]*const/))
        complain("a static local that can change")
}

function check_texts() {
    if (FILENAME !~ /^(lib\/store|tests)\// &&
        texts ~ /"(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|LISTEN|NOTIFY|WITH) [A-Za-z_"*(]/)
        complain("SQL lives in lib/store")
    if (texts ~ /"[^"]*[{,]\\"[a-z_]+\\": ?\\?"?%/ && !is_test && FILENAME !~ /^lib\/base\/(log|mem)[.]c$/)
        complain("JSON is built, not glued from text")
}

function check_comment() {
    if ($0 ~ /(TODO|FIXME)/ && $0 !~ /TODO\(#[0-9]+\)/)
        complain("a TODO names its issue: TODO(#123)")
    if ($0 ~ /NOLINT/ && $0 !~ /NOLINTEND/ && $0 !~ /NOLINT[A-Z]*\([^)]*\): ./)
        complain("NOLINT(check) carries its reason: NOLINT(check): why")
}

# Declarations that may go on over lines: collected up to their end, then looked at.
function check_cleanup() {
    if (cleanup == "" && code ~ /(^|[ \t;{])CLEANUP\(/ && code !~ /^#/) {
        cleanup = code
        cleanup_line = FNR
    } else if (cleanup != "") {
        cleanup = cleanup " " code
    }
    if (cleanup != "" && index(cleanup, ";") > 0) {
        if (index(cleanup, "=") == 0) {
            printf "%s:%d: CLEANUP without an initialiser\n", FILENAME, cleanup_line
            n_bad++
        }
        cleanup = ""
    }
}

function check_prototype(    n_open, n_close) {
    if (!is_header || code ~ /^[ \t]*#/ || code ~ /\\$/)
        return
    n_open = gsub(/\{/, "{", code)
    n_close = gsub(/\}/, "}", code)
    if (depth == 0 && n_open == 0 && code ~ /[^ \t]/) {
        if (prototype == "")
            prototype_line = FNR
        prototype = prototype " " code
    }
    depth += n_open - n_close
    if (n_open > 0 || n_close > 0)
        prototype = ""
    if (index(prototype, ";") == 0)
        return
    if (prototype ~ /[(,] *struct error \*err\)/ && prototype !~ /^ *typedef|MUST_CHECK/ &&
        !returns_minus_1) {
        printf "%s:%d: a function that can fail is MUST_CHECK\n", FILENAME, prototype_line
        n_bad++
    }
    prototype = ""
    returns_minus_1 = 0
}

function check_end_of_file() {
    if (last_file == "")
        return
    if (n_lines > 800) {
        printf "%s:%d: over 800 lines: look for the second subject\n", last_file, n_lines
        n_bad++
    }
}

BEGIN {
    n_banned = split("strcpy stpcpy strcat sprintf vsprintf strtok atoi atol atof system popen " \
                     "gmtime localtime ctime asctime strerror alloca gets tmpnam tempnam mktemp " \
                     "pthread_cancel vfork rand srand", banned, " ")
}

FNR == 1 {
    check_end_of_file()
    in_comment = 0
    cleanup = ""
    prototype = ""
    returns_minus_1 = 0
    excuses_next = 0
    depth = 0
    is_header = FILENAME ~ /[.]h$/
    is_test = FILENAME ~ /^tests\//
    is_main = FILENAME ~ /\/main[.]c$/
    if (is_header && $0 !~ /^\/\*/)
        complain("a header begins with what it is for")
}

{
    last_file = FILENAME
    n_lines = FNR
    is_excused = excuses_next || $0 ~ /NOLINT\(words\): ./
    excuses_next = $0 ~ /NOLINTNEXTLINE\(words\): ./
    if ($0 ~ /[Rr]eturns -1[.]/)
        returns_minus_1 = 1
    strip($0)
    check_comment()
    check_calls()
    check_static()
    check_texts()
    if (FILENAME != "lib/base/attr.h")
        check_cleanup()
    check_prototype()
}

END {
    check_end_of_file()
    exit n_bad > 0
}
