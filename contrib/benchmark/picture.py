"""The picture: time and goodput over size, by gnuplot."""
import shutil
import subprocess

import summary

SCRIPT = """set terminal svg size 900,900 dynamic enhanced background rgb 'white'
set output '{output}'
set multiplot layout 2,1 title "{title}"
set logscale x 2
set xtics ({tics})
set grid
set key outside right noenhanced
set xlabel 'bytes of a vector'
set logscale y
set ylabel 'time (us), median'
plot {times}
unset logscale y
set yrange [0:1.1]
set ylabel 'goodput over limit'
plot {goodputs}
unset multiplot
"""


def quoted(text):
    return text.replace("'", "''")


def data_block(name, rows, value):
    lines = [f"{row['bytes']} {row[value]:.6g}" for row in rows if row.get(value) is not None]
    return f"${name} << END\n" + "\n".join(lines) + "\nEND\n" if lines else ""


def draw(rows, output, title):
    """Returns None, or why there is no picture."""
    if not shutil.which("gnuplot"):
        return "gnuplot is not installed (Debian: gnuplot-nox)"
    names = list(dict.fromkeys(row["variant"] for row in rows))
    sizes = sorted({row["bytes"] for row in rows})
    blocks, plots = "", {"median_us": [], "goodput_of_limit": []}
    for number, name in enumerate(names):
        ours = [row for row in rows if row["variant"] == name]
        width = 3 if name in ("ina", "limit") else 1
        for value, lines in plots.items():
            block = data_block(f"{value}{number}", ours, value)
            blocks += block
            if block:
                lines.append(f"${value}{number} using 1:2 with linespoints lw {width} title '{quoted(name)}'")
    script = SCRIPT.format(output=quoted(output), title=title, tics=", ".join(f"'{summary.size_text(size)}' {size}" for size in sizes),
                           times=", ".join(plots["median_us"]), goodputs=", ".join(plots["goodput_of_limit"]) or "1 title ''")
    done = subprocess.run(["gnuplot"], input=blocks + script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return None if done.returncode == 0 else f"gnuplot: {done.stdout.strip()}"
