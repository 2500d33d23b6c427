#!/usr/bin/python3
"""The page of the documentation site that plans in the browser, in headless Chromium, next to the program it comes from.

It compiles the planner to WebAssembly by Zig's Clang, which takes a minute, so that it runs only with ALLOT_LONG=1
(./dev test --all).
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILER = ROOT / "build/tools/ziglang/bin/python"
PROGRAM = ROOT / "build/gcc/examples/apps/memory_planner/memory_planner"

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError:
    webdriver = None


def setUpModule():
    """Builds the site with the planner once."""
    scratch = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(scratch.cleanup)
    folder = Path(scratch.name)
    module = folder / "planner.wasm"
    subprocess.run([ROOT / "docs/site/planner/compile.sh", COMPILER, module], check=True)
    subprocess.run([sys.executable, "-B", ROOT / "docs/site/build.py", folder, "--planner", module], check=True,
                   capture_output=True)
    Page.address = (folder / "html/page_docs_plan_in_the_browser.html").as_uri()


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.downloads = Path(folder.name)
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder.name})

    def setUp(self):
        self.browser.get(self.address)

    def tearDown(self):
        errors = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(errors, [])

    def part(self, name):
        return self.browser.find_element(By.ID, "planner-" + name)

    def text(self, name):
        return self.browser.execute_script("return document.getElementById(arguments[0]).textContent", "planner-" + name)

    def wait_for(self, question):
        end = time.monotonic() + 120
        while not (answer := question()):
            self.assertLess(time.monotonic(), end, f"{self.text('status')} {self.text('message')}")
            time.sleep(0.02)
        return answer

    def fill(self, table, keep_on=False, moves=False, **fields):
        for name, value in {"capacity": "", "align": "", "pages": "", "memories": "", **fields, "table": table}.items():
            self.browser.execute_script("arguments[0].value = arguments[1]", self.part(name), value)
        for name, value in (("keep-on", keep_on), ("moves", moves)):
            self.browser.execute_script("arguments[0].checked = arguments[1]", self.part(name), value)

    def plan(self, table, **fields):
        """Plans, and waits for the end. Returns the message; empty for a plan."""
        self.fill(table, **fields)
        self.browser.execute_script("arguments[0].click()", self.part("plan"))
        self.wait_for(lambda: self.text("status") == "done" or self.text("message"))
        return self.text("message")

    def download(self, kind):
        name = {"table": "plan.csv", "json": "plan.json", "svg": "plan.svg"}[kind]
        (self.downloads / name).unlink(missing_ok=True)
        button = self.browser.find_element(By.CSS_SELECTOR, f"[data-download={kind}]")
        self.browser.execute_script("arguments[0].click()", button)
        self.wait_for((self.downloads / name).exists)
        return (self.downloads / name).read_text(encoding="utf-8")

    def judge(self, rows):
        """Checks every pair of buffers, without code of the library. Returns the highest byte."""
        places = [{name: int(row[name]) for name in ("lower", "upper", "size", "offset")} for row in rows]
        for i, one in enumerate(places):
            for other in places[:i]:
                self.assertTrue(one["upper"] <= other["lower"] or other["upper"] <= one["lower"]
                                or one["offset"] + one["size"] <= other["offset"]
                                or other["offset"] + other["size"] <= one["offset"], (one, other))
        return max(place["offset"] + place["size"] for place in places)

    def test_a_table_is_planned_shown_and_downloaded(self):
        table = "id,lower,upper,size,alignment\na,0,3,10,1\nb,2,5,20,16\nc,4,7,9007199254740993,1\n"
        self.assertEqual(self.plan(table), "")
        self.assertIn("Statusoptimal", self.text("numbers"))
        self.assertIn("Peak9,007,199,254,741,013 bytes", self.text("numbers"))  # above the exact numbers of JavaScript
        self.assertIn("Lower bound9,007,199,254,741,013 bytes", self.text("numbers"))
        text = self.download("table")
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([line.rpartition(",")[0] for line in text.splitlines()], table.splitlines())
        self.assertEqual(self.judge(rows), 9007199254741013)
        found = json.loads(self.download("json"))
        self.assertEqual(found["peak"], 9007199254741013)
        self.assertEqual([place["offset"] for place in found["places"]], [int(row["offset"]) for row in rows])
        self.assertEqual([place["id"] for place in found["places"]], ["a", "b", "c"])
        self.assertIn("<svg", self.download("svg"))

    def test_the_picture_tells_about_the_buffer_under_the_pointer(self):
        self.assertEqual(self.plan("id,lower,upper,size\nwide one,0,9,5\nb,3,4,2\n"), "")
        count = self.browser.execute_script(
            "const shapes = document.getElementById('planner-picture').shadowRoot.querySelectorAll('rect > title');"
            "shapes[0].parentNode.dispatchEvent(new PointerEvent('pointermove', {bubbles: true})); return shapes.length")
        self.assertEqual(count, 2)
        self.assertEqual(self.text("hover"), "wide one: 5 bytes at 0, steps 0 to 9")

    def test_bad_input_gets_the_sentence_of_the_reader_with_its_line(self):
        head = "id,lower,upper,size\n"
        for table, fields, sentence in (
                ("", {}, "table.csv:1: the file is empty"),
                (head, {}, "table.csv:1: the file contains no buffers"),
                (head + "a,0,1,2\nb,0,1\n", {}, "table.csv:3: the row has 3 columns instead of 4"),
                (head + "a,0,1,2\r\n\r\na,0,1,2\n", {}, "table.csv:4: the id a is already used in line 2"),
                (head + "ä,0,x,2\n", {}, 'table.csv:2: upper, "x", is not an integer'),
                (head + "a,0,1,2\n", {"capacity": "2 MB"}, '"2 MB" is not a number of bytes, such as 4096, 4KiB, 2MiB or 1GiB'),
                (head + "a,0,1,2\n", {"align": "3"}, "the alignment 3 is not a power of two"),
                (head + "a,0,1,2\n", {"pages": "0"}, "a page must have at least one byte"),
                (head + "a,0,1,2\n", {"memories": "fast"}, 'a memory needs the form NAME:BYTES[:COST], not "fast"'),
                (head + "a,0,1,2\n", {"moves": True}, "--moves needs several memories; give --memory for each"),
                (head + "a,0,1,9\n", {"memories": "fast:2\nslow:3"},
                 "table.csv: infeasible: 1 of 1 buffers do not fit these memories; the most bytes are live at step 0")):
            self.assertEqual(self.plan(table, **fields), sentence)
            self.assertFalse(self.part("result").is_displayed())
        self.assertEqual(self.plan(head + "a,0,1,2\n"), "")  # the page still works
        self.assertTrue(self.part("result").is_displayed())

    def test_a_plan_that_does_not_fit_is_shown_and_cannot_be_downloaded(self):
        self.assertEqual(self.plan("id,lower,upper,size\na,0,2,6\nb,1,3,6\n", capacity="11"), "")
        self.assertIn("Statusinfeasible", self.text("numbers"))
        self.assertIn("exceeds the capacity", self.text("line"))
        for kind, is_enabled in (("table", False), ("json", False), ("svg", True)):
            self.assertEqual(self.browser.find_element(By.CSS_SELECTOR, f"[data-download={kind}]").is_enabled(), is_enabled)

    def test_the_plan_is_that_of_the_program_with_the_shown_command(self):
        if not PROGRAM.exists():
            self.skipTest(f"{PROGRAM.relative_to(ROOT)} is not built")
        self.browser.execute_script("const list = document.getElementById('planner-example');"
                                    "list.value = 'random300'; list.onchange({target: list})")
        table = self.part("table").get_property("value")
        for fields in ({}, {"capacity": "4MiB", "align": "256"}, {"pages": "4KiB"}, {"memories": "fast:1MiB\nslow:1GiB:3"},
                       {"memories": "fast:1MiB slow:1GiB", "moves": True}):
            self.assertEqual(self.plan(table, **fields), "")
            command = self.text("command").split()
            self.assertEqual(command[:3], ["$", "./dev", "plan"])
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "table.csv").write_text(table, encoding="utf-8")
                done = subprocess.run([PROGRAM, *command[3:], "--out", "out.csv", "--json"], cwd=folder, check=True,
                                      capture_output=True, text=True)
                self.assertEqual(self.download("table"), (Path(folder) / "out.csv").read_text(encoding="utf-8"), fields)
            without_time = re.compile(r"[\d.]+ s$")
            self.assertEqual(without_time.sub("", self.text("line")), without_time.sub("", done.stderr.strip().splitlines()[-1]))
            mine, its = json.loads(self.download("json")), json.loads(done.stdout)
            mine.pop("places")
            self.assertEqual({**mine, "seconds": 0}, {**its, "seconds": 0})

    def test_a_large_table_gets_a_plan_at_once_and_stop_keeps_the_last_one(self):
        self.browser.execute_script("const list = document.getElementById('planner-example');"
                                    "list.value = 'random20000'; list.onchange({target: list})")
        self.assertEqual(len(self.part("table").get_property("value").splitlines()), 500)
        self.assertIn("the first 500 of more than 5,000 lines", self.text("part"))
        self.browser.execute_script("arguments[0].checked = true", self.part("keep-on"))
        self.browser.execute_script("arguments[0].click()", self.part("plan"))
        self.wait_for(lambda: self.text("status").startswith("searching: "))
        self.wait_for(lambda: self.part("result").is_displayed())
        self.assertFalse(self.part("plan").is_enabled())
        self.browser.execute_script("arguments[0].click()", self.part("stop"))
        self.assertEqual(self.text("status"), "stopped; the last plan is shown")
        self.assertEqual(self.text("message"), "")
        self.assertIn("Buffers20,000", self.text("numbers"))
        self.assertTrue(self.part("plan").is_enabled())
        self.assertEqual(len(self.download("table").splitlines()), 20001)
        small = self.downloads / "small.csv"  # another table
        small.write_text("id,lower,upper,size\na,0,1,2\n", encoding="utf-8")
        self.part("file").send_keys(str(small))
        self.wait_for(lambda: self.part("table").get_property("value") == small.read_text(encoding="utf-8"))
        self.assertEqual(self.text("part"), "")
        self.browser.execute_script("arguments[0].checked = false", self.part("keep-on"))
        self.browser.execute_script("arguments[0].click()", self.part("plan"))
        self.wait_for(lambda: self.text("status") == "done")
        self.assertIn("Buffers1", self.text("numbers"))


if __name__ == "__main__":
    if not os.environ.get("ALLOT_LONG"):
        print("skipped: it compiles the planner to WebAssembly, with ALLOT_LONG=1 (./dev test --all)")
        sys.exit(77)
    missing = [tool for tool in ("doxygen", "chromium", "chromedriver") if not shutil.which(tool)]
    missing += ([] if webdriver else ["selenium"]) + ([] if COMPILER.exists() else ["ziglang (./dev docs)"])
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        sys.exit(77)
    unittest.main()
