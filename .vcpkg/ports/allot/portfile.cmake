# An overlay port: vcpkg install allot --overlay-ports=.vcpkg/ports
# It packages the tree that contains it, so it needs no download and no checksum.
set(VCPKG_BUILD_TYPE release) # header-only: the debug build is identical
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH ports)
cmake_path(GET ports PARENT_PATH vcpkg_dir)
cmake_path(GET vcpkg_dir PARENT_PATH SOURCE_PATH)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DALLOT_TESTS=OFF -DALLOT_EXAMPLES=OFF -DALLOT_BENCHMARKS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME allot CONFIG_PATH share/cmake/allot)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/cmake" "${CURRENT_PACKAGES_DIR}/share/licenses")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
