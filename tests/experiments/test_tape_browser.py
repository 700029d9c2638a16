"""Pages of couplet tape and of unusual tapes in a real browser: replayed to the end with the keyboard, they show the gradients of cp_grad.
Arguments: the program, and draw_tapes. Exits with 77 (skipped) if Chromium is not installed. When run by hand, give a folder as the third
argument to keep the pages, and pictures of them. With "sanitized" the programs only make their pages: a browser has no part of their code."""
import base64, os, pathlib, re, subprocess, sys, tempfile

sys.dont_write_bytecode = True  # the source folder is not the test's to write to
import browser

failed = tests = 0


def check(sentence, good, found=""):
    global failed, tests
    tests, failed = tests + 1, failed + (not good)
    print(f"{sentence}: {'PASS' if good else f'FAIL: {found}'}", flush=True)


sanitized = "sanitized" in sys.argv[3:]
path = None if sanitized else browser.found()
if not path and not sanitized:
    print("pages of tapes in a browser: IGNORE: Chromium is missing\n1 Tests 0 Failures 1 Ignored")
    sys.exit(77)

couplet, draw_tapes = (os.path.abspath(word) for word in sys.argv[1:3])
pictures = next((pathlib.Path(word) for word in sys.argv[3:] if not sanitized), None)

STATE = "[Number(document.documentElement.dataset.step), Number(document.documentElement.dataset.steps)]"
GRADIENTS = "Object.fromEntries([...document.querySelectorAll('[data-leaf]')].map(row => [row.dataset.leaf, row.dataset.gradient]))"
SHOWN = "['.box.now', 'tr.now', '#listing tbody tr'].map(what => document.querySelectorAll(what).length)"
TITLE = "document.getElementById('step-title').textContent"
ELEMENTS = "document.querySelectorAll('*').length"
ELEMENTS_MAX, BYTES_MAX = 20000, 3 << 20  # elements, bytes: what it takes to open at once

# Steps go on when the test says so and not by the clock, which would not wait for a test on a busy machine.
CLOCK_BY_HAND = "setInterval = tick => (window.tick = tick, 1), clearInterval = () => { window.tick = null }, null"
TICKS = "window.tick ? (tick(), tick(), tick(), true) : false"


LOOKS = (("chain", "step=9"), ("conv-block", "step=20"), ("wrn", "step=60"), ("wrn", "end"),
         ("strange", "step=6"), ("strange", "end"))


def said_by(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def gradients_in(text):
    """The gradients that a program prints: leaf -> numbers."""
    return dict(re.findall(r"^d .+? / d (.+) = ?(.*)$", text, re.MULTILINE))


def steps_by_keys(page):
    """Presses the right arrow until the end; returns the texts of the steps."""
    now, last = page.ask(STATE)
    said = [page.ask(TITLE)]
    while now < last:
        page.press("ArrowRight")
        after, _ = page.ask(STATE)
        if after != now + 1:
            return said, f"step {after} came after step {now}"
        now = after
        said.append(page.ask(TITLE))
    return said, ""


def look(page, name, file, expected):
    address = pathlib.Path(file).resolve().as_uri()
    page.errors.clear()
    page.open(address)
    elements = page.ask(ELEMENTS)
    check(f"{name}: the page has fewer than {BYTES_MAX} bytes", os.path.getsize(file) < BYTES_MAX, os.path.getsize(file))
    check(f"{name}: it opens with fewer than {ELEMENTS_MAX} elements", elements < ELEMENTS_MAX, elements)
    check(f"{name}: it opens at the start", page.ask(STATE)[0] == 0, page.ask(STATE))
    if page.ask(STATE)[1] < 1000:
        said, trouble = steps_by_keys(page)
        check(f"{name}: the right arrow goes through all {len(said)} steps", not trouble, trouble)
        check(f"{name}: every step has a different text", all(a != b for a, b in zip(said, said[1:])), said)
    else:
        for _ in range(30):
            page.press("ArrowRight")
        check(f"{name}: the right arrow moves one step", page.ask(STATE)[0] == 30, page.ask(STATE))
        page.open(f"{address}#step={page.ask(STATE)[1] * 3 // 4}")
        boxes, rows, all_rows = page.ask(SHOWN)
        check(f"{name}: graph and listing show the part around a step in the middle", boxes == rows == 1 and all_rows < 1000,
              (boxes, rows, all_rows))
        page.press("End")
    found = page.ask(GRADIENTS)
    same = all(found.get(leaf) == numbers for leaf, numbers in expected.items())
    check(f"{name}: the gradients at the end are those of cp_grad", same, f"{found} instead of {expected}")
    page.press("Home")
    check(f"{name}: Home goes to the start", page.ask(STATE)[0] == 0, page.ask(STATE))
    page.open(f"{address}#end")
    now, last = page.ask(STATE)
    check(f"{name}: #end opens the finished replay", now == last and page.ask(GRADIENTS) == found, (now, last))
    check(f"{name}: the page has no errors", not page.errors, page.errors)


def look_closer(page, file):
    """Checks that are the same for all pages."""
    address = pathlib.Path(file).resolve().as_uri()
    page.open(f"{address}#step=5")
    check("#step=5 opens there", page.ask(STATE)[0] == 5, page.ask(STATE))
    page.press("ArrowLeft")
    check("the left arrow goes back", page.ask(STATE)[0] == 4, page.ask(STATE))
    check("the address is updated", page.ask("location.hash") == "#step=4", page.ask("location.hash"))
    check("each step is announced", page.ask("document.querySelector('[aria-live]').textContent.length") > 10)
    marked = page.ask("['.box.now title', 'tr.now th'].map(what => document.querySelector(what).textContent.split(' ')[0])")
    check("graph and listing mark the same value", marked[0] == marked[1], marked)
    check("the step quotes the program's line", "cp_" in (page.ask("document.querySelector('.source code').textContent") or ""))
    page.ask("document.getElementById('speed').value = '200'")
    page.press(" ")
    page.wait(STATE + "[0] > 5")
    page.open(f"{address}#step=4")
    page.ask(CLOCK_BY_HAND)
    page.press(" ")
    check("space plays", page.ask(TICKS) and page.ask(STATE)[0] == 7, page.ask(STATE))
    page.press(" ")
    check("and pauses", page.ask("playing") is None and not page.ask(TICKS), page.ask(STATE))
    page.ask("document.getElementById('slider').focus()")
    page.press("End")
    check("the End key on the slider goes to the end", page.ask(STATE)[0] == page.ask(STATE)[1], page.ask(STATE))
    page.ask("document.querySelector('tr[data-id=\"0\"]').click()")
    check("a click on a value goes to its step", page.ask(STATE)[0] == 1, page.ask(STATE))
    page.ask("document.querySelector('tr[data-id=\"1\"] button').focus()")
    page.press(" ")
    check("space on its name in the listing goes to its step too", page.ask(STATE)[0] == 2, page.ask(STATE))
    page.press("ArrowRight")
    check("keys continue from there", page.ask(STATE)[0] == 3, page.ask(STATE))
    page.ask("play(true), document.querySelector('tr[data-id=\"0\"]').click()")
    check("a click pauses", page.ask("playing") is None and page.ask(STATE)[0] == 1, page.ask(STATE))
    page.ask("document.getElementById('forward').click()")
    check("a button moves one step", page.ask(STATE)[0] == 2, page.ask(STATE))
    page.ask("document.getElementById('speed').value = '200', document.activeElement.blur()")
    page.press("Home")
    page.ask("document.getElementById('announcement').textContent = ''")
    page.press(" ")
    check("while it plays, steps are not announced",
          page.ask(TICKS) and not page.ask("document.getElementById('announcement').textContent"), page.ask(STATE))
    page.press(" ")
    unnamed = page.ask("[...document.querySelectorAll('button, input, select, [role=img], [role=group]')].filter(e => "
                       "!(e.ariaLabel || e.textContent.trim() || e.labels?.length)).map(e => e.outerHTML)")
    check("every control and picture has a name", not unnamed, unnamed)


CONTRAST = """(() => {
    const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    const light = color => {
        const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map(v => linear(v / 255));
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const behind = e => {
        const color = getComputedStyle(e).backgroundColor;
        return /^rgba.*, 0\\)$/.test(color) ? (e.parentElement ? behind(e.parentElement) : "rgb(255, 255, 255)") : color;
    };
    const low = [], texts = "h1, h2, p, figcaption, figcaption b, td, th, th button, .under, .formula, .source span, #position, kbd";
    for (const e of document.querySelectorAll(texts)) {
        if (!e.textContent.trim() || e.closest(".hidden")) continue;
        const a = light(getComputedStyle(e).color), b = light(behind(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (ratio < 4.5) low.push(`${e.tagName} ${e.className} ${e.textContent.slice(0, 20)} ${ratio.toFixed(1)}`);
    }
    return low; })()"""


def picture(page, name):
    if pictures:
        (pictures / f"{name}.png").write_bytes(base64.b64decode(page.call("Page.captureScreenshot")["data"]))


def look_in_all_lights(page, name, file, at):
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        for width in (1400, 400):
            page.width(width)
            page.open(f"{pathlib.Path(file).resolve().as_uri()}#{at}")
            kind = f"{name} in {scheme}, {width} pixels wide, {at}"
            wide = page.ask("document.documentElement.scrollWidth")
            check(f"{kind}: nothing is wider than the page", wide <= width, wide)
            low = page.ask(CONTRAST)
            check(f"{kind}: text has enough contrast to its background", not low, low)
            picture(page, f"{name}-{scheme}-{width}-{at.replace('=', '')}")
    page.scheme("light")
    page.width(1400)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(pictures or folder)
    names = [line.split()[0] for line in said_by(couplet, "tape", "--list").splitlines()]
    made = {name: gradients_in(said_by(couplet, "tape", name, "--gradients")) for name in names}
    made.update({line.split()[0]: gradients_in(line.split(" ", 1)[1]) for line in said_by(draw_tapes, ".").splitlines()})
    check("there are gradients to compare", all(made.values()) and len(made) > 6, made)
    if path:
        page = browser.Browser(path)
        try:
            page.width(1400)
            for name, expected in made.items():
                look(page, name, f"{name}.html", expected)
            look_closer(page, "fan-out.html")
            for name, at in LOOKS:
                look_in_all_lights(page, name, f"{name}.html", at)
        finally:
            page.close()
    os.chdir("/")

print(f"{tests} Tests {failed} Failures 0 Ignored")
sys.exit(failed > 0)
