from pathlib import Path
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake
from conan.tools.files import copy
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"

# The recipe of this tree. That of ConanCenter, which fetches a release, is in .conan/recipes.

# Packages of ConanCenter for each option. CUDA, HIP and OpenSHMEM are not there: their targets use the system's SDK.
PACKAGES = {
    "boost": [("boost/[>=1.74 <2]", {"header_only": True})],  # for the headers that docs/layers.md lists
    "opencl": [("opencl-icd-loader/[>=2022.09.30]", {}), ("opencl-clhpp-headers/[>=2022.09.30]", {})],
    "vulkan": [("vulkan-headers/[>=1.3 <2]", {}), ("vulkan-loader/[>=1.3 <2]", {})],
    "mpi": [("openmpi/[>=4.1 <6]", {})],
}


class Allot(ConanFile):
    name = "allot"
    license = "BSL-1.0"
    description = "Memory allocators for host, device and static memory"
    topics = ("allocator", "memory", "opencl", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {option: [True, False] for option in PACKAGES}
    default_options = {option: False for option in PACKAGES}
    generators = "CMakeToolchain", "CMakeDeps"
    exports = "CMakeLists.txt"  # set_version reads the version from it
    exports_sources = "CMakeLists.txt", "LICENSE", "include/*", "bindings/debuggers/*", "bindings/module/*"
    no_copy_source = True

    def set_version(self):
        text = Path(self.recipe_folder, "CMakeLists.txt").read_text(encoding="utf-8")
        self.version = re.search(r"project\(allot VERSION ([0-9.]+)", text).group(1)

    def requirements(self):
        for option, packages in PACKAGES.items():
            for package, options in packages if self.options.get_safe(option) else []:
                self.requires(package, transitive_headers=True, transitive_libs=True, options=options)

    def layout(self):
        basic_layout(self)

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)

    def build(self):
        cmake = CMake(self)
        options = ("ALLOT_TESTS", "ALLOT_EXAMPLES", "ALLOT_BENCHMARKS")
        cmake.configure(variables={option: "OFF" for option in options})

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))
        CMake(self).install()

    def package_id(self):
        self.info.clear()  # header-only: one package for all settings and options, and versions of Boost

    def package_info(self):
        # CMake uses the package configuration that allot installs, so consumers see the same targets with and without Conan.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/allot"]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
