#!/usr/bin/env python3
"""Compares Couplet with PyTorch: runs both alternately for several rounds, and prints the ratios of PyTorch's times to Couplet's.

    tests/bench/compare.py build/couplet [--threads 2] [--rounds 5] [--csv RATIOS.csv]

Needs Debian's python3-torch; without it, prints a message and exits with 0. Ratios are computed within each round, and the
median over the rounds is shown, since machines differ and are noisy. `build/tests/plot_ratios RATIOS.csv FIGURE` draws the result.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys

NETWORKS = [(10, 1, 0, 28, 1, 64), (10, 2, 0, 28, 3, 64), (16, 2, 0, 28, 3, 64), (16, 2, 1, 28, 3, 64), (16, 4, 0, 32, 1, 64)]
KINDS = ("sgld", "train", "infer")
PYTHON = "/usr/bin/python3"


def name(network):
    depth, width, norm, side, channels, _ = network
    return f"WRN-{depth}-{width} {side}x{side}x{channels}" + (" norm" if norm else "")


def times(command, threads, network):
    line = subprocess.run([*command, str(threads), *map(str, network)], check=True, capture_output=True, text=True).stdout
    return {kind: float(re.search(rf"{kind} ([\d.]+) ms", line).group(1)) for kind in KINDS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("couplet")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--csv")
    options = parser.parse_args()
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
        print("compare: skipped, PyTorch is not installed (apt-get install python3-torch)")
        return 77
    ours = [options.couplet, "bench", "wrn"]
    theirs = [PYTHON, os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrn_torch.py")]
    ratios = {network: {kind: [] for kind in KINDS} for network in NETWORKS}
    for turn in range(options.rounds):
        for network in NETWORKS:
            a, b = times(ours, options.threads, network), times(theirs, options.threads, network)
            for kind in KINDS:
                ratios[network][kind].append(b[kind] / a[kind])
            print(f"round {turn + 1}  {name(network):26}" + "".join(
                f"  {kind} {b[kind]:.1f} / {a[kind]:.1f} = {b[kind] / a[kind]:.2f}" for kind in KINDS), flush=True)
    print(f"\n{'median of ' + str(options.rounds):34}" + "".join(f"{kind:>8}" for kind in KINDS))
    lines = ["network," + ",".join(KINDS)]
    for network in NETWORKS:
        medians = [statistics.median(ratios[network][kind]) for kind in KINDS]
        print(f"{name(network):34}" + "".join(f"{m:8.2f}" for m in medians))
        lines.append(name(network) + "," + ",".join(f"{m:.3f}" for m in medians))
    if options.csv:
        with open(options.csv, "w") as file:
            file.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
