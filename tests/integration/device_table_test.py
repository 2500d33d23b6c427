#!/usr/bin/python3
"""Tests of device_table.py, and of the README's device table, which must list every device of include/."""

import importlib.util
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("device_table", ROOT / "tests" / "integration" / "device_table.py")
device_table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(device_table)

PAGE = """# x
| memory | type | address | status |
|---|---|---|---|
| elsewhere | `a::b` | pointer | stays |
## Devices
| memory | type | address | status |
|---|---|---|---|
| one | `host::heap` | pointer | works |
| two | `opencl::fine_svm`, `coarse_svm` | pointer | old |
| three | `dma::heap<"…">` | pointer | old |
| none | HIP | | planned |
## Strategies
| heaps | `host::heap` | pointer | stays |
"""
LOG = """
12: device: host::heap on the real driver: Linux 6.1
device: opencl::fine_svm on the real driver: PoCL 3.1
device: host::heap on the real driver: Linux 6.1
device: dma::heap on a fake driver
""".replace("12: ", "")


class Table(unittest.TestCase):
    def test_rows_have_the_status_from_the_logs(self):
        text, untouched = device_table.rewrite(PAGE, device_table.read_logs([LOG]), "2026-01-02")
        self.assertIn("| `host::heap` | pointer | works: Linux 6.1 (2026-01-02) |", text)
        self.assertIn('| `dma::heap<"…">` | pointer | works on a fake driver (2026-01-02) |', text)
        self.assertEqual(text.count("stays"), 2)
        self.assertIn("planned", text)
        self.assertEqual(untouched, ["`opencl::fine_svm`, `coarse_svm`"])
        self.assertIn("coarse_svm` | pointer | old |", text)

    def test_a_row_has_the_status_of_its_weakest_type(self):
        seen = device_table.read_logs([LOG + "device: opencl::coarse_svm on a fake driver\n"])
        text, untouched = device_table.rewrite(PAGE, seen, "2026-01-02")
        self.assertIn("coarse_svm` | pointer | works on a fake driver (2026-01-02) |", text)
        self.assertEqual(untouched, [])

    def test_a_real_driver_overrides_a_fake_one_in_any_order(self):
        logs = ["device: dma::heap on a fake driver\n", "device: dma::heap on the real driver: Linux 6.12\n"]
        for order in (logs, logs[::-1]):
            self.assertEqual(device_table.read_logs(order), {"dma::heap": {"Linux 6.12"}})

    def test_a_row_lists_the_drivers_of_all_its_types(self):
        seen = {"opencl::fine_svm": {"PoCL 3.1", "B", "A"}, "opencl::coarse_svm": {"B", "PoCL 3.1"}}
        text, _ = device_table.rewrite(PAGE, seen, "2026-01-02")
        self.assertIn("coarse_svm` | pointer | works: B, PoCL 3.1 (2026-01-02) |", text)

    def test_nothing_changes_without_logs(self):
        text, _ = device_table.rewrite(PAGE, {}, "2026-01-02")
        self.assertEqual(text, PAGE)


class Readme(unittest.TestCase):
    def test_every_device_is_in_the_table(self):
        """A device is a class that declares dl_device. Classes that forward memory inherit it."""
        lines = (ROOT / "README.md").read_text().split("\n")
        table = {
            kind.rpartition("::")[2]
            for number, line in enumerate(lines)
            if (row := device_table.ROW.match(line)) and device_table.in_devices(lines[:number])
            for kind in device_table.types_of(row["types"])
        }
        missing = []
        headers = [path for path in (ROOT / "include" / "allot").rglob("*.hpp") if path.parent.name != "detail"]
        self.assertGreater(len(headers), 50)
        for header in sorted(headers):
            text = re.sub(r"^namespace detail \{$.*?^\}  // namespace detail$", "", header.read_text(), flags=re.MULTILINE | re.DOTALL)
            for name, body in re.findall(r"^(?:class|struct) (\w+)(?: : [^{]*)? \{$(.*?)^\};$", text, re.MULTILINE | re.DOTALL):
                aliases = re.findall(rf"^using (\w+) = {name}<", text, re.MULTILINE)
                is_device = "dl_device_type dl_device" in body and re.search(r"\bacquire\(layout", body)
                if is_device and not table & {name, *aliases}:
                    missing.append(f"{header.name}: {name}")
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
