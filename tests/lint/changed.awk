# Prints the C files that differ from those of an earlier time, or include something that does, over any number of
# headers. Reads three files: the sums of then (empty: nothing is known, and nothing differs), the sums of now, both as
# sha256sum prints them, and the lines `FILE:#include "HEADER"` of all sources.

FILENAME == ARGV[1] { then[$2] = $1; n_then++; next }
FILENAME == ARGV[2] { now[$2] = $1; next }
{
    colon = index($0, ":")
    file = substr($0, 1, colon - 1)
    split($0, pieces, "\"")
    header = resolve(file, pieces[2])
    if (header != "")
        includers[header] = includers[header] " " file
}

END {
    if (n_then == 0)
        exit
    for (file in now)
        if (now[file] != then[file])
            mark(file)
    for (file in marked)
        if (file ~ /\.c$/)
            print file
}

# The header as the compiler finds it; "" for one that the build makes.
function resolve(file, name,    folder, i, n, folders) {
    folder = file
    sub(/[^\/]*$/, "", folder)
    n = split("lib/ . tests/ tests/unit/ tests/unit/fcgi/", folders, " ")
    if ((folder name) in now)
        return folder name
    for (i = 1; i <= n; i++) {
        folder = folders[i] == "." ? "" : folders[i]
        if ((folder name) in now)
            return folder name
    }
    return ""
}

function mark(file,    i, n, names) {
    if (file in marked)
        return
    marked[file] = 1
    n = split(includers[file], names, " ")
    for (i = 1; i <= n; i++)
        mark(names[i])
}
