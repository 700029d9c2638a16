#!/bin/sh
# README is short, links lead to existing files, the index lists every page, and quotations from source files are exact.
# # Argument: the top folder.
. "$(dirname "$0")/report.sh"
cd "$1" || exit 1
pages="README.md CONTRIBUTING.md CHANGELOG.md $(echo docs/*.md docs/course/*.md docs/course/*/*.md docs/course/projects/*/*.md)"

# Targets of the form [text](target) and ![text](target), except web addresses.
broken_links() {
    for page in $pages; do
        grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//; s/#.*//' | grep -v -e '^https*:' -e '^$' | while read -r target; do
            [ -e "$(dirname "$page")/$target" ] || echo "$page: $target"
        done
    done
}

unlisted_pages() {
    for page in docs/*.md; do
        name=$(basename "$page")
        [ "$name" = README.md ] || grep -q "($name)" docs/README.md || echo "$page"
    done
}

# A quotation is the code block after a line such as <!-- from: ops/unary.c -->. Its lines follow each other in the file; spaces and empty
# lines may differ, and a line /* ... */ stands for lines that are left out.
invented_quotations() {
    for page in $pages; do
        awk -v page="$page" '
            function squeezed(text) { gsub(/[ \t]+/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text); return text }
            function load(file,    text) {
                if (file in count) return
                count[file] = 0
                while ((getline text < file) > 0) if (squeezed(text) != "") source[file, ++count[file]] = squeezed(text)
                close(file)
            }
            function found(file, lines,    first, i, at, gap) {
                for (first = 1; first <= count[file]; first++) {
                    at = first - 1; gap = 0
                    for (i = 1; i <= lines; i++) {
                        if (quoted[i] == "/* ... */") { gap = 1; continue }
                        do at++; while (gap && at <= count[file] && index(source[file, at], quoted[i]) == 0)
                        if (at > count[file] || index(source[file, at], quoted[i]) == 0) break
                        gap = 0
                    }
                    if (i > lines) return 1
                }
                return 0
            }
            /^<!-- from: .* -->$/ { file = $3; next }
            inside && /^```/ {
                load(file)
                if (!found(file, n)) print page ": " file " does not have these lines, one after the other: " quoted[1] " ..."
                inside = 0; file = ""; next
            }
            inside && squeezed($0) != "" { quoted[++n] = squeezed($0) }
            file && !inside && /^```/ { inside = 1; n = 0 }' "$page"
    done
}

# Functions that docs/reading.md lists and their file does not have. Macros make some of them: cp_add and add_grad of `add`.
unknown_functions() {
    sed -n 's/^| `\([a-z_/0-9]*\.[a-z]*\)` | \(`.*\) |$/\1 \2/p' docs/reading.md | while read -r file list; do
        for name in $(echo "$list" | grep -o '`[a-z_0-9]*`' | tr -d '`'); do
            stem=$(echo "$name" | sed 's/^cp_//; s/^ref_//; s/_row$//; s/_grad$//')
            grep -qw -e "$name" -e "$stem" "$file" || echo "$file has no $name"
        done
    done
}

lines=$(wc -l <README.md)
expect_success "README has at most 150 lines (it has $lines)" test "$lines" -le 150
# shellcheck disable=SC2016 # the line as it is printed
expect_success "README has the compile command that the tests of programs use" \
    grep -qxF 'cc fit.c $(pkg-config --cflags --libs couplet) -o fit && ./fit' README.md
expect_empty "links lead to files" "$(broken_links)"
expect_empty "docs/README.md lists every page" "$(unlisted_pages)"
expect_success "there are quotations" grep -q '^<!-- from: ' docs/library.md docs/autodiff.md
expect_empty "quotations from files are exact" "$(invented_quotations)"
expect_empty "docs/reading.md lists functions that exist" "$(unknown_functions)"
finish
