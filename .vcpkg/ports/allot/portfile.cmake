# An overlay port: vcpkg install allot --overlay-ports=.vcpkg/ports
# It packages the tree that contains it, so it needs no download and no checksum.
set(VCPKG_BUILD_TYPE release) # header-only: the debug build is identical
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH ports)
cmake_path(GET ports PARENT_PATH vcpkg_dir)
cmake_path(GET vcpkg_dir PARENT_PATH SOURCE_PATH)

include("${CMAKE_CURRENT_LIST_DIR}/install.cmake")
