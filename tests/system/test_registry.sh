#!/bin/sh
# Every op in the library is in the list that tools and the gradient test use (ops/registry.c). Arguments: the static
# library.
. "$(dirname "$0")/report.sh"
library=$1

# The ops that are defined, and those that the object of ops/registry.c refers to; in each list and not in the other.
unlisted_ops() {
    nm "$library" 2>/dev/null | awk '
        /:$/ { in_registry = /registry/ }
        NF > 1 && $(NF - 1) ~ /^[RDrd]$/ && $NF ~ /^cp_op_/ { defined[$NF] = 1 }
        in_registry && $1 == "U" && $2 ~ /^cp_op_/ { listed[$2] = 1 }
        END { for (op in defined) if (!(op in listed)) print op }'
}

op_count() {
    nm "$library" 2>/dev/null | awk 'NF > 1 && $(NF - 1) ~ /^[RDrd]$/ && $NF ~ /^cp_op_/' | wc -l
}

if command -v nm >/dev/null; then
    expect_success "nm finds the ops" test "$(op_count)" -gt 50
    expect_empty "every op is in the registry" "$(unlisted_ops)"
else
    skip "every op is in the registry" "nm is missing"
fi
finish
