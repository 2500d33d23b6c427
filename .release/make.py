#!/usr/bin/python3
"""Makes the files of a release from a tag: make.py FOLDER [VERSION] [--sources] [--url ADDRESS]

    allot-VERSION.tar.gz, .zip     the source archives: the files of the tag vVERSION
    allot.hpp, allot_plan.hpp, ...  the single headers
    python/                        the wheel of the Python package, for the Python that runs this script, and its source archive
    allot-VERSION.spdx.json        the bill of materials, SPDX 2.3
    allot-VERSION.md               the release notes: the section of CHANGELOG.md
    vcpkg/, conan/                 with --url, the address of the folder: the port and the recipe that fetch the archive
                                   (in the layouts of the registry of vcpkg and of ConanCenter)
    SHA256SUMS                     the checksums of all files

--sources leaves out the wheel and the source archive of the Python package, which need the network.

All files are made from the tag, in a folder of their own. Times are those of the tagged commit. The same tag and the same
versions of git, gzip, Python and the packages of bindings/python give the same bytes, in any folder, locale and time zone.
"""

import argparse
import ast
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LICENSES = {  # of the packages that conanfile.py names
    "boost": "BSL-1.0",
    "opencl-icd-loader": "Apache-2.0",
    "opencl-clhpp-headers": "Apache-2.0",
    "vulkan-headers": "Apache-2.0",
    "vulkan-loader": "Apache-2.0",
    "openmpi": "BSD-3-Clause-Open-MPI",
}
# Parts of packages that the wheel contains: name, package, license.
LINKED = [("nanobind", "nanobind", "BSD-3-Clause"), ("robin-map", "nanobind", "MIT"),
          ("libc++", "ziglang", "Apache-2.0 WITH LLVM-exception")]


def refuse(reason):
    print(f"dev: {reason}; see ./dev help", file=sys.stderr)
    sys.exit(2)


def git(*arguments, check=True):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if check and done.returncode != 0:
        refuse(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip() if done.returncode == 0 else None


def version_of(tree):
    """The version that CMakeLists.txt states."""
    return re.search(r"project\(allot VERSION ([0-9.]+)", (tree / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


def notes_of(tree, version):
    """The section of a version in CHANGELOG.md, without its heading, or None."""
    text = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version)} – \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return found and found.group(1).strip() + "\n"


def commit_of(version):
    """The commit of the tag of a version. Ends the program if no release can be made from the working tree."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        refuse(f"'{version}' is not a version; write MAJOR.MINOR.PATCH")
    if git("rev-parse", "--git-dir", check=False) is None:
        refuse("this folder is not a git repository; a release is made from a tag")
    commit = git("rev-parse", "--verify", "--quiet", f"refs/tags/v{version}^{{commit}}", check=False)
    if not commit:
        refuse(f"the tag v{version} does not exist; make it with git tag -a v{version}")
    if git("status", "--porcelain"):
        refuse("the working tree has changes; commit or stash them")
    if git("rev-parse", "HEAD") != commit:
        refuse(f"the tag v{version} is not checked out; run git checkout v{version}")
    if version_of(ROOT) != version:
        refuse(f"CMakeLists.txt states version {version_of(ROOT)}, and the tag v{version}")
    if not notes_of(ROOT, version):
        refuse(f"CHANGELOG.md has no section '## {version} – YYYY-MM-DD'")
    return commit


def checksum(path, kind):
    return hashlib.new(kind, path.read_bytes()).hexdigest()


def make_archives(out, name, commit):
    """Writes the source archives. Returns that of tar."""
    def archive(kind):
        return subprocess.run(["git", "-c", "tar.umask=0022", "archive", f"--format={kind}", f"--prefix={name}/", commit],
                              cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout

    tar = out / f"{name}.tar.gz"
    tar.write_bytes(subprocess.run(["gzip", "-9", "-n"], input=archive("tar"), check=True, stdout=subprocess.PIPE).stdout)
    (out / f"{name}.zip").write_bytes(archive("zip"))
    return tar


def make_python(out, tree):
    """Writes the wheel and the source archive of the Python package."""
    scripts = ROOT / "bindings" / "python" / "run"
    tools = subprocess.run([scripts, "--tools"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    for kind in ("--wheel", "--sdist"):
        subprocess.run([tree / "bindings" / "python" / "run", kind], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "ALLOT_WHEEL_TOOLS": tools})
    shutil.copytree(tree / "build" / "dist", out / "python")


def packages_of(tree, with_wheel):
    """(name, version or None, license, relationship to allot) of each package that allot can use or that its wheel contains."""
    for node in ast.parse((tree / "conanfile.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "PACKAGES":
            for packages in ast.literal_eval(node.value).values():
                for package, _ in packages:
                    name, version = package.split("/")
                    yield name, version.strip("[]"), LICENSES[name], "OPTIONAL_DEPENDENCY_OF"
    if with_wheel:
        text = (tree / "bindings" / "python" / "requirements.txt").read_text(encoding="utf-8")
        versions = dict(line.split("==") for line in text.split())
        for name, package, license_of_part in LINKED:
            yield name, versions[package] if name == package else None, license_of_part, "STATIC_LINK"


def bill_of_materials(tree, out, version, commit, created, url):
    """The document of SPDX 2.3: allot, the packages that it can use, and the files of the release."""
    def package(identifier, name, stated, license_of_package, location="NOASSERTION"):
        return {"SPDXID": identifier, "name": name, **({"versionInfo": stated} if stated else {}),
                "downloadLocation": location, "filesAnalyzed": False, "licenseConcluded": license_of_package,
                "licenseDeclared": license_of_package, "copyrightText": "NOASSERTION"}

    def relationship(one, kind, other):
        return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}

    allot = package("SPDXRef-allot", "allot", version, "BSL-1.0", f"{url}/allot-{version}.tar.gz" if url else "NOASSERTION")
    allot["primaryPackagePurpose"] = "LIBRARY"
    packages, files = [allot], []
    relationships = [relationship("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-allot")]
    paths = [path for path in sorted(out.rglob("*")) if path.is_file()]
    for name, stated, license_of_package, kind in packages_of(tree, (out / "python").exists()):
        identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
        packages.append(package(identifier, name, stated, license_of_package))
        if kind == "STATIC_LINK":
            wheels = [number for number, path in enumerate(paths) if path.suffix == ".whl"]
            relationships += [relationship(f"SPDXRef-file-{number}", kind, identifier) for number in wheels]
        else:
            relationships.append(relationship(identifier, kind, "SPDXRef-allot"))
    for number, path in enumerate(paths):
        files.append({"SPDXID": f"SPDXRef-file-{number}", "fileName": f"./{path.relative_to(out)}",
                      "checksums": [{"algorithm": kind, "checksumValue": checksum(path, kind.lower())} for kind in ("SHA1", "SHA256")],
                      "licenseConcluded": "BSL-1.0", "copyrightText": "NOASSERTION"})
        relationships.append(relationship(f"SPDXRef-file-{number}", "GENERATED_FROM", "SPDXRef-allot"))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"allot-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/allot-{version}-{commit}",
            "creationInfo": {"created": created, "creators": ["Tool: allot-dev-release"]},
            "packages": packages, "files": files, "relationships": relationships}


def make_registries(out, tree, archive, version, url):
    """Writes the port of vcpkg and the recipe of Conan, which fetch the archive and compare its hash."""
    address = f"{url}/{archive.name}"
    port, recipes = out / "vcpkg" / "allot", out / "conan" / "recipes" / "allot"
    port.mkdir(parents=True)
    template = (tree / ".vcpkg" / "registry" / "portfile.cmake.in").read_text(encoding="utf-8")
    template = template[template.index("set("):]  # its comment describes the template
    (port / "portfile.cmake").write_text(template.replace("@ALLOT_ARCHIVE_URL@", address)
                                         .replace("@ALLOT_ARCHIVE_SHA512@", checksum(archive, "sha512")), encoding="utf-8")
    for name in ("install.cmake", "usage", "vcpkg.json"):
        shutil.copyfile(tree / ".vcpkg" / "ports" / "allot" / name, port / name)
    shutil.copytree(tree / ".conan" / "recipes" / "allot", recipes)
    recipe = recipes / "all" / "conanfile.py"
    recipe.write_text(recipe.read_text(encoding="utf-8").replace("@ALLOT_URL@", url), encoding="utf-8")
    (recipes / "all" / "conandata.yml").write_text(f'sources:\n  "{version}":\n    url: "{address}"\n'
                                                   f'    sha256: "{checksum(archive, "sha256")}"\n', encoding="utf-8")
    (recipes / "config.yml").write_text(f'versions:\n  "{version}":\n    folder: all\n', encoding="utf-8")


def make(out, version, commit, arguments):
    """Writes all files of a release into an empty folder."""
    seconds = git("show", "-s", "--format=%ct", commit)
    os.environ.update(SOURCE_DATE_EPOCH=seconds, TZ="UTC", LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
    os.umask(0o022)
    archive = make_archives(out, f"allot-{version}", commit)
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch) / f"allot-{version}"
        subprocess.run(["tar", "-xzf", archive, "-C", scratch], check=True)
        subprocess.run([tree / "bindings" / "single_header" / "join.py", out], check=True, stdout=subprocess.DEVNULL)
        (out / f"allot-{version}.md").write_text(notes_of(tree, version), encoding="utf-8")
        if not arguments.sources:
            make_python(out, tree)
        if arguments.url:
            make_registries(out, tree, archive, version, arguments.url.rstrip("/"))
        created = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        document = bill_of_materials(tree, out, version, commit, created, arguments.url and arguments.url.rstrip("/"))
    (out / f"allot-{version}.spdx.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    sums = [f"{checksum(path, 'sha256')}  {path.relative_to(out)}\n" for path in sorted(out.rglob("*")) if path.is_file()]
    (out / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("version", nargs="?", default=version_of(ROOT))
    parser.add_argument("--sources", action="store_true")
    parser.add_argument("--url")
    arguments = parser.parse_intermixed_args()  # the version may be behind an option
    commit = commit_of(arguments.version)
    out = arguments.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    make(out, arguments.version, commit, arguments)
    for line in (out / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        print(out / line.split("  ", 1)[1])


if __name__ == "__main__":
    main()
