# Installs the headers from SOURCE_PATH: the common part of the overlay port and of the registry's port.
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DALLOT_TESTS=OFF -DALLOT_EXAMPLES=OFF -DALLOT_BENCHMARKS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME allot CONFIG_PATH share/cmake/allot)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/cmake" "${CURRENT_PACKAGES_DIR}/share/licenses")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/allot")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
