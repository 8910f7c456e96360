"""From the lines of all rounds to rows: medians and spread of each variant and size, the link's limit, tables and CSV."""
import collections
import csv
import statistics

import limits

COLUMNS = ["hosts", "rate_mbit", "bytes", "variant", "median_us", "min_us", "max_us", "goodput_of_limit", "cpu_s_per_gb", "mtu", "switch", "rounds",
           "calls", "spread", "offloaded", "packets_per_host", "wire_bytes_per_host", "retransmissions"]


def collect(lines):
    """{(bytes, variant): [line of each round]}."""
    rounds = collections.defaultdict(list)
    for line in lines:
        if "error" not in line:
            rounds[line["bytes"], line["variant"]].append(line)
    return rounds


def ratio(a, b):
    return a / b if a is not None and b else None


def total(lines, name):
    return sum(line.get(name, 0) for line in lines)


def row_of(size, variant, lines, setting, limit_us):
    medians = [line["median_us"] for line in lines]
    median = statistics.median(medians)
    row = {"bytes": size, "variant": variant, "median_us": median, "min_us": min(line["min_us"] for line in lines),
           "max_us": max(line["max_us"] for line in lines), "goodput_of_limit": ratio(limit_us, median), "rounds": len(lines),
           "spread": (max(medians) - min(medians)) / median, **setting}
    calls = total(lines, "calls")
    if calls:  # the measuring program's own lines
        hosts = lines[0]["hosts"]
        row.update(calls=calls, cpu_s_per_gb=total(lines, "cpu_s") / hosts / (calls * size / 1e9),
                   offloaded=min(1.0, total(lines, "offloaded") / calls), packets_per_host=total(lines, "packets") / hosts / calls,
                   wire_bytes_per_host=total(lines, "wire_bytes") / hosts / calls,
                   retransmissions=total(lines, "tcp_retransmissions") + total(lines, "ina_retransmissions"))
    return row


def rows_of(lines, setting, mtu, family):
    """One row for each size and variant, in the order of the lines, the limit first."""
    rounds = collect(lines)
    rows = []
    for size in sorted({size for size, _ in rounds}):
        limit_us = limits.limit_us(size, setting["rate_mbit"], mtu, family)
        if limit_us is not None:
            rows.append({"bytes": size, "variant": "limit", "median_us": limit_us, "min_us": limit_us, "max_us": limit_us, "goodput_of_limit": 1.0,
                         "wire_bytes_per_host": limits.wire_bytes(size, mtu, family), **setting})
        rows += [row_of(size, variant, found, setting, limit_us) for (of, variant), found in rounds.items() if of == size]
    return rows


def is_baseline(name):
    return name != "limit" and not name.startswith(("ina", "osu-"))


def best_baseline(rows, size):
    candidates = [row for row in rows if row["bytes"] == size and is_baseline(row["variant"])]
    return min(candidates, key=lambda row: row["median_us"], default=None)


def text_of(value, form):
    return "-" if value is None else format(value, form)


def size_text(size):
    for shift, unit in ((20, "M"), (10, "K")):
        if size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def print_table(header, body, out):
    widths = [max(len(line[i]) for line in [header, *body]) for i in range(len(header))]
    for line in [header, *body]:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)).rstrip(), file=out)


def print_comparison(rows, variant, out):
    """ina beside the limit and the best of the others."""
    by_key = {(row["bytes"], row["variant"]): row for row in rows}
    header = ["bytes", "limit us", f"{variant} us", "min", "max", "of limit", "spread", "best other", "us", "its spread", "other/" + variant, "cpu s/GB",
              "its cpu s/GB", "packets/host", "again", "offloaded"]
    body = []
    for size in sorted({row["bytes"] for row in rows}):
        ours, limit, best = by_key.get((size, variant)), by_key.get((size, "limit"), {}), best_baseline(rows, size) or {}
        if ours is None:
            continue
        body.append([size_text(size), text_of(limit.get("median_us"), ".1f"), text_of(ours["median_us"], ".1f"), text_of(ours["min_us"], ".1f"),
                     text_of(ours["max_us"], ".1f"), text_of(ours["goodput_of_limit"], ".3f"), text_of(ours["spread"], ".0%"), best.get("variant", "-"),
                     text_of(best.get("median_us"), ".1f"), text_of(best.get("spread"), ".0%"), text_of(ratio(best.get("median_us"), ours["median_us"]), ".2f"),
                     text_of(ours.get("cpu_s_per_gb"), ".2f"), text_of(best.get("cpu_s_per_gb"), ".2f"), text_of(ours.get("packets_per_host"), ".1f"),
                     text_of(ours.get("retransmissions"), "d"), text_of(ours.get("offloaded"), ".0%")])
    if body:
        print_table(header, body, out)


def print_all(rows, value, form, out):
    """One value of every variant: a line each, a column for each size."""
    sizes = sorted({row["bytes"] for row in rows})
    by_key = {(row["bytes"], row["variant"]): row.get(value) for row in rows}
    names = list(dict.fromkeys(row["variant"] for row in rows))
    body = [[name, *(text_of(by_key.get((size, name)), form) for size in sizes)] for name in names
            if any(by_key.get((size, name)) is not None for size in sizes)]
    print_table([value, *map(size_text, sizes)], body, out)


def write_csv(rows, file):
    writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: (f"{value:.6g}" if isinstance(value, float) else value) for name, value in row.items() if value is not None})
