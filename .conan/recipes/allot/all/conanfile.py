import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class AllotConan(ConanFile):
    name = "allot"
    description = "Memory allocators for host, device and static memory"
    license = "BSL-1.0"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "@ALLOT_URL@"
    topics = ("allocator", "memory", "memory-planning", "opencl", "vulkan", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "with_boost": [True, False],
        "with_opencl": [True, False],
        "with_vulkan": [True, False],
        "with_mpi": [True, False],
    }
    default_options = {
        "with_boost": False,
        "with_opencl": False,
        "with_vulkan": False,
        "with_mpi": False,
    }
    no_copy_source = True

    def layout(self):
        basic_layout(self, src_folder="src")

    def requirements(self):
        if self.options.with_boost:
            self.requires("boost/1.88.0")
        if self.options.with_opencl:
            self.requires("opencl-icd-loader/2025.07.22")
            self.requires("opencl-clhpp-headers/2025.07.22")
        if self.options.with_vulkan:
            self.requires("vulkan-headers/1.4.313.0")
            self.requires("vulkan-loader/1.4.313.0")
        if self.options.with_mpi:
            self.requires("openmpi/4.1.8")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def build(self):
        pass

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def _add_component(self, name, requires=(), defines=()):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"allot::{name}")
        component.requires = list(requires)
        component.defines = list(defines)
        component.bindirs = []
        component.libdirs = []

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "allot")
        self.cpp_info.set_property("pkg_config_name", "allot")
        # The targets of the package configuration that CMakeLists.txt installs
        self._add_component("headers_only")
        self._add_component("allot", ["boost" if self.options.with_boost else "headers_only"])
        if self.options.with_boost:
            self._add_component("boost", ["headers_only", "boost::headers"])
        if self.options.with_opencl:
            self._add_component("opencl", ["headers_only", "opencl-icd-loader::opencl-icd-loader",
                                           "opencl-clhpp-headers::opencl-clhpp-headers"],
                                ["CL_HPP_MINIMUM_OPENCL_VERSION=200", "CL_HPP_TARGET_OPENCL_VERSION=300"])
        if self.options.with_vulkan:
            self._add_component("vulkan", ["headers_only", "vulkan-headers::vulkan-headers", "vulkan-loader::vulkan-loader"])
        if self.options.with_mpi:
            self._add_component("mpi", ["headers_only", "openmpi::ompi-c"], ["OMPI_SKIP_MPICXX", "MPICH_SKIP_MPICXX"])
