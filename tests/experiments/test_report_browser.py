"""A page of couplet report in a real browser, wide and narrow, light and dark, folded and unfolded. Argument: the program. Exits with 77
(skipped) if Chromium is not installed. With "sanitized" the program only makes the page: a browser has no part of its code."""
import json, os, pathlib, subprocess, sys, tempfile

sys.dont_write_bytecode = True  # the source folder is not the test's to write to
import browser

failed = tests = 0
couplet = os.path.abspath(sys.argv[1])
sanitized = "sanitized" in sys.argv[2:]
path = None if sanitized else browser.found()
NAMES = ("short", "a-run-with-a-name-that-would-break-in-the-middle", "hybrid-lambda-10")
MEASURES = {"accuracy": 54.3, "balanced_accuracy": 54.1, "auc": 0.828, "ece": 8.16, "nll": 1.021}
# What is cut: content wider than its box, unless the box scrolls and has a shadow.
CUT = """[...document.querySelectorAll('main *')].filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth && !e.closest('svg'))
    .filter(e => !['inline', 'inline-block'].includes(getComputedStyle(e).display))
    .filter(e => !(getComputedStyle(e).overflowX == 'auto' && getComputedStyle(e).backgroundImage.includes('gradient')))
    .filter(e => !e.parentElement.closest('.wide')).map(e => e.outerHTML.slice(0, 80)).join('; ')"""


def check(sentence, good, found=""):
    global failed, tests
    tests, failed = tests + 1, failed + (not good)
    print(f"{sentence}: {'PASS' if good else f'FAIL: {found}'}", flush=True)


def make_run(folder, number):
    folder.mkdir(parents=True)
    scores = {**MEASURES, "intervals": {key: [value * 0.9, value * 1.1] for key, value in MEASURES.items()}}
    table = {"columns": ["test"] + [f"a measure, number {i}" for i in range(20)], "rows": [["end"] + [f"{i}.5" for i in range(20)]]}
    panel = {"x_label": "step", "y_label": "loss", "series": [{"mark": "line", "places": 1, "label": "loss", "x": [0, 1], "y": [1, 2]}]}
    texts = {"config.json": {"experiment": "try", "options": {"rate": number, "seed": 1, "mode": "word" * 20}},
             "result.json": {"title": f"Run {number}", "test": {"end": scores, "scaled": scores}, "table": table},
             "curves.figure.json": {"title": "The training", "caption": "A caption.", "panels": [panel] * 3}}
    for name, text in texts.items():
        (folder / name).write_text(json.dumps(text))
    return str(folder)


if not path and not sanitized:
    print("a report in a browser: IGNORE: Chromium is missing\n1 Tests 0 Failures 1 Ignored")
    sys.exit(77)
with tempfile.TemporaryDirectory() as work:
    folders = [make_run(pathlib.Path(work) / "runs" / name, i) for i, name in enumerate(NAMES)]
    page = pathlib.Path(work) / "report.html"
    made = subprocess.run([couplet, "report", *("runs/" + os.path.basename(f) for f in folders), "--out", page], cwd=work)
    check("the page is made", made.returncode == 0)
    if path:
        shown = browser.Browser(path)
        shown.open(page.as_uri())
        for width, scheme in ((1200, "light"), (400, "light"), (400, "dark"), (1200, "dark")):
            shown.width(width)
            shown.scheme(scheme)
            for state in ("folded", "unfolded"):
                shown.ask(f"document.querySelectorAll('details').forEach(d => d.open = {json.dumps(state == 'unfolded')})")
                what = f"at {width} pixels, {scheme}, {state}"
                found = shown.ask("document.documentElement.scrollWidth")
                check(f"{what}: the page is no wider than the screen", found <= width, found)
                cut = shown.ask(CUT)
                check(f"{what}: nothing is cut without a shadow", cut == "", cut)
            if width == 1200:
                sizes = shown.ask("(w => [w.scrollWidth, w.clientWidth])(document.querySelector('.wide'))")
                check(f"the first table fits {width} pixels, {scheme}", sizes[0] <= sizes[1], sizes)
            rows = shown.ask("[...document.querySelectorAll('td a span')].map(s => s.getClientRects().length).join('')")
            check(f"names of runs are not broken, {width} pixels, {scheme}", rows and set(rows) == {"1"}, rows)
        shown.width(400)
        shown.ask("document.querySelectorAll('.wide').forEach(e => e.style.backgroundImage = 'none')")
        check("tables without a shadow would be noticed", "wide" in shown.ask(CUT), shown.ask(CUT))
        check("nothing went wrong in the browser", not shown.errors, shown.errors)
        shown.close()
print(f"{tests} Tests {failed} Failures 0 Ignored")
sys.exit(failed > 0)
