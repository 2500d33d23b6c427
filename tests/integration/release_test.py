#!/usr/bin/python3
"""Makes releases from tags of a scratch repository, twice and in two folders, and compares their bytes.

With ALLOT_LONG=1 the release has the wheel and the source archive of the Python package. A tag of the scratch repository
stands for that of the tested tree, so that no tag has to exist.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search(r"project\(allot VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
URL = "https://example.org/allot"
LONG = bool(os.environ.get("ALLOT_LONG"))
IDENTITY = {"GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "e",
            "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z"}


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env={**os.environ, **IDENTITY})


def copy_of_tree(folder):
    """A repository of the tested tree, whose only commit has the tag of the version that the tree states."""
    shutil.copytree(ROOT, folder, symlinks=True, ignore=lambda path, names: [
        name for name in names if name in ("__pycache__", ".git") or Path(path) == ROOT and name == "build"])
    text = (folder / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(VERSION)} ", text, re.MULTILINE):
        (folder / "CHANGELOG.md").write_text(text.replace("## Unreleased", f"## {VERSION} – 2026-01-02", 1), encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"], ["tag", f"v{VERSION}"]):
        git(folder, *arguments)


def release(tree, out, *arguments, **environment):
    return subprocess.run([tree / ".release" / "make.py", out, *arguments], capture_output=True, text=True,
                          env={**os.environ, **environment})


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("git"):
            print("skipped: git is not installed")
            sys.exit(77)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.scratch = Path(folder.name)
        cls.tree = cls.scratch / "tree"
        copy_of_tree(cls.tree)
        cls.other = cls.scratch / "another folder" / "tree"
        git(cls.scratch, "clone", "-q", cls.tree, cls.other)
        cls.arguments = ["--url", URL]
        if not LONG:
            cls.arguments.append("--sources")
        elif subprocess.run([ROOT / "bindings" / "python" / "run", "--tools"], capture_output=True).returncode != 0:
            print("skipped: the packages that build the wheel are not installed, so that the release lacks the Python package")
            cls.arguments.append("--sources")
        cls.first = cls.made(cls.tree, "first", TZ="Asia/Kolkata", LC_ALL="C")
        cls.second = cls.made(cls.other, "second", TZ="America/Lima", LC_ALL="C.UTF-8", SOURCE_DATE_EPOCH="1")

    @classmethod
    def made(cls, tree, name, **environment):
        tools = ROOT / "build" / "python" / f"{sys.version_info[0]}.{sys.version_info[1]}" / "tools"
        if "--sources" not in cls.arguments and "ALLOT_WHEEL_TOOLS" not in os.environ:
            environment["ALLOT_WHEEL_TOOLS"] = str(tools)  # so that they are not installed once more
        done = release(tree, cls.scratch / name, *cls.arguments, **environment)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return cls.scratch / name

    def bytes_of(self, folder):
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def test_two_folders_give_the_same_bytes(self):
        first, second = self.bytes_of(self.first), self.bytes_of(self.second)
        self.assertEqual(sorted(first), sorted(second))
        for name in first:
            self.assertTrue(first[name] == second[name], f"{name} differs")
        if "--sources" in self.arguments:
            self.assertFalse((self.first / "python").exists())
        else:
            self.assertEqual(sorted(Path(name).suffix for name in first if name.startswith("python/")), [".gz", ".whl"])

    def test_the_archives_have_the_files_of_the_tag(self):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=self.tree, capture_output=True, text=True, check=True).stdout
        expected = {f"allot-{VERSION}/{name}" for name in listed.split("\0") if name}
        with tarfile.open(self.first / f"allot-{VERSION}.tar.gz") as tar:
            self.assertEqual({entry.name for entry in tar if not entry.isdir()}, expected)
        with zipfile.ZipFile(self.first / f"allot-{VERSION}.zip") as archive:
            self.assertEqual({name for name in archive.namelist() if not name.endswith("/")}, expected)

    def test_all_files_have_checksums(self):
        lines = dict(reversed(line.split("  ", 1)) for line in (self.first / "SHA256SUMS").read_text().splitlines())
        files = self.bytes_of(self.first)
        del files["SHA256SUMS"]
        self.assertEqual(lines, {name: hashlib.sha256(text).hexdigest() for name, text in files.items()})
        self.assertLessEqual({"allot.hpp", "allot_plan.hpp", "allot_boost.hpp", f"allot-{VERSION}.md"}, set(files))

    def test_the_notes_are_one_section(self):
        notes = (self.first / f"allot-{VERSION}.md").read_text(encoding="utf-8")
        self.assertIn(notes.strip(), (self.tree / "CHANGELOG.md").read_text(encoding="utf-8"))
        self.assertNotRegex(notes, r"(?m)^## ")

    def test_the_bill_of_materials(self):
        path = self.first / f"allot-{VERSION}.spdx.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        files = self.bytes_of(self.first)
        stated = {file["fileName"][2:]: file["checksums"] for file in document["files"]}
        self.assertEqual(set(stated), set(files) - {"SHA256SUMS", path.name})
        for name, checksums in stated.items():
            for each in checksums:
                self.assertEqual(each["checksumValue"], hashlib.new(each["algorithm"].lower(), files[name]).hexdigest())
        packages = {package["name"]: package for package in document["packages"]}
        self.assertEqual(packages["allot"]["versionInfo"], VERSION)
        self.assertLessEqual({"boost", "openmpi", "vulkan-loader", "opencl-icd-loader"}, set(packages))
        self.assertEqual("nanobind" in packages, "--sources" not in self.arguments)
        validator = shutil.which("pyspdxtools", path=f"{ROOT}/build/tools/bin:{os.environ['PATH']}")
        if not validator:
            print("skipped: spdx-tools is not installed, so that only parts of the bill of materials are compared")
            return
        done = subprocess.run([validator, "--infile", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_registries_compare_the_hash_of_the_archive(self):
        archive = (self.first / f"allot-{VERSION}.tar.gz").read_bytes()
        port = (self.first / "vcpkg" / "allot" / "portfile.cmake").read_text(encoding="utf-8")
        self.assertIn(f'URLS "{URL}/allot-{VERSION}.tar.gz"', port)
        self.assertIn(f"SHA512 {hashlib.sha512(archive).hexdigest()})", port)
        self.assertNotIn("@", port)
        data = (self.first / "conan" / "recipes" / "allot" / "all" / "conandata.yml").read_text(encoding="utf-8")
        self.assertIn(f'url: "{URL}/allot-{VERSION}.tar.gz"', data)
        self.assertIn(f'sha256: "{hashlib.sha256(archive).hexdigest()}"', data)

    def test_the_recipe_of_conan_fetches_the_archive(self):
        conan = shutil.which("conan", path=f"{ROOT}/build/tools/bin:{os.environ['PATH']}")
        if not conan:
            print("skipped: Conan is not installed, so that its recipe does not fetch the archive")
            return
        recipe = self.scratch / "recipe"
        shutil.copytree(self.first / "conan" / "recipes" / "allot" / "all", recipe)
        data = (recipe / "conandata.yml").read_text(encoding="utf-8")
        for changed, hexadecimal in ((False, None), (True, "0" * 64)):
            text = data.replace(URL, self.first.as_uri())
            (recipe / "conandata.yml").write_text(re.sub('sha256: "[^"]*', f'sha256: "{hexadecimal}', text) if changed else text)
            done = subprocess.run([conan, "source", recipe, "--version", VERSION], capture_output=True, text=True,
                                  env={**os.environ, "CONAN_HOME": str(self.scratch / "conan")})
            self.assertEqual(done.returncode != 0, changed, done.stderr)
            self.assertIn(f'homepage = "{URL}"', (recipe / "conanfile.py").read_text(encoding="utf-8"))
            if changed:
                self.assertRegex(done.stderr, "sha256 .*failed")
            else:
                self.assertTrue((recipe / "src" / "include" / "allot" / "allot.hpp").exists(), done.stderr)


class Refusals(unittest.TestCase):
    """Trees of three files, from which no release can be made."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name) / "tree"
        (self.tree / ".release").mkdir(parents=True)
        shutil.copy(ROOT / ".release" / "make.py", self.tree / ".release")
        (self.tree / "CMakeLists.txt").write_text("project(allot VERSION 1.2.3)\n")
        (self.tree / "CHANGELOG.md").write_text("## Unreleased\n\n- one\n\n## 1.2.3 – 2026-01-02\n\n- two\n", encoding="utf-8")

    def commit(self, tag="v1.2.3"):
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"], ["tag", tag]):
            git(self.tree, *arguments)

    def expect(self, reason, *arguments):
        out = self.tree.parent / "out"
        out.mkdir(exist_ok=True)
        (out / "kept").write_text("")
        environment = {"GIT_CEILING_DIRECTORIES": str(self.tree.parent)}
        done = release(self.tree, out, "--sources", *arguments, **environment)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"dev: {reason}; see ./dev help\n"))
        self.assertTrue((out / "kept").exists())  # an earlier release stays

    def test_no_repository(self):
        self.expect("this folder is not a git repository; a release is made from a tag")

    def test_not_a_version(self):
        self.commit()
        self.expect("'v1.2' is not a version; write MAJOR.MINOR.PATCH", "v1.2")

    def test_no_tag(self):
        self.commit("v1.2.2")
        self.expect("the tag v1.2.3 does not exist; make it with git tag -a v1.2.3")

    def test_a_changed_tree(self):
        self.commit()
        (self.tree / "new").write_text("")
        self.expect("the working tree has changes; commit or stash them")

    def test_another_commit(self):
        self.commit()
        git(self.tree, "commit", "-q", "--allow-empty", "-m", "y")
        self.expect("the tag v1.2.3 is not checked out; run git checkout v1.2.3")

    def test_another_version(self):
        self.commit("v1.2.4")
        self.expect("CMakeLists.txt states version 1.2.3, and the tag v1.2.4", "1.2.4")

    def test_no_section(self):
        (self.tree / "CHANGELOG.md").write_text("## Unreleased\n\n- one\n\n## 1.2.30 – 2026-01-02\n\n- two\n", encoding="utf-8")
        self.commit()
        self.expect("CHANGELOG.md has no section '## 1.2.3 – YYYY-MM-DD'")


if __name__ == "__main__":
    unittest.main()
