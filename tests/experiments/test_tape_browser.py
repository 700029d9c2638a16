"""Pages of couplet tape and of unusual tapes in a real browser: replayed to the end with the keyboard, they show the gradients of cp_grad.
Arguments: the program, and draw_tapes. Exits with 77 (skipped) if Chromium is not installed. When run by hand, give a folder as the third
argument to keep the pages, and pictures of them. With "sanitized" the programs only make their pages: a browser has no part of their code."""
import base64, math, os, pathlib, re, subprocess, sys, tempfile

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
    if page.ask(STATE)[1] < 100:
        said, trouble = steps_by_keys(page)
        check(f"{name}: the right arrow goes through all {len(said)} steps", not trouble, trouble)
        check(f"{name}: every step has a different text", all(a != b for a, b in zip(said, said[1:])), said)
    else:
        for _ in range(30):
            page.press("ArrowRight")
        check(f"{name}: the right arrow moves one step", page.ask(STATE)[0] == 30, page.ask(STATE))
        page.open(f"{address}#step={page.ask(STATE)[1] * 3 // 4}")
        page.ask("tabChoose('listing')")
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
    page.wait("location.hash !== '#step=5'")
    check("the address is updated", page.ask("location.hash") == "#step=4", page.ask("location.hash"))
    check("each step is announced", page.ask("document.querySelector('[aria-live]').textContent.length") > 10)
    page.ask("tabChoose('listing')")
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
    page.ask("tabChoose('listing'), document.querySelector('tr[data-id=\"1\"] button').focus()")
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


# Every text of the page and of its pictures against what is painted behind it, with the opacity of all that contains it.
CONTRAST = """(() => {
    const parts = color => (color.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    const over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map(i => a * top[i] + (1 - a) * below[i]); };
    const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => .2126 * linear(r / 255) + .7152 * linear(g / 255) + .0722 * linear(b / 255);
    const behind = e => {
        if (!e) return [255, 255, 255];
        if (e.matches("g.box")) return parts(getComputedStyle(e.querySelector(".front")).fill);
        const color = parts(getComputedStyle(e).backgroundColor);
        return color[3] === 0 ? behind(e.parentElement) : over(color, behind(e.parentElement));
    };
    const opacity = e => e ? Number(getComputedStyle(e).opacity) * opacity(e.parentElement) : 1;
    const low = [];
    for (const e of document.querySelectorAll("body *")) {
        const own = [...e.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
        if (!own || e.closest(".hidden, script, style, noscript, title, [hidden]") || !e.getClientRects().length) continue;
        const svg = e.namespaceURI.endsWith("svg"), style = getComputedStyle(e), back = behind(e);
        const color = parts(svg ? style.fill : style.color), a = light(over([...color.slice(0, 3), (color[3] ?? 1) * opacity(e)], back)), b = light(back);
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (ratio < 4.5) low.push(`${e.tagName} ${e.getAttribute("class")} ${e.textContent.slice(0, 20)} ${ratio.toFixed(1)}`);
    }
    return low; })()"""

# Texts of the pictures that lie on each other, or outside their box.
OVERLAPS = """(() => {
    const bad = [], boxes = [...document.querySelectorAll("#graph svg text, #graph svg image[href], #curve svg text")].filter(e => e.textContent || e.matches("image")).map(e => [e, e.getBoundingClientRect()]);
    boxes.forEach(([e, a], i) => boxes.slice(i + 1).forEach(([f, b]) => {
        if (e.ownerSVGElement === f.ownerSVGElement && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2) bad.push([e.textContent, f.textContent]);
    }));
    for (const [e, a] of boxes) {
        const box = e.closest("g.box")?.querySelector(".front").getBoundingClientRect();
        if (box && (a.right > box.right + 1 || a.left < box.left)) bad.push([e.textContent, "leaves its box"]);
    }
    return bad; })()"""

# The steps of the sweep that need scrolling; the page as a whole must not scroll either.
SCROLLS = """(() => {
    const panel = page("panel"), bad = document.documentElement.scrollHeight > innerHeight ? ["page"] : [];
    for (let s = SEED; s < END; s++) { go(s); 
        if (panel.scrollHeight > panel.clientHeight || [...panel.querySelectorAll(".numbers")].some(e => e.scrollWidth > e.clientWidth)) bad.push(s); }
    return bad; })()"""

# Elements that are wider than the window, outside of frames that scroll.
WIDE = """[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, .hidden, #curve, .numbers") && e.getClientRects().length &&
    e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""

# One letter per line: text blocks that are much taller than wide.
THIN = """[...document.querySelectorAll("#right :is(h2, th, td, p, .leaf-name, .formula, figcaption)")].filter(e => e.getClientRects().length &&
    e.textContent.length > 8 && e.getBoundingClientRect().width < 40).map(e => e.textContent)"""


def picture(page, name):
    if pictures:
        (pictures / f"{name}.png").write_bytes(base64.b64decode(page.call("Page.captureScreenshot")["data"]))


def address_of(name):
    return pathlib.Path(f"{name}.html").resolve().as_uri()


def look_at_sizes(page, name):
    """Two projectors and a telephone, in light and in dark: before the sweep, in its middle and at the end."""
    page.open(address_of(name))
    for width, height in ((1280, 800), (1366, 768), (400, 800)):
        page.width(width, height)
        for scheme in ("light", "dark"):
            page.scheme(scheme)
            page.ask("dispatchEvent(new Event('resize'))")
            kind = f"{name}, {width}x{height}, {scheme}"
            found = []
            for at in ("SEED - 1", "(SEED + END) >> 1", "END"):
                page.ask(f"go({at})")
                found += page.ask(CONTRAST) + page.ask(OVERLAPS) + page.ask(WIDE) + page.ask(THIN)
                picture(page, f"{name}-{scheme}-{width}-{page.ask(STATE)[0]}")
            check(f"{kind}: all text has contrast and room", not found, found)
            wide = page.ask("document.documentElement.scrollWidth")
            check(f"{kind}: nothing is wider than the window", wide <= width, wide)
            if width > 900 and scheme == "light":
                bad = page.ask(SCROLLS)
                check(f"{kind}: no step of the sweep needs scrolling", bad == [], bad)
            if width == 1280 and scheme == "light":
                page.ask("present(true)")
                bad = page.ask(SCROLLS)
                check(f"{kind}: nor in the large view", bad == [], bad)
                page.ask("present(false)")
    page.scheme("light")
    page.width(1400)
    check(f"{name}: there were no errors", not page.errors, page.errors)


# ---- names, numbers and cells ----

FORMULAS = "[...document.querySelectorAll('.formula')].map(e => e.textContent)"
SUM = "document.querySelector('.cell-sum')?.textContent"


def number(text):
    return float(text.replace("\u2212", "-"))


def sum_is_right(text):
    """Whether the middle of "a = 2 × 3 + 1 = 7" is worth its end, to the digits shown."""
    middle, end = text.split(" = ")[-2:]
    middle = middle.replace("\u00d7", "*").replace("\u2212", "-").replace("^", "**")
    if not re.fullmatch(r"[-+*/().e\d ]*|.*(?:tanh|exp|ln)\(.*", middle) or "\u2026" in middle or "[" in middle:
        return True
    value = eval(middle, {"__builtins__": {}, "tanh": math.tanh, "exp": math.exp, "ln": math.log})
    return math.isclose(value, number(end), rel_tol=2e-2, abs_tol=2e-3)


def look_at_numbers(page):
    page.open(address_of("chain") + "#step=12")
    lines = page.ask(FORMULAS)
    check("the rule of mul is shown with names and numbers", "w: g \u00d7 x = 0.7269 \u00d7 1.5 = 1.09" in lines, lines)
    page.open(address_of("chain") + "#step=11")
    lines = page.ask(FORMULAS)
    check("names cannot be taken for the formula's", lines == ["a = %3 + b = 0.75 + (\u22120.25) = 0.5", "%3: g = 0.7269", "b: g = 0.7269"], lines)
    page.open(address_of("names"))
    lines = page.ask("[SEED + 1, SEED + 2, SEED + 3].map(s => (go(s), [...document.querySelectorAll('.formula')].map(e => e.textContent)))")
    check("nor names such as a, g, e and out", lines == [
        ["e = a / b = 4.482 / 3 = 1.494", "a: g / b = 1 / 3 = 0.3333", "b: \u2212g \u00d7 e / b = \u22121 \u00d7 1.494 / 3 = \u22120.498"],
        ["a = exp(out) = exp(1.5) = 4.482", "out: g \u00d7 a = 0.3333 \u00d7 4.482 = 1.494"],
        ["out = g \u00d7 b = 0.5 \u00d7 3 = 1.5", "g: \u2202out \u00d7 b = 1.494 \u00d7 3 = 4.482", "b: \u2202out \u00d7 g = 1.494 \u00d7 0.5 = 0.7469"]], lines)
    page.open(address_of("chain") + "#step=10")
    shown = page.ask("[...document.querySelectorAll('#step figcaption')].map(e => e.textContent)")
    check("the value that a rule reads is shown", "h () the result" in shown, shown)
    page.open(address_of("perceptron") + "#step=13")
    shown = page.ask("document.querySelector('#step').textContent")
    check("the labels of a cross entropy are shown", "labels 0, 1, 1, 0" in shown, shown)
    page.open(address_of("perceptron") + "#step=18")
    page.ask("document.querySelector('td[data-cell=\"get0:3\"]').click()")
    lit = sorted(page.ask("[...document.querySelectorAll('td.lit')].map(e => e.dataset.cell)"))
    check("a chosen cell lights the cells that it came from", lit == ["1:3", "1:4", "1:5", "g:3", "g:4", "g:5"], lit)
    check("and prints their sum", re.fullmatch(r"\u2202x\[1, 1\] = (\S+ \u00d7 \S+ \+ ){2}\S+ \u00d7 \S+ = \S+", page.ask(SUM)) and sum_is_right(page.ask(SUM)),
          page.ask(SUM))
    sums = page.ask("""(() => { const sums = [];
        for (let s = 1; s < END; s++) { go(s);
            for (const e of document.querySelectorAll(".formula")) if (e.querySelector(".substituted")) sums.push(e.textContent);
            for (const cell of document.querySelectorAll(".pick td")) { cell.click(); sums.push(document.querySelector(".cell-sum").textContent); } }
        return sums; })()""")
    wrong = [text for text in sums if not sum_is_right(text)]
    check(f"all {len(sums)} sums of its cells are worth what they should", len(sums) > 50 and not wrong, wrong)
    page.open(address_of("fan-out") + "#step=4")
    twice = page.ask("shown.graph.edges.filter(edge => edge.pairs[0].join() === '1,2').length")
    check("add(e, e) has two edges", twice == 2, twice)
    check("edges have arrowheads", page.ask("[...document.querySelectorAll('.edge')].every(e => e.getAttribute('marker-end'))"))
    page.press("End")
    check("after the sweep they point back", page.ask("[...document.querySelectorAll('.edge')].every(e => e.getAttribute('marker-start'))"))


def look_at_layers(page):
    page.open(address_of("wrn"))
    boxes = page.ask("[...document.querySelectorAll('g.box.closed text:first-of-type')].map(e => e.textContent)")
    check("a network's layers are boxes", boxes == ["stem", "stage0.block0", "stage1.block0", "stage2.block0", "head"], boxes)
    before = page.ask("document.querySelectorAll('g.box').length")
    page.ask("document.querySelector('g.box.closed').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    check("a click opens one", page.ask("document.querySelectorAll('g.box').length") == before + 2, before)
    page.ask("page('scopes').click()")
    check("a button opens all", page.ask("document.querySelectorAll('g.box').length") == page.ask("values.length"))
    page.ask("page('fit').click()")
    sides = page.ask("(() => { const a = document.querySelector('#graph svg').getBoundingClientRect(), b = document.querySelector('#graph .scroll')"
                     ".getBoundingClientRect(); return [b.width - a.width, b.height - a.height]; })()")
    check("the graph fits into its window", min(sides) >= 0, sides)
    page.ask("zoomBy(1.5, 100, 100)")
    check("and can be enlarged", page.ask("document.querySelector('#graph svg').getBoundingClientRect().height > document.querySelector('#graph .scroll').clientHeight"))
    scopes = page.ask("[...document.querySelectorAll('#listing td.scope')].map(e => e.textContent).filter(Boolean).length")
    check("the listing names the layers", scopes > 30, scopes)
    size = os.path.getsize("wrn.html")
    check("the page of wrn has fewer than 250 kB", size < 250_000, size)


# ---- predict mode ----

# Types the recorded numbers, or others, into the fields of the step.
TYPE = """(wrong => { const rule = replay.sweep[now - SEED - 1], figures = [...document.querySelectorAll(".question")];
    rule.parts.forEach((part, i) => { for (const input of figures[i].querySelectorAll("input")) {
        const index = /\\[(.*)\\]/.exec(input.ariaLabel)?.[1].split(", ").map(Number);
        const truth = part.picture.values ? Number(part.picture.values[index ? indexOf(part.picture.dims, index) : 0]) : part.picture.dims.join(" x ");
        input.value = wrong ? (part.picture.values ? 2 * truth + 7 : "9 9 9 9 9") : typeof truth === "number" ? String(truth * 1.004) : truth; } });
    page("check-answer").click(); return document.querySelector(".verdict").textContent; })"""


def look_at_predicting(page, name):
    page.open(address_of(name))
    page.press("p")
    check(f"{name}: p turns predict mode on", page.ask("page('predict').ariaPressed") == "true")
    first, last = page.ask("[SEED + 1, END]")
    trouble = []
    for step in range(first, last):
        page.ask(f"go({step})")
        hidden = page.ask("document.querySelectorAll('td[data-cell^=get], .part').length === 0 && document.querySelectorAll('.question').length > 0")
        told = page.ask("page('announcement').textContent")
        wrong = page.ask(TYPE + "(true)")
        stays = page.ask("predicting(now)")
        page.ask(TYPE + "(false)")
        shown = page.ask("!predicting(now) && document.querySelectorAll('.question').length === 0")
        if not (hidden and "predict" in told and wrong.startswith("0 of") and stays and shown):
            trouble.append((step, hidden, told, wrong, stays, shown))
    check(f"{name}: every step hides its numbers, rejects wrong ones and accepts right ones", not trouble, trouble)
    page.ask(f"predictSet(true), go({first}), document.querySelector('.question input').focus()")
    page.press("ArrowRight")
    check(f"{name}: keys in a field do not move", page.ask("now") == first, page.ask("now"))
    page.ask("page('show-answer').click()")
    check(f"{name}: Show gives the answer", page.ask("!predicting(now) && document.querySelector('.verdict').textContent") == "Shown without an answer.")
    page.press("ArrowRight")
    check(f"{name}: and the right arrow goes on", page.ask("now") == first + 1, page.ask("now"))
    page.press("p")
    check(f"{name}: and off", page.ask("predict.on") is False and not page.errors, page.errors)


# ---- live mode ----

# The largest difference between what the page computes from the recorded leaves and what was recorded, in units of the last digit shown.
LIVE_CHECK = """(() => { const off = [], numbers = liveForward(recordedLeaves(), needed()), compare = (computed, picture, what) => computed.forEach((x, i) => {
        const shown = fourDigits(x), truth = picture.values[i], t = Number(truth), largest = Math.max(...picture.values.map(Number).map(Math.abs));
        const unit = t ? 10 ** (Math.floor(Math.log10(Math.abs(t))) - 3) : 0;
        if (shown !== truth && !(Math.abs(x - t) <= 1.01 * unit + 2e-6 * largest)) off.push([what, shown, truth]); });
    for (const [id, computed] of numbers) compare(computed, values[id].picture, values[id].name);
    liveBackward(numbers).forEach((parts, i) => parts.forEach(({part, sum}, k) => {
        compare(part, replay.sweep[i].parts[k].picture, "part"); if (sum) compare(sum, replay.sweep[i].parts[k].sum, "sum"); }));
    return off; })()"""

EDIT = """((cell, text) => { const input = document.querySelector(`[data-leaf-cell="${cell}"]`);
    input.value = text; input.dispatchEvent(new Event("input")); return fourDigits(live.numbers.get(replay.loss)[0]); })"""


def look_at_live(page, name):
    page.open(address_of(name) + "#end")
    page.ask("tabChoose('live')")
    faults = page.ask("[...live.faults.values()]")
    check(f"{name}: live mode computes all ops", faults == [], faults)
    off = page.ask(LIVE_CHECK)
    check(f"{name}: live numbers equal the recorded ones", off == [], off)
    loss = page.ask("live.numbers.get(replay.loss)[0]")
    page.ask("page('differences').click()")
    pairs = page.ask("[...document.querySelectorAll('[data-gradient-of]')].map(e => [e.textContent, e.closest('td').querySelector('[data-difference-of]').textContent])")
    wrong = [pair for pair in pairs if not math.isclose(*map(number, pair), rel_tol=2e-3, abs_tol=2e-6)]
    check(f"{name}: finite differences agree with all {len(pairs)} gradients", pairs and not wrong, wrong)
    cell = page.ask("document.querySelector('[data-leaf-cell]').dataset.leafCell")
    edited = float(page.ask(f"{EDIT}('{cell}', '0.75')"))
    check(f"{name}: an edited number changes the loss", edited != float(f"{loss:.4g}"), edited)
    pairs = page.ask("[...document.querySelectorAll('[data-gradient-of]')].map(e => [e.textContent, e.closest('td').querySelector('[data-difference-of]').textContent])")
    wrong = [pair for pair in pairs if not math.isclose(*map(number, pair), rel_tol=2e-3, abs_tol=2e-6)]
    check(f"{name}: the gradients there agree with finite differences too", not wrong, wrong)
    check(f"{name}: graph and steps show the edited numbers", page.ask("(go(END), shortText(values[replay.loss].picture, 20))") == page.ask("fourDigits(live.numbers.get(replay.loss)[0])"))
    page.ask(f"{EDIT}('{cell}', 'x')")
    check(f"{name}: text that is no number is marked and ignored",
          page.ask(f"document.querySelector('[data-leaf-cell=\"{cell}\"]').ariaInvalid") == "true" and float(page.ask("fourDigits(live.numbers.get(replay.loss)[0])")) == edited)
    page.ask("page('live-reset').click()")
    check(f"{name}: Reset brings the recorded numbers back", page.ask(LIVE_CHECK) == [] and math.isclose(page.ask("live.numbers.get(replay.loss)[0]"), loss))
    check(f"{name}: live mode has no errors", not page.errors, page.errors)


def look_at_refusal(page, name, reason):
    page.open(address_of(name))
    page.ask("tabChoose('live')")
    text = page.ask("page('live-body').textContent")
    check(f"{name}: live mode refuses plainly", "not possible" in text and reason in text and not page.errors, text)
    check(f"{name}: and marks what it cannot do", page.ask("document.querySelectorAll('g.box.fault').length > 0"))


SIZES = ("chain", "fan-out", "broadcast", "perceptron", "conv-block", "gaussian-head", "second-order", "wrn", "wrn-sampler", "wrn-penalty", "strange")
LIVE = ("chain", "fan-out", "broadcast", "perceptron", "gaussian-head", "second-order", "names", "ops")

with tempfile.TemporaryDirectory() as folder:
    os.chdir(pictures or folder)
    names = [line.split()[0] for line in said_by(couplet, "tape", "--list").splitlines()]
    made = {name: gradients_in(said_by(couplet, "tape", name, "--gradients")) for name in names}
    made.update({line.split()[0]: gradients_in(line.split(" ", 1)[1]) for line in said_by(draw_tapes, ".").splitlines()})
    check("there are gradients to compare", all(made.values()) and len(made) > 6, made)
    check("every demo is looked at in all sizes", set(names) <= set(SIZES), names)
    if path:
        page = browser.Browser(path)
        try:
            page.width(1400)
            page.scheme("light")
            for name, expected in made.items():
                look(page, name, f"{name}.html", expected)
            look_closer(page, "fan-out.html")
            look_at_numbers(page)
            look_at_layers(page)
            for name in SIZES:
                look_at_sizes(page, name)
            for name in ("chain", "fan-out", "perceptron", "conv-block"):
                look_at_predicting(page, name)
            for name in LIVE:
                look_at_live(page, name)
            look_at_refusal(page, "conv-block", "more than 64 values")
            look_at_refusal(page, "wrn-sampler", "x: it has more than 64 values")
        finally:
            page.close()
    os.chdir("/")

print(f"{tests} Tests {failed} Failures 0 Ignored")
sys.exit(failed > 0)
