#!/usr/bin/env python3
"""The percentage of a step's instructions that run outside core/kernels, from callgrind:

    valgrind --tool=callgrind --callgrind-out-file=cg.out --toggle-collect=cp_sgld_run build/couplet bench wrn 1 10 1 0 28 1 16
    callgrind_annotate --auto=no --threshold=100 cg.out | tests/bench/outside_kernels.py

A function counts as a kernel if any of its lines are in core/kernels (including functions that the compiler inlined into it).
"""
import re
import sys

rows = []
for line in sys.stdin:
    match = re.match(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+(\S+):(\S+)", line)
    if match:
        rows.append((int(match[1].replace(",", "")), match[2], match[3]))
kernels = {function for _, file, function in rows if "core/kernels" in file}
outside = [row for row in rows if row[2] not in kernels]
total = sum(count for count, _, _ in rows)
print(f"{100 * sum(count for count, _, _ in outside) / total:.2f} % of {total} instructions are outside the kernels")
for count, file, function in outside[:10]:
    print(f"  {100 * count / total:5.2f} %  {function}  ({file})")
