#!/bin/sh
# All C files are formatted by .clang-format. The test uses only the version of clang-format that formatted them, since
# # others differ in small ways; if that version is missing, the test is skipped. Argument: the top folder.
. "$(dirname "$0")/report.sh"
cd "$1" || exit 1
version=14
sentence="clang-format $version has nothing to change in the C files"

for program in "clang-format-$version" clang-format; do
    ! "$program" --version 2>/dev/null | grep -q "version $version\\." || break
    program=""
done
if [ -n "$program" ]; then
    # shellcheck disable=SC2046 # names without spaces
    expect_success "$sentence" "$program" --dry-run -Werror \
        couplet.h $(find core ops layers optim models experiments tests docs -name '*.[ch]' -o -name '*.inc')
else
    skip "$sentence" "clang-format $version is missing"
    echo "note: the format of the C files was not checked, since clang-format $version is missing"
fi
finish
