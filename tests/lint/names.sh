#!/bin/sh
# Names of the production tree: one type name has one meaning, a stem stands in one folder, no stem is a metaphor or
# a vague word, and no type name a metaphor. Prints each offence; exit 1 when there is one.
# Exceptions are in names.txt, each with a reason.
set -eu

cd "$(dirname "$0")/../.."
folders=''
for folder in lib fcgi gateway worker runtime sandbox relay launcher; do
    if [ -d "$folder" ]; then
        folders="$folders $folder"
    fi
done

# shellcheck disable=SC2016,SC2086 # awk's own dollars; a list of our own folder names
find $folders -name '*.[ch]' | LC_ALL=C sort | xargs awk -v excuses=tests/lint/names.txt '
function complain(place, text) {
    print place ": " text
    n_bad++
}

# Whether names.txt has a line for it; a line that is used is kept.
function is_excused(kind, name) {
    if (!((kind, name) in reason))
        return 0
    needed[kind, name] = 1
    return 1
}

function read_excuses(    line, field, n) {
    while ((getline line <excuses) > 0) {
        sub(/#.*/, "", line)
        n = split(line, field, /[ \t]+/)
        if (field[1] == "")
            continue
        reason[field[1], field[2]] = field[3]
        if (n < 3 || field[3] == "")
            complain(excuses, field[1] " " field[2] " has no reason")
    }
}

function see_tag(tag,    i, n, part) {
    n = split(tag, part, "_")
    for (i = 1; i <= n; i++) {
        if (part[i] in is_metaphor && !is_excused("metaphor", tag))
            complain(FILENAME ":" FNR, "\"" part[i] "\" does not say what " tag " is")
    }
    if (!(tag in tag_at)) {
        tag_at[tag] = FILENAME ":" FNR
        return
    }
    if (!is_excused("tag", tag))
        complain(FILENAME ":" FNR, tag " is also defined at " tag_at[tag])
}

function see_stem(path,    i, n, stem, part) {
    sub(/[.][ch]$/, "", path)
    if (path == last_path)
        return
    last_path = path
    stem = path
    sub(/.*\//, "", stem)
    if (!(stem in stem_at))
        stem_at[stem] = path
    else if (!is_excused("stem", stem))
        complain(path, "the stem is also that of " stem_at[stem])
    n = split(stem, part, "_")
    for (i = 1; i <= n; i++) {
        if (part[i] in is_part || (n == 1 && part[i] in is_alone)) {
            if (!is_excused("word", path))
                complain(path, "\"" part[i] "\" does not say what is in the file")
        }
    }
}

BEGIN {
    # Parts of a stem, between underscores, that are no word of the field.
    n = split("arrival birth book choice complaint dialogue door dormancy doubt draft errand fit gate guard " \
              "handover keep lane launch life news pace rest room seat shape shelf shown spare spares spill " \
              "tally tell telling trial trouble vault visitor wish " \
              "common helper helpers manager misc parts stuff things util utils", list, " ")
    for (i = 1; i <= n; i++)
        is_part[list[i]] = 1
    # Whole stems that say nothing; as a part of a longer stem they may.
    n = split("answer ask begin change check collect control ending inside lookup mask part place plan prepare " \
              "problem question record replace row run serve side source state take view waits", list, " ")
    for (i = 1; i <= n; i++)
        is_alone[list[i]] = 1
    # Parts of a type name that are no word of the field.
    n = split("arrival birth book complaint dialogue door dormancy doubt errand face gathering handing handover " \
              "impatience keep lane manners motion news pace rest room seat shape shelf shown spare spill taking " \
              "tally tell telling trial trouble vault wish", list, " ")
    for (i = 1; i <= n; i++)
        is_metaphor[list[i]] = 1
    read_excuses()
}

FNR == 1 { see_stem(FILENAME) }

/^[ \t]*((static|const|typedef)[ \t]+)*(struct|enum|union)[ \t]+[A-Za-z0-9_]+[ \t]*\{/ {
    match($0, /(struct|enum|union)[ \t]+[A-Za-z0-9_]+/)
    tag = substr($0, RSTART, RLENGTH)
    sub(/.*[ \t]/, "", tag)
    see_tag(tag)
}

END {
    for (key in reason) {
        if (!(key in needed)) {
            split(key, field, SUBSEP)
            complain(excuses, field[1] " " field[2] " needs no reason")
        }
    }
    exit n_bad > 0
}
'
