# The target allot::module (docs/modules.md). The project that imports the module compiles it, because other flags or
# another compiler could not read its compiled interface. An installation has its source, and serves all compilers.

# allot_find_module_support(OUT): sets OUT to the reason why this project cannot use modules, or to an empty string.
function(allot_find_module_support out)
    set(compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
    set(least_Clang 16)
    set(least_GNU 14)
    set(least_MSVC 19.34)
    set(reason)
    if(CMAKE_VERSION VERSION_LESS 3.28)
        set(reason "modules need CMake 3.28, and this is ${CMAKE_VERSION}")
    elseif(NOT CMAKE_GENERATOR MATCHES "^(Ninja|Visual Studio (1[7-9]|[2-9][0-9]))")
        set(reason "modules need the generator Ninja or Visual Studio 17, and this is ${CMAKE_GENERATOR}")
    elseif(NOT DEFINED least_${CMAKE_CXX_COMPILER_ID}
           OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS least_${CMAKE_CXX_COMPILER_ID})
        set(reason "modules need Clang 16, GCC 14 or MSVC 19.34, and this is ${compiler}")
    elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT CMAKE_CXX_COMPILER_CLANG_SCAN_DEPS)
        set(reason "the program clang-scan-deps of ${compiler} is not found (Debian: the package clang-tools)")
    elseif(compiler MATCHES "^Clang 16" AND (CMAKE_CXX_EXTENSIONS OR NOT DEFINED CMAKE_CXX_EXTENSIONS))
        set(reason "Clang 16 has modules only without the extensions of GNU: set CMAKE_CXX_EXTENSIONS to OFF")
    endif()
    set(${out} "${reason}" PARENT_SCOPE)
endfunction()

# allot_add_module(FOLDER): defines allot::module, from allot.cppm in a folder.
function(allot_add_module folder)
    if(NOT TARGET allot_module)
        add_library(allot_module STATIC EXCLUDE_FROM_ALL)
        target_sources(allot_module PUBLIC FILE_SET CXX_MODULES BASE_DIRS ${folder} FILES ${folder}/allot.cppm)
        target_link_libraries(allot_module PUBLIC allot::headers_only)
        add_library(allot::module ALIAS allot_module)
    endif()
endfunction()
