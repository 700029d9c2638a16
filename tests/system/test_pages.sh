#!/bin/sh
# README is short, links lead to existing files, the index lists every page, and quotations from source files are exact.
# # Argument: the top folder.
. "$(dirname "$0")/report.sh"
cd "$1" || exit 1
pages="README.md CONTRIBUTING.md CHANGELOG.md $(echo docs/*.md docs/course/*.md docs/course/*/*.md)"

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

one_spaced() {
    tr -s ' '
}

# A quotation is the code block after a line such as <!-- from: ops/unary.c -->; spaces may differ.
invented_quotations() {
    for page in $pages; do
        awk '/^<!-- from: .* -->$/ { file = $3; next }
            inside && /^```/ { inside = 0; file = ""; next }
            inside && NF { print file "\t" $0 }
            file && /^```/ { inside = 1 }' "$page" | while IFS='	' read -r file line; do
            one_spaced <"$file" | grep -qF -- "$(echo "$line" | one_spaced)" || echo "$page: $file has no line $line"
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
finish
