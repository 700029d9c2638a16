#!/bin/sh
# Writes a text file as a C string. Arguments: the string's name, the file.
# A line "@include OTHER@" of the file stands for the file OTHER beside it, without its indentation and lines of comment.
set -eu
echo "/* Made by the build from $(basename "$2"). */"
echo "extern const char $1[];"
echo "const char $1[] ="
text=$(awk -v folder="$(dirname "$2")" '
    /^@include .*@$/ {
        other = folder "/" substr($0, 10, length($0) - 10)
        while ((status = getline line < other) > 0) { sub(/^ +/, "", line); if (line !~ /^\/\*.*\*\/$/) print line }
        if (status < 0) { print "cannot read " other > "/dev/stderr"; exit 1 }
        next
    }
    { print }' "$2") # a failure in a pipe would not be noticed
printf '%s\n' "$text" | od -An -v -to1 | sed 's/ /\\/g; s/^/    "/; s/$/"/'
echo ";"
