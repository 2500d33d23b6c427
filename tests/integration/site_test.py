#!/usr/bin/python3
"""The documentation site (./dev docs --check): its links, pictures, search, dark mode, buttons and versions, in
headless Chromium.

Each internal link of each page is followed, and so are the links of the navigation and of the search. Chromium opens
the pages that are written by hand and some pages of the reference.
"""

import html.parser
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
PLOTLY = ROOT / "build/tools/plotly/plotly/package_data/plotly.min.js"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "docs" / "site"))

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import Select
except ImportError:
    webdriver = None


class Links(html.parser.HTMLParser):
    """The links, the anchors and the pictures of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        self.links |= {found[name] for name in ("href", "src", "data") if found.get(name)}


def links_of_scripts(folder):
    """(file, link) of the navigation and of the search, which are data of scripts."""
    scripts = [path for path in folder.glob("*.js") if not path.name.startswith("navtree")]  # an index of all addresses
    for script in [*scripts, *(folder / "search").glob("*_*.js")]:
        for link in re.findall(r"""["']([^"'\s]+\.html(?:#[^"'\s]*)?)["']""", script.read_text(encoding="utf-8")):
            yield script, link


def build(folder, root=ROOT):
    plotly = ["--plotly", PLOTLY] if PLOTLY.exists() else []
    return subprocess.run([sys.executable, "-B", root / "docs/site/build.py", folder, "--check", *plotly],
                          capture_output=True, text=True)


def setUpModule():
    """Builds the site once, for all tests."""
    Site.built = build(SITE)
    if not (SITE / "html" / "index.html").exists():
        raise AssertionError(Site.built.stdout + Site.built.stderr)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.html = SITE / "html"
        cls.pages = {path.name: Links(path) for path in sorted(cls.html.glob("*.html"))}

    def test_every_public_entity_is_documented(self):
        if self.built.returncode == 77:
            self.skipTest(self.built.stdout.strip().splitlines()[-1])
        self.assertEqual(self.built.returncode, 0, self.built.stdout + self.built.stderr)
        self.assertRegex(self.built.stdout, r"\b[1-9]\d{3} public names, 0 without an entry")

    def test_every_internal_link_has_a_target(self):
        links = [(name, link) for name, page in self.pages.items() for link in page.links]
        links += [(str(script), link.removeprefix("../")) for script, link in links_of_scripts(self.html)]
        self.assertGreater(len(links), 10_000)
        broken = set()
        for name, link in links:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = unquote(parts.path) or name
            if target.endswith(".html"):
                page, anchor = self.pages.get(target), unquote(parts.fragment)
                if page is None or anchor and anchor not in page.anchors:
                    broken.add(f"{name}: {link}")
            elif not (self.html / target).exists():
                broken.add(f"{name}: {link}")
        self.assertFalse(broken, "\n".join(sorted(broken)))

    def test_every_page_of_the_repository_is_shown(self):
        from pages import Pages, label
        pages = Pages(ROOT)
        self.assertEqual(pages.errors, [])
        self.assertGreater(len(pages.texts), 70)
        for path in pages.texts:
            self.assertIn(f"{label(path)}.html", self.pages, path)


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        cls.browser.set_page_load_timeout(120)
        cls.addClassCleanup(cls.browser.quit)

    def open(self, name):
        self.browser.get((SITE / "html" / name).as_uri())

    def wait_for(self, question):
        end = time.monotonic() + 60
        while not (answer := question()):
            self.assertLess(time.monotonic(), end, f"nothing appears on {self.browser.current_url} within a minute")
            time.sleep(0.05)
        return answer

    def test_pages_show_their_pictures_and_navigation(self):
        from pages import Pages, label
        pictures = 0
        names = [f"{label(path)}.html" for path in Pages(ROOT).texts]
        for name in [*names, "classallot_1_1best__fit.html", "namespaceallot_1_1opencl.html", "concepts.html"]:
            self.open(name)
            self.wait_for(lambda: self.browser.find_elements(By.CSS_SELECTOR, "#nav-tree-contents a"))
            script = "return [...document.images].map(i => [i.getAttribute('src'), i.complete, i.naturalWidth])"
            found = self.wait_for(lambda: [picture for picture in [self.browser.execute_script(script)]
                                           if all(complete for _, complete, _ in picture)])[0]
            self.assertTrue(all(width > 0 for *_, width in found), found)
            pictures += sum("doxygen" not in source for source, *_ in found)
            errors = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
            self.assertEqual(errors, [])
        self.assertGreater(pictures, 0)

    def test_code_is_shown_as_code(self):
        self.open("index.html")
        fragments = [element.text for element in self.browser.find_elements(By.CSS_SELECTOR, "div.fragment")]
        self.assertTrue(any("memory.allocate({.size = 1000, .align = 64});" in text for text in fragments))
        self.open("best__fit_8hpp.html")  # the sample of a header
        fragments = [element.text for element in self.browser.find_elements(By.CSS_SELECTOR, "div.fragment")]
        self.assertTrue(any("memory{{}, 16_MiB};" in text for text in fragments))

    def test_the_page_of_the_planner_says_that_the_planner_is_missing(self):
        self.open("page_docs_plan_in_the_browser.html")  # planner_page_test.py has a site with the planner
        message = self.wait_for(lambda: self.browser.find_element(By.ID, "planner-message").text)
        self.assertIn("built without a compiler for WebAssembly", message)
        self.assertFalse(self.browser.find_element(By.ID, "planner-plan").is_displayed())

    def test_benchmarks_are_plotted(self):
        if not PLOTLY.exists():
            self.skipTest("Plotly is not installed (./dev docs)")
        stored = json.loads((ROOT / "docs/benchmarks.json").read_text(encoding="utf-8"))["benchmarks"]
        self.open("page_docs_benchmark_plots.html")
        for name, benchmark in stored.items():
            heading = self.wait_for(lambda: self.browser.find_elements(By.ID, f"plot-{name}"))[0]
            self.browser.execute_script("arguments[0].scrollIntoView()", heading)
            choice = heading.find_element(By.XPATH, "following-sibling::p//select")
            plot = heading.find_element(By.XPATH, "following-sibling::div[1]")
            table = heading.find_element(By.XPATH, "following-sibling::details")
            for at in sorted({0, len(benchmark["tables"]) - 1}):
                expected = benchmark["tables"][at]
                self.browser.execute_script("arguments[0].value = arguments[1]; arguments[0].onchange()", choice, at)
                drawn = self.wait_for(lambda: self.browser.execute_script(
                    "return arguments[0].data && arguments[0].querySelector('.main-svg') && arguments[0].data.map("
                    "trace => [trace.name, trace.x.filter(value => typeof value === 'number').length])", plot))
                self.assertTrue(drawn and all(count for _, count in drawn), (name, expected["title"], drawn))
                cells = self.browser.execute_script(
                    "return [...arguments[0].querySelectorAll('tr')].map(row => row.cells.length)", table)
                self.assertEqual(cells, [len(expected["columns"])] * (1 + len(expected["rows"])))
        self.assertEqual([entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"], [])

    def test_without_plotly_benchmarks_have_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in [*SITE.glob("html/*.js"), SITE / "html/page_docs_benchmark_plots.html"]:
                shutil.copy(file, folder)
            (Path(folder) / "plotly.min.js").write_text("")
            self.browser.get((Path(folder) / "page_docs_benchmark_plots.html").as_uri())
            self.assertIn("built without Plotly", self.browser.find_element(By.ID, "plots-note").text)
            tables = self.browser.find_elements(By.CSS_SELECTOR, "#plots details[open] table")
            self.assertEqual(len(tables), len(self.browser.find_elements(By.CSS_SELECTOR, "#plots h2")))
            self.assertTrue(all(table.is_displayed() for table in tables))

    def test_search_finds_best_fit(self):
        self.open("index.html")
        field = self.wait_for(lambda: self.browser.find_elements(By.ID, "MSearchField"))[0]
        field.click()
        field.send_keys("best_fit")

        def results(style, text):
            shown = self.browser.find_elements(By.CSS_SELECTOR, f"a.{style}")
            return [element for element in shown if element.is_displayed() and element.text.startswith(text)]

        self.browser.switch_to.frame(self.wait_for(lambda: self.browser.find_elements(By.ID, "MSearchResults"))[0])
        self.wait_for(lambda: results("SRSymbol", "best_fit"))[0].click()
        self.wait_for(lambda: results("SRScope", "allot::best_fit<"))[0].click()
        self.browser.switch_to.default_content()
        self.wait_for(lambda: self.browser.current_url.split("#")[0].endswith("/classallot_1_1best__fit.html"))
        self.assertIn("best_fit", self.browser.title)
        self.browser.find_element(By.LINK_TEXT, "allot/strategy/best_fit.hpp").click()
        self.wait_for(lambda: "When to use:" in self.browser.find_element(By.TAG_NAME, "body").text)

    def test_the_button_changes_to_dark_and_every_page_keeps_it(self):
        background = "return getComputedStyle(document.body).backgroundColor"
        self.open("index.html")
        button = self.wait_for(lambda: self.browser.find_elements(By.TAG_NAME, "doxygen-awesome-dark-mode-toggle"))[0]
        light = self.browser.execute_script(background)
        button.click()
        dark = self.browser.execute_script(background)
        self.assertLess(brightness(dark), 100)
        self.assertGreater(brightness(light), 200)
        self.open("page_docs_planning.html")
        self.assertEqual(self.browser.execute_script(background), dark)
        self.wait_for(lambda: self.browser.find_elements(By.TAG_NAME, "doxygen-awesome-dark-mode-toggle"))[0].click()
        self.assertEqual(self.browser.execute_script(background), light)

    def test_a_sample_is_copied_as_it_is_in_the_repository(self):
        self.open("page_docs_planning.html")
        self.browser.execute_script("navigator.clipboard.writeText = text => { window.copied = text }")
        buttons = self.wait_for(
            lambda: self.browser.find_elements(By.TAG_NAME, "doxygen-awesome-fragment-copy-button"))
        blocks = re.findall(r"^```\w*\n(.*?)\n```$", (ROOT / "docs/planning.md").read_text(encoding="utf-8"), re.M | re.S)
        self.assertEqual(len(buttons), len(blocks))
        for button, block in zip(buttons, blocks):
            self.browser.execute_script("arguments[0].click()", button)
            copied = self.browser.execute_script("return window.copied").replace("\xa0", " ")
            self.assertEqual([line.rstrip() for line in copied.split("\n")],
                             [line.rstrip() for line in block.split("\n")])

    def test_samples_open_in_compiler_explorer(self):
        from pages import explore
        for page, site in (("README.md", "index"), ("docs/planning.md", "page_docs_planning")):
            blocks = explore.SAMPLE.findall((ROOT / page).read_text(encoding="utf-8"))
            links = re.findall(r'class="explore"><a href="([^"]+)"', (SITE / f"html/{site}.html").read_text(encoding="utf-8"))
            self.assertEqual(len(links), len(blocks))
            for link, block in zip(links, blocks):
                shown = explore.state(link)["sessions"][0]["source"]
                self.assertLess({line for line in block.splitlines() if "#include <allot/" not in line},
                                set(shown.splitlines()))
                self.assertIn(f"#include <{explore.address_of_release()}/allot", shown)
        self.open("page_docs_planning.html")
        first = self.wait_for(lambda: self.browser.find_elements(By.CSS_SELECTOR, ".explore a"))[0]
        self.assertEqual(first.text, "Open in Compiler Explorer")
        self.assertTrue(first.is_displayed() and first.get_attribute("href").startswith("https://godbolt.org/"))
        windows = (SITE / "html/page_docs_windows.html").read_text(encoding="utf-8")
        self.assertNotIn('class="explore"', windows)  # Compiler Explorer runs programs on Linux

    def test_the_list_of_versions_leads_to_the_same_page(self):
        with tempfile.TemporaryDirectory() as folder:
            tree, site = Path(folder) / "tree", Path(folder) / "a site"
            make_releases(tree, {"0.9.0": ["index", "page_docs_old"], "0.10.0": ["index", "page_docs_new"], "0.1.0": []})
            (site / "html").mkdir(parents=True)
            for file in [*SITE.glob("html/*.js"), SITE / "html/index.html"]:
                shutil.copy(file, site / "html")
            done = subprocess.run([sys.executable, "-B", tree / "docs/site/versions.py", site], capture_output=True, text=True)
            self.assertEqual(done.stdout, "skipped: version 0.1.0 has no documentation site\n"
                                          "2 released versions: 0.10.0, 0.9.0\n", done.stderr)
            for page in (site / "html/versions").glob("*/*.html"):
                page.write_text('<script src="versions.js"></script><script src="site.js"></script>'
                                '<span id="projectnumber">0</span>')
                shutil.copy(SITE / "html/site.js", page.parent)
            shutil.copy(SITE / "html/index.html", site / "html/page_docs_new.html")

            def choose(name, shown, address):
                choice = Select(self.wait_for(lambda: self.browser.find_elements(By.ID, "versions"))[0])
                self.assertEqual([option.text for option in choice.options], ["next", "0.10.0", "0.9.0"])
                self.assertEqual(choice.first_selected_option.text, shown)
                choice.select_by_visible_text(name)
                self.wait_for(lambda: self.browser.current_url == (site / "html" / address).as_uri())

            self.browser.get((site / "html/page_docs_new.html").as_uri())
            choose("0.10.0", "next", "versions/0.10.0/page_docs_new.html")
            choose("0.9.0", "0.10.0", "versions/0.9.0/index.html")  # without that page
            choose("next", "0.9.0", "index.html")

    def test_enter_searches_the_text_of_all_pages(self):
        self.open("page_docs_planning.html")
        field = self.wait_for(lambda: self.browser.find_elements(By.ID, "MSearchField"))[0]
        field.click()
        field.send_keys("forwards pinned+x COALESCING\n")
        self.wait_for(lambda: "search_text.html" in self.browser.current_url)
        field = self.wait_for(lambda: self.browser.find_elements(By.ID, "text-query"))[0]
        self.assertEqual(field.get_property("value"), "forwards pinned+x COALESCING")
        self.assertEqual(self.browser.find_element(By.ID, "text-count").text, "0 sections contain all words.")
        field.clear()
        field.send_keys("merges small blocks LATE\n")  # in a decision
        link = self.wait_for(lambda: self.browser.find_elements(By.CSS_SELECTOR, "#text-results a"))[0]
        self.assertEqual(link.text, "055. deferred merges small blocks late")
        marked = {mark.text.lower() for mark in self.browser.find_elements(By.CSS_SELECTOR, "#text-results mark")}
        self.assertTrue(marked & {"merges", "small", "blocks", "late"})
        link.click()
        self.wait_for(lambda: "055" in self.browser.title)

    def test_every_found_section_exists(self):
        script = (SITE / "html/text_index.js").read_text(encoding="utf-8")
        texts = json.loads(script.removeprefix("const allot_texts = ").rstrip(";\n"))
        self.assertGreater(len(texts), 500)
        pages = {}
        for page, heading, address, text in texts:
            name, _, anchor = address.partition("#")
            if name not in pages:
                pages[name] = Links(SITE / "html" / name).anchors
            if anchor:
                self.assertIn(anchor, pages[name], (page, heading))
            self.assertNotIn("```", text)


def brightness(color):
    return sum(int(part) for part in re.findall(r"\d+", color)[:3]) / 3


def make_releases(tree, pages):
    """A repository with a tag for each version. The builder of a version writes its pages; one without pages has none."""

    def git(*arguments):
        subprocess.run(["git", "-C", tree, "-c", "user.name=t", "-c", "user.email=t@t", *arguments], check=True,
                       capture_output=True)

    place = tree / "docs/site"
    place.mkdir(parents=True)
    git("init", "-q")
    shutil.copy(ROOT / "docs/site/versions.py", place)
    for version, names in pages.items():
        (place / "build.py").unlink(missing_ok=True)
        if names:
            files = {f"{name}.html": name for name in names}
            files["pages.js"] = f"var allot_pages = {json.dumps(sorted(files))};"
            (place / "build.py").write_text(
                "import pathlib, sys\nfolder = pathlib.Path(sys.argv[1]) / 'html'\nfolder.mkdir(parents=True)\n"
                f"for name, text in {files}.items():\n    (folder / name).write_text(text)\n")
        git("add", "--all")
        git("commit", "-q", "-m", version)
        git("tag", f"v{version}")


class Check(unittest.TestCase):
    def test_a_missing_comment_and_a_broken_link_are_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "tree"
            for part in (".release", "include", "docs", "examples", "bindings", "benchmarks", "tests/mutation"):
                shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("build"))
            for page in ROOT.glob("*.md"):
                shutil.copy(page, root)
            (root / "build").mkdir()
            if (ROOT / "build/tools").exists():
                (root / "build/tools").symlink_to(ROOT / "build/tools")
            header = root / "include/allot/core/extent.hpp"
            text = header.read_text(encoding="utf-8")
            self.assertIn("    /// Compares both members.\n", text)
            text = text.replace("    /// Compares both members.\n", "")
            header.write_text(text.replace("    Offset size = 0;    ///<", "    Offset size = 0;    //"))
            with open(root / "docs/glossary.md", "a", encoding="utf-8") as page:
                page.write("\n[nothing](nowhere.md)\n")
            done = build(root / "site", root)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"core/extent\.hpp:\d+: warning: Member size .* is not documented")
            self.assertRegex(done.stdout, r"core/extent\.hpp:\d+: warning: .*operator==.* is not documented")
            self.assertIn("docs/glossary.md: the link nowhere.md leads nowhere", done.stdout)


if __name__ == "__main__":
    missing = [tool for tool in ("doxygen", "chromium", "chromedriver") if not shutil.which(tool)]
    missing += [] if webdriver else ["selenium"]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        sys.exit(77)
    unittest.main()
