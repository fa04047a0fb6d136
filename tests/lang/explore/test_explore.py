"""The explorer: what the page is given, what it does in a browser, and the command `weft explore`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from weft.lang.explore import page_of, page_with
from weft.lang.explore.data import kernel_data
from weft.lang.explore.instructions import explained

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH to open the page with")

PROGRAM = """\
import weft as ti

ti.init(arch=ti.cpu)
x, y = ti.field(ti.f32, 64), ti.field(ti.f32, 64)

@ti.kernel
def double():
    for i in x:
        y[i] = x[i] * 2

@ti.kernel
def endless(n: ti.i32):
    for i in x:
        x[i] += n

double()
while True:
    endless(1)
    if x[0] > 3:
        raise RuntimeError("nobody stopped this program")
"""


@pytest.fixture
def fall() -> Any:
    ti.init(arch=ti.cpu)
    v, x, energy = ti.field(ti.f32, 512), ti.field(ti.f32, 512), ti.field(ti.f32, ())

    @ti.func
    def kinetic(u: ti.f32) -> ti.f32:
        return u * u / 2

    @ti.kernel
    def fall(dt: ti.f32):
        for i in x:
            v[i] -= 9.8 * dt
            x[i] += v[i] * dt
            energy[None] += kinetic(v[i])

    return fall


def expanded(kernel: dict[str, Any], runs: list[int]) -> list[str]:
    pairs = zip(runs[::2], runs[1::2], strict=True)
    return [kernel["lines"][first + k][0] for first, count in pairs for k in range(count)]


def data_of(page: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return list(json.loads(found[1]))


# ---- the data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["cpu", "cuda", "python"])
def test_the_page_has_every_text_whole(fall: Any, arch: str) -> None:
    stages = fall.stages(0.1).on(arch)
    (kernel,) = data_of(page_of([stages]))
    names = [level["name"] for level in kernel["levels"]]
    codes = {"cpu": ["asm"], "cuda": ["ptx", "sass"], "python": []}[arch]
    llvm = [] if arch == "python" else ["llvm", "llvm_optimized"]
    assert names == ["tree", "chi", "tasks", "lowered", *llvm, *codes]
    for level in kernel["levels"]:
        if "missing" not in level:
            assert expanded(kernel, level["text"]) == getattr(stages, level["name"]).splitlines()
    shown: list[str] = []
    for row, record in zip(kernel["passes"], stages.passes, strict=True):
        shown = shown if row["text"] is None else expanded(kernel, row["text"])
        assert shown == record.ir.splitlines()


def test_the_source_has_the_functions_that_were_inlined(fall: Any) -> None:
    kernel = kernel_data(fall.stages(0.1))
    first, second = (["\n".join(lines), start] for _, start, lines in kernel["source"])
    assert "def fall(dt: ti.f32):" in first[0]
    assert "def kinetic(u: ti.f32)" in second[0]
    assert Path(__file__).read_text().splitlines()[second[1] - 1].strip() == "@ti.func"


def test_a_program_without_a_file_shows_its_kernel(tmp_path: Path) -> None:
    body = "@ti.kernel\ndef one() -> ti.i32:\n    return 1\n"
    text = f"import weft as ti\nti.init(arch=ti.cpu)\n{body}one.explore('one.html')\n"
    subprocess.run([sys.executable, "-c", text], cwd=tmp_path, check=True)
    (kernel,) = data_of((tmp_path / "one.html").read_text())
    assert kernel["source"] == [[0, 3, body.splitlines()]]


def test_functions_of_another_file_have_their_own_block(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text("import weft as ti\n\n@ti.func\ndef half(a):\n    return a / 2\n")
    (tmp_path / "program.py").write_text(
        "import weft as ti\nfrom library import half\nti.init(arch=ti.cpu)\n"
        "@ti.kernel\ndef quarter(a: ti.f32) -> ti.f32:\n    return half(half(a))\n\nquarter(1.0)\n"
    )
    assert weft(tmp_path, "program.py").returncode == 0
    (kernel,) = data_of((tmp_path / "program.html").read_text())
    assert [Path(file).name for file in kernel["files"]] == ["program.py", "library.py"]
    assert kernel["source"][1] == [1, 3, ["@ti.func", "def half(a):", "    return a / 2"]]


def test_source_text_cannot_end_the_script() -> None:
    ti.init(arch=ti.cpu)

    @ti.kernel
    def odd() -> ti.i32:
        return 1  # </script><b id="broken">

    page = page_of([odd.stages()])
    assert page.count("</script>") == 2
    assert '</script><b id="broken">' in str(data_of(page)[0]["source"])


def test_the_parts_of_the_page_stay_small() -> None:
    folder = Path(str(ti.lang.explore.__file__)).parent
    parts = [path for path in folder.iterdir() if path.suffix in (".js", ".css", ".html")]
    assert len(parts) == 11
    for path in parts:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) < 300, path.name
        assert all(len(line) <= 120 for line in lines), path.name


def test_the_page_needs_no_network(fall: Any) -> None:
    page = page_of([fall.stages(0.1)])
    assert not re.search(r"""(src|href)=["'](?!data:)|@import|url\(|fetch\(|https?://""", page.split('id="data"')[0])
    assert "{{" not in page.split('id="data"')[0]


# ---- the command -----------------------------------------------------------------------------------------------------


def weft(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "weft", "explore", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_command_stops_at_the_kernel_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    run = weft(tmp_path, "program.py:endless", "--arch", "cuda")
    assert (run.returncode, run.stdout, run.stderr) == (0, "wrote program.html: endless\n", "")
    (kernel,) = data_of((tmp_path / "program.html").read_text())
    assert (kernel["name"], kernel["arch"]) == ("endless", "cuda")
    assert "ptx" in [level["name"] for level in kernel["levels"]]


def test_the_command_takes_all_kernels(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("while True:", "for _ in range(2):"))
    run = weft(tmp_path, "program.py", "-o", "all.html")
    assert run.stdout == "wrote all.html: double, endless\n"
    assert [one["name"] for one in data_of((tmp_path / "all.html").read_text())] == ["double", "endless"]


GRADIENT = """\
import weft as ti

ti.init(arch=ti.cpu)
x, y = (ti.field(ti.f32, 64, needs_grad=True) for _ in range(2))
loss = ti.field(ti.f32, (), needs_grad=True)

@ti.kernel
def step():
    for i in x:
        y[i] = x[i] * x[i]

@ti.kernel
def total():
    for i in y:
        loss[None] += y[i]

with ti.ad.Tape(loss):
    step()
    total()
"""


def test_the_command_tells_a_kernel_from_its_gradient(tmp_path: Path) -> None:
    """Both have the same lines of source."""
    (tmp_path / "program.py").write_text(GRADIENT)
    assert weft(tmp_path, "program.py:step.grad").stdout == "wrote program.html: step.grad\n"
    assert "x.grad" in (tmp_path / "program.html").read_text()
    run = weft(tmp_path, "program.py")
    kernels = data_of((tmp_path / "program.html").read_text())
    assert sorted(one["name"] for one in kernels) == ["step", "step.grad", "total", "total.grad"]
    assert set(run.stdout.split(": ")[1].strip().split(", ")) == {one["name"] for one in kernels}
    assert "it compiled step.grad, step, " in weft(tmp_path, "program.py:stop.grad").stderr


def test_the_command_hears_of_kernels_that_other_threads_compile(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("double()\nwhile", "ti.warm(double)\nwhile"))
    assert weft(tmp_path, "program.py:double").stdout == "wrote program.html: double\n"


def test_the_command_says_what_it_misses(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.split("while")[0])
    run = weft(tmp_path, "program.py:triple")
    assert run.returncode == 1
    assert run.stderr == "weft: the program did not compile a kernel 'triple'; it compiled double\n"
    run = weft(tmp_path, "missing.py:triple")
    assert (run.returncode, run.stderr) == (2, "weft: there is no file and no demo 'missing.py'\n")


@pytest.mark.exhaustive
def test_the_command_takes_demos(tmp_path: Path) -> None:
    run = weft(tmp_path, "life:evolve", "--arch", "cuda")
    assert (run.returncode, run.stdout) == (1, "")
    assert "a kernel 'evolve'; it compiled " in run.stderr
    assert weft(tmp_path, "life").stdout.startswith("wrote life.html: ")
    assert {one["arch"] for one in data_of((tmp_path / "life.html").read_text())} == {"cpu"}


# ---- the page in a browser -------------------------------------------------------------------------------------------

PROBE = """
const found = {};
const seen = (what) => [...document.querySelectorAll(what)].map((one) => one.querySelector("span").textContent.trim());
const move = (to, kind) => to.dispatchEvent(new MouseEvent(kind, {bubbles: true}));
const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const line = (text) => [...document.querySelectorAll("#source .row")].find((row) => row.textContent.includes(text));
const row = (text) => [...document.querySelectorAll("#text .row")].find((one) => one.textContent.includes(text));
try { %s } catch (error) { problems.push(String(error)); }
document.body.replaceChildren(Object.assign(document.createElement("pre"), {id: "found"}));
document.getElementById("found").textContent = JSON.stringify({found, problems});
"""


def browse(page: str, folder: Path, probe: str, place: str = "") -> dict[str, Any]:
    """What the probe found in the page, in a browser of 1366 x 768; no error may happen."""
    path = folder / "page.html"
    listen = '<script>const problems = []; addEventListener("error", (e) => problems.push(e.message));</script>'
    page = page.replace("<head>", f"<head>{listen}", 1)
    path.write_text(page.replace("</body>", f"<script>{PROBE % probe}</script></body>"), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1366,768", f"--user-data-dir={folder}/user"]
    command = [str(BROWSER), *flags, "--enable-logging=stderr", "--dump-dom", f"{path.as_uri()}{place}"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "CONSOLE" not in run.stderr
    told = re.search(r'<pre id="found">(.*?)</pre>', run.stdout, re.DOTALL)
    assert told is not None, run.stderr
    answer = json.loads(told[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert answer["problems"] == []
    return dict(answer["found"])


@needs_browser
def test_pointing_at_a_line_lights_what_it_became_and_back(fall: Any, tmp_path: Path) -> None:
    probe = """
    move(line("v[i] -="), "mousemove");
    found.tree = seen("#text .row.lit");
    press("4");
    found.lowered = seen("#text .row.lit");
    move(document.getElementById("source"), "mouseleave");
    found.dark = seen("#text .row.lit");
    move(row("store"), "mousemove");
    found.back = seen("#source .row.lit");
    press("1");
    move(row("return"), "mousemove");
    found.inner = seen("#source .row.lit");
    found.outer = seen("#source .row.near");
    move(line("x[i] +="), "mousemove");
    move(line("x[i] +="), "click");
    press("7");
    found.held = seen("#text .row.held").length;
    found.said = document.getElementById("where").textContent;
    press("Escape");
    found.after = seen(".row.held").length;
    """
    found = browse(page_of([fall.stages(0.1)]), tmp_path, probe)
    assert found["tree"] == ["v[i] -= (9.8 * dt)"]
    assert any("binary sub" in text for text in found["lowered"])
    assert found["dark"] == []
    assert len(found["back"]) == 1
    assert found["inner"] == ["return u * u / 2"]
    assert found["outer"] == ["energy[None] += kinetic(v[i])"]
    assert found["held"] > 2
    assert re.fullmatch(r"line \d+: \d+ lines here", found["said"])
    assert found["after"] == 0


@needs_browser
def test_the_slider_walks_the_passes(fall: Any, tmp_path: Path) -> None:
    probe = """
    press("p");
    const name = () => document.querySelector("#heading strong").textContent;
    const slider = document.getElementById("slider");
    const names = [name()];
    for (let k = 1; k <= Number(slider.max); k += 1) {
      slider.value = k;
      slider.dispatchEvent(new Event("input"));
      names.push(name());
      if (name() === "demote_atomics") found.minus = seen("#text .row.minus"), found.plus = seen("#text .row.plus");
    }
    press("ArrowLeft");
    found.names = names;
    found.before = name();
    found.listed = [...document.querySelectorAll("#list li")].map((one) => one.firstChild.textContent);
    const fold = document.querySelector("#text .row.fold"), rows = document.querySelectorAll("#text .row").length;
    if (fold) move(fold, "click");
    found.unfolded = !fold || document.querySelectorAll("#text .row").length > rows;
    document.getElementById("idle").click();
    found.idle = Number(slider.max);
    """
    stages = fall.stages(0.1)
    found = browse(page_of([stages]), tmp_path, probe)
    assert found["names"] == found["listed"]
    assert found["names"][0] == "lower_tree"
    assert found["before"] == found["names"][-2]
    assert any("atomic" in text for text in found["minus"])
    assert any("store" in text for text in found["plus"])
    assert found["unfolded"]
    assert found["idle"] == len(stages.passes) - 1


@needs_browser
def test_themes_tabs_and_links(fall: Any, tmp_path: Path) -> None:
    probe = """
    found.theme = document.documentElement.dataset.theme;
    found.paper = getComputedStyle(document.body).backgroundColor;
    press("t");
    found.other = getComputedStyle(document.body).backgroundColor;
    found.tab = document.querySelector('[aria-selected="true"]').dataset.name;
    press("?");
    found.help = !document.getElementById("help").hidden;
    found.wide = document.documentElement.scrollWidth;
    document.getElementById("kernels").value = "1";
    document.getElementById("kernels").dispatchEvent(new Event("change"));
    found.arch = document.getElementById("arch").textContent;
    """
    stages = fall.stages(0.1)
    found = browse(page_of([stages, stages.on("cuda")]), tmp_path, probe, "#theme=dark&tab=llvm")
    assert (found["theme"], found["tab"], found["arch"], found["help"]) == ("dark", "llvm", "cuda", True)
    assert found["paper"] != found["other"]
    assert found["wide"] <= 1366


@needs_browser
def test_twenty_thousand_lines(fall: Any, tmp_path: Path) -> None:
    kernel = kernel_data(fall.stages(0.1))
    first = len(kernel["lines"])
    kernel["lines"] += [(f"  %{k} = binary add %{k - 1}, %a : f32", 2) for k in range(40_000)]
    for level in kernel["levels"]:
        level["text"] = [first, 20_000]
    for number, one in enumerate(kernel["passes"]):
        one["text"] = [first + 10 * number, 20_000]
    probe = """
    const time = (what) => { const start = performance.now(); what(); return performance.now() - start; };
    found.rows = document.querySelectorAll("#text .row").length;
    found.times = {
      tab: time(() => press("2")), passes: time(() => press("p")), next: time(() => press("ArrowRight")),
      light: time(() => move(row("binary"), "mousemove")),
      scroll: time(() => {
        const to = document.getElementById("text");
        to.scrollTop = 200000;
        to.dispatchEvent(new Event("scroll"));
      }),
    };
    found.ready = performance.now();
    """
    found = browse(page_with([kernel]), tmp_path, probe)
    assert 0 < found["rows"] < 200
    assert found["ready"] < 5000
    assert all(milliseconds < 1000 for milliseconds in found["times"].values())


@needs_browser
def test_search_legend_and_what_instructions_do(fall: Any, tmp_path: Path) -> None:
    probe = """
    press("4");
    search.find("STORE");
    found.rows = seen("#text .row.found");
    found.said = document.getElementById("found").textContent;
    search.next(1);
    found.next = document.getElementById("found").textContent;
    found.tip = row("binary sub").querySelector("span").title;
    move(row("binary sub"), "mousemove");
    found.where = document.getElementById("where").textContent;
    press("7");
    found.other = document.getElementById("found").textContent;
    search.end();
    found.after = seen("#text .row.found").length;
    found.tips = [...document.querySelectorAll("#text .row > span")].map((one) => one.title).filter(Boolean);
    found.legend = document.querySelector(".legend").textContent;
    found.price = [...document.querySelectorAll(".card dt")].find((one) => one.textContent === "price").title;
    """
    found = browse(page_of([fall.stages(0.1)]), tmp_path, probe)
    assert found["rows"]
    assert all("store" in text for text in found["rows"])
    assert re.fullmatch(r"1 of \d+", found["said"])
    assert found["next"].startswith("2 of ")
    assert found["tip"].startswith("binary: Applies the operator")
    assert re.fullmatch(r"line \d+: \d+ lines here \| binary: Applies the operator.*", found["where"])
    assert found["other"].endswith(" found")
    assert found["after"] == 0
    assert found["tips"]
    assert "price" in found["legend"]
    assert "estimate" in found["price"]


def test_instructions_are_explained() -> None:
    lines = ["  %1 = load %0 : f32", "  vfmadd231ps %zmm1, %zmm2, %zmm0", "  lock", "\tjne .LBB0", "  @%p1 bra $L1;"]
    assert explained("chi", lines) == {"load": "Reads the value at an address"}
    assert explained("asm", lines)["vfmadd231ps"] == "multiplies and adds in one step (f32 in each lane)"
    assert explained("asm", lines)["jne"] == "goes on elsewhere if the last comparison says so"
    assert explained("ptx", ["@%p1 bra $L1;", "ld.global.f32 %f1, [%rd1];"]) == {
        "bra": "goes on elsewhere; with a predicate, if it holds",
        "ld.global.f32": "reads memory",
    }
