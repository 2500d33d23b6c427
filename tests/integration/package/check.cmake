# Obtains allot in one WAY, then builds and runs a consumer outside the source tree. CTest runs this script with WAY,
# SOURCE, BUILD (a configured build of allot), SCRATCH, VERSION, COMPILER, and BOOST (its version).
cmake_minimum_required(VERSION 3.25)

function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT status EQUAL 0)
        list(JOIN ARGV " " command)
        message("${output}")
        message(FATAL_ERROR "failed (${status}): ${command}")
    endif()
endfunction()

# Checks that configuring a consumer with these arguments fails with this message.
function(refuse_consumer reason)
    set(generator -G Ninja)
    if("-G" IN_LIST ARGN)
        set(generator)
    endif()
    file(REMOVE_RECURSE ${SCRATCH}/refused)
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${SCRATCH}/refused ${generator}
                            -DCMAKE_CXX_COMPILER=${COMPILER} ${ARGN}
                    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    string(REGEX REPLACE "[ \n]+" " " words "${output}")
    string(FIND "${words}" "${reason}" at)
    if(status EQUAL 0 OR at EQUAL -1)
        message(FATAL_ERROR "the configuration does not fail with '${reason}':\n${output}")
    endif()
endfunction()

function(build_and_run_consumer)
    run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${SCRATCH}/build -G Ninja
        -DCMAKE_CXX_COMPILER=${COMPILER} ${ARGV})
    run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
    run(${SCRATCH}/build/consumer)
endfunction()

# Writes an archive with one folder, as a release has it, with the files that an installation needs.
function(archive_headers archive)
    set(folder ${SCRATCH}/sources/allot-${VERSION})
    file(COPY ${SOURCE}/CMakeLists.txt ${SOURCE}/LICENSE ${SOURCE}/include DESTINATION ${folder})
    file(COPY ${SOURCE}/bindings/debuggers ${SOURCE}/bindings/module DESTINATION ${folder}/bindings)
    cmake_path(GET archive PARENT_PATH parent)
    file(MAKE_DIRECTORY ${parent})
    execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf ${archive} allot-${VERSION}
                    WORKING_DIRECTORY ${SCRATCH}/sources COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Runs the port in a folder as the program vcpkg does. Its files are in ${SCRATCH}/packages/NAME.
function(run_port name folder)
    find_program(NINJA ninja)
    run(${CMAKE_COMMAND} -DCMD=BUILD -DPORT=${name} -DVERSION=${VERSION} -DCURRENT_PORT_DIR=${folder} -DFEATURES=core
        -DTARGET_TRIPLET=x64-linux -DTARGET_TRIPLET_FILE=${root}/triplets/x64-linux.cmake -D_HOST_TRIPLET=x64-linux
        -DVCPKG_FIXUP_ELF_RPATH=OFF -DVCPKG_ROOT_DIR=${root} -DDOWNLOADS=${SCRATCH}/downloads
        -D_VCPKG_INSTALLED_DIR=${SCRATCH}/installed -DCURRENT_BUILDTREES_DIR=${SCRATCH}/trees/${name}
        -DCURRENT_PACKAGES_DIR=${SCRATCH}/packages/${name} -DVCPKG_BASE_VERSION=2026-01-01 -DVCPKG_CONCURRENCY=1
        -DNINJA=${NINJA} ${ARGN} -P ${root}/scripts/ports.cmake)
endfunction()

# Checks that Conan's graph of the package with these options contains one text, and not another one if it is not empty.
function(expect_requirements present absent)
    execute_process(COMMAND ${CONAN} graph info --requires=allot/${VERSION} --no-remote ${ARGN}
                    OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT output MATCHES "${present}" OR (absent AND output MATCHES "${absent}"))
        message(FATAL_ERROR "'${ARGN}' should require '${present}', and not '${absent}':\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})

if(WAY STREQUAL "find_package")
    set(prefix "${SCRATCH}/a prefix")
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix "${prefix}")
    run(${CMAKE_COMMAND} -E compare_files ${SOURCE}/LICENSE "${prefix}/share/licenses/allot/LICENSE")
    foreach(file allot_gdb.py allot_lldb.py allot_memory.py allot_views.py allot.natvis README.md)
        run(${CMAKE_COMMAND} -E compare_files ${SOURCE}/bindings/debuggers/${file}
            "${prefix}/share/allot/debuggers/${file}")
    endforeach()
    set(toolkit)
    if(DEFINED ENV{CUDAToolkit_ROOT})
        set(toolkit -DCUDAToolkit_ROOT=$ENV{CUDAToolkit_ROOT})
    endif()
    set(installed "-DCMAKE_PREFIX_PATH=${prefix}" -DALLOT_VERSION=${VERSION})
    build_and_run_consumer(${installed} ${toolkit})
    refuse_consumer("allot has no component openc (components: headers_only, boost, module, planner, c, opencl, cuda, hip, \
vulkan, mpi, shmem)" ${installed} -DALLOT_COMPONENTS=openc)
    refuse_consumer("the SDK of allot::hip is not found" ${installed} -DALLOT_COMPONENTS=hip
                    -DALLOT_HIP_INCLUDE_DIR=OFF)

elseif(WAY STREQUAL "planner")
    # allot::planner, installed and from the sources. An object of the consumer only calls the planners.
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix "${SCRATCH}/a prefix")
    set(installed "-DCMAKE_PREFIX_PATH=${SCRATCH}/a prefix" -DALLOT_VERSION=${VERSION} -DALLOT_COMPONENTS=planner)
    find_program(NM nm REQUIRED)
    foreach(from installed sources)
        set(arguments ${installed})
        if(from STREQUAL "sources")
            set(arguments -DALLOT_SOURCE=${SOURCE})
        endif()
        build_and_run_consumer(${arguments} -DALLOT_TARGET=allot::planner -DCONSUMER=planner.cpp)
        execute_process(COMMAND ${NM} -C ${SCRATCH}/build/CMakeFiles/consumer.dir/planner.cpp.o
                        OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
        foreach(name plan plan_memories plan_moves plan_mixed replan replan_at plan_symbolic symbolic_plan::bind
                     make_guide validate_moves validate_mixed)
            if(NOT symbols MATCHES " U [^\n]*allot::v1::${name}[<(]")
                message(FATAL_ERROR "the planner of ${name} does not come from the library:\n${symbols}")
            endif()
        endforeach()
        if(symbols MATCHES "[^\n]*(planner|_search|greedy|guide_maker|validator)[^\n]*::")
            message(FATAL_ERROR "the object of the consumer contains a part of a planner: ${CMAKE_MATCH_0}")
        endif()
        file(REMOVE_RECURSE ${SCRATCH}/build)
    endforeach()

elseif(WAY STREQUAL "without_boost")
    # A machine without Boost: CMake does not find it, and a header that includes it does not compile.
    file(WRITE ${SCRATCH}/no_boost/boost/intrusive/set.hpp "#error Boost is included\n")
    file(WRITE ${SCRATCH}/no_boost/boost/intrusive/list.hpp "#error Boost is included\n")
    set(no_boost -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON -DCMAKE_CXX_FLAGS=-I${SCRATCH}/no_boost)
    run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/allot -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} ${no_boost}
        -DALLOT_TESTS=OFF -DALLOT_EXAMPLES=OFF -DALLOT_BENCHMARKS=OFF)
    run(${CMAKE_COMMAND} --install ${SCRATCH}/allot --prefix "${SCRATCH}/a prefix")
    set(installed "-DCMAKE_PREFIX_PATH=${SCRATCH}/a prefix" -DALLOT_VERSION=${VERSION} ${no_boost})
    foreach(components "" headers_only) # allot::allot and allot::headers_only
        build_and_run_consumer(${installed} -DALLOT_COMPONENTS=${components})
        file(REMOVE_RECURSE ${SCRATCH}/build)
    endforeach()
    refuse_consumer("the headers of Boost 1.74 are not found, which allot::boost needs; allot::allot and \
allot::headers_only do not" ${installed} -DALLOT_COMPONENTS=boost)
    # Without the component, the reason is printed before CMake reports the missing target.
    foreach(message "allot: the headers of Boost 1.74 are not found, which allot::boost needs"
                    "Target \"consumer\" links to: allot::boost but the target was not found")
        refuse_consumer("${message}" ${installed} -DALLOT_TARGET=allot::boost)
    endforeach()
    refuse_consumer("allot: the target allot::boost does not exist, because the headers of Boost 1.74 are not found"
                    -DALLOT_SOURCE=${SOURCE} ${no_boost} -DALLOT_TARGET=allot::boost)
    file(REMOVE_RECURSE ${SCRATCH}/build)
    build_and_run_consumer(-DALLOT_SOURCE=${SOURCE} ${no_boost})

elseif(WAY STREQUAL "module")
    # allot::module in the project of bindings/module/examples, installed and from the sources, with each compiler. The
    # CMake of Debian 12 and g++ 12 cannot, and say why.
    set(installed "-DCMAKE_PREFIX_PATH=${SCRATCH}/a prefix" -DALLOT_VERSION=${VERSION} -DALLOT_COMPONENTS=module)
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix "${SCRATCH}/a prefix")
    if(CMAKE_VERSION VERSION_LESS 3.28)
        refuse_consumer("modules need CMake 3.28, and this is ${CMAKE_VERSION}" ${installed})
    endif()
    set(CMAKE_COMMAND ${SOURCE}/build/tools/cmake-3.28/cmake/data/bin/cmake)
    if(NOT EXISTS ${CMAKE_COMMAND})
        message("skipped: CMake 3.28 is not installed (./dev module installs it)")
        return()
    endif()
    set(COMPILER g++)
    refuse_consumer("modules need Clang 16, GCC 14 or MSVC 19.34, and this is GNU" ${installed})
    foreach(COMPILER clang++-16 clang++-19)
        string(REPLACE clang++ clang-scan-deps scanner ${COMPILER})
        find_program(module_${COMPILER} ${COMPILER})
        find_program(module_${scanner} ${scanner})
        if(NOT module_${COMPILER} OR NOT module_${scanner})
            message("skipped: ${COMPILER} or ${scanner} is not installed (./dev module installs both)")
            continue()
        endif()
        refuse_consumer("the program clang-scan-deps of Clang" ${installed} -DCMAKE_CXX_COMPILER_CLANG_SCAN_DEPS=OFF)
        refuse_consumer("modules need the generator Ninja or Visual Studio 17, and this is Unix Makefiles" ${installed}
                        -G "Unix Makefiles")
        foreach(from "-DCMAKE_PREFIX_PATH=${SCRATCH}/a prefix" -DALLOT_SOURCE=${SOURCE})
            file(REMOVE_RECURSE ${SCRATCH}/build)
            run(${CMAKE_COMMAND} -S ${SOURCE}/bindings/module/examples -B ${SCRATCH}/build -G Ninja
                -DCMAKE_CXX_COMPILER=${COMPILER} ${from})
            run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
            run(${SCRATCH}/build/frames)
        endforeach()
        # With GNU's extensions. Clang 16 does not have both.
        file(REMOVE_RECURSE ${SCRATCH}/build)
        file(WRITE ${SCRATCH}/extended/CMakeLists.txt "cmake_minimum_required(VERSION 3.28)\nproject(extended CXX)\n\
find_package(allot REQUIRED COMPONENTS module)\nadd_executable(frames ${SOURCE}/bindings/module/examples/frames.cpp \
${SOURCE}/bindings/module/examples/camera.cpp)\ntarget_link_libraries(frames allot::module)\n")
        if(COMPILER STREQUAL "clang++-16")
            refuse_consumer("set CMAKE_CXX_EXTENSIONS to OFF" ${installed})
        else()
            run(${CMAKE_COMMAND} -S ${SCRATCH}/extended -B ${SCRATCH}/build -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER}
                "-DCMAKE_PREFIX_PATH=${SCRATCH}/a prefix")
            run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
            run(${SCRATCH}/build/frames)
        endif()
    endforeach()

elseif(WAY STREQUAL "add_subdirectory")
    build_and_run_consumer(-DALLOT_SOURCE=${SOURCE})

elseif(WAY STREQUAL "fetch_content")
    archive_headers(${SCRATCH}/allot.tar.gz)
    build_and_run_consumer(-DALLOT_ARCHIVE=${SCRATCH}/allot.tar.gz)

elseif(WAY STREQUAL "pkg_config")
    find_program(PKG_CONFIG pkg-config)
    if(NOT PKG_CONFIG)
        message("skipped: pkg-config is not installed (Debian: pkgconf)")
        return()
    endif()
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix "${SCRATCH}/first prefix")
    file(RENAME "${SCRATCH}/first prefix" "${SCRATCH}/a prefix") # after the installation, it can be moved
    set(ENV{PKG_CONFIG_PATH} "${SCRATCH}/a prefix/share/pkgconfig")
    run(${PKG_CONFIG} --exact-version=${VERSION} allot)
    run(${PKG_CONFIG} --validate allot)
    run(sh -c "eval ${COMPILER} -std=c++20 $(${PKG_CONFIG} --cflags allot) -o consumer \
        ${CMAKE_CURRENT_LIST_DIR}/consumer/main.cpp && ./consumer" WORKING_DIRECTORY ${SCRATCH})

elseif(WAY STREQUAL "c_interface")
    # allot::c in a project in C, by find_package, by pkg-config, and from the sources.
    set(program ${SOURCE}/bindings/c/examples/tensors.c)
    set(consumer ${CMAKE_CURRENT_LIST_DIR}/c_consumer -B ${SCRATCH}/build -G Ninja -DPROGRAM=${program})
    file(WRITE ${SCRATCH}/no_boost/boost/intrusive/set.hpp "#error Boost is included\n")
    run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/allot -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} -DALLOT_C=ON
        -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON -DCMAKE_CXX_FLAGS=-I${SCRATCH}/no_boost
        -DALLOT_TESTS=OFF -DALLOT_EXAMPLES=OFF -DALLOT_BENCHMARKS=OFF)
    run(${CMAKE_COMMAND} --build ${SCRATCH}/allot)
    run(${CMAKE_COMMAND} --install ${SCRATCH}/allot --prefix "${SCRATCH}/first prefix")
    file(RENAME "${SCRATCH}/first prefix" "${SCRATCH}/a prefix") # after the installation, it can be moved
    run(${CMAKE_COMMAND} -S ${consumer} "-DCMAKE_PREFIX_PATH=${SCRATCH}/a prefix" -DALLOT_VERSION=${VERSION})
    run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
    run(${SCRATCH}/build/consumer)
    file(REMOVE_RECURSE ${SCRATCH}/build)
    run(${CMAKE_COMMAND} -S ${consumer} -DALLOT_SOURCE=${SOURCE} -DCMAKE_CXX_COMPILER=${COMPILER})
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/without)
    refuse_consumer("this installation has no C interface: configure allot with -DALLOT_C=ON"
                    -DCMAKE_PREFIX_PATH=${SCRATCH}/without -DALLOT_VERSION=${VERSION} -DALLOT_COMPONENTS=c)
    find_program(PKG_CONFIG pkg-config)
    if(NOT PKG_CONFIG)
        message("skipped: pkg-config is not installed (Debian: pkgconf)")
        return()
    endif()
    file(GLOB_RECURSE description "${SCRATCH}/a prefix/*/allot_c.pc")
    cmake_path(GET description PARENT_PATH directory)
    set(ENV{PKG_CONFIG_PATH} "${directory}")
    run(sh -c "eval cc -std=c11 ${program} $(${PKG_CONFIG} --cflags --libs allot_c) -o consumer && \
        LD_LIBRARY_PATH='${directory}/..' ./consumer" WORKING_DIRECTORY ${SCRATCH})

elseif(WAY STREQUAL "conan")
    # ./dev test --wide installs Conan into build/tools. All requirements are the system's, so nothing is downloaded.
    find_program(CONAN conan HINTS ${SOURCE}/build/tools/bin)
    if(NOT CONAN)
        message("skipped: Conan is not installed (./dev test --wide installs it)")
        return()
    endif()
    set(ENV{CONAN_HOME} ${SCRATCH}/home)
    set(ENV{CXX} ${COMPILER})
    run(${CONAN} profile detect)
    file(APPEND ${SCRATCH}/home/profiles/default
         "[platform_requires]\nboost/${BOOST}\nopencl-icd-loader/2022.09.30\nopencl-clhpp-headers/2022.09.30\n"
         "vulkan-headers/1.3.239\nvulkan-loader/1.3.239\nopenmpi/4.1.4\nboost/1.88.0\n"
         "[conf]\ntools.cmake.cmaketoolchain:generator=Ninja\n")
    file(COPY ${SOURCE}/tests/integration/package DESTINATION ${SCRATCH}) # Conan builds beside the test's sources
    run(${CONAN} create ${SOURCE} --no-remote -s compiler.cppstd=20 --test-folder ${SCRATCH}/package/conan)
    expect_requirements("info_invalid: [^\n]* lower than the required" "" -s compiler.cppstd=17)
    set(cxx20 -s compiler.cppstd=20)
    expect_requirements("allot/" "#platform" ${cxx20})
    expect_requirements("boost/[^\n]*#platform" "(opencl|vulkan|mpi)[^\n]*#platform" ${cxx20} -o "allot/*:boost=True")
    expect_requirements("opencl-clhpp-headers/[^\n]*#platform" "boost/[^\n]*#platform" ${cxx20} -o "allot/*:opencl=True")
    expect_requirements("vulkan-loader/[^\n]*#platform" "mpi/[^\n]*#platform" ${cxx20} -o "allot/*:vulkan=True")
    expect_requirements("openmpi/[^\n]*#platform" "vulkan-loader/[^\n]*#platform" ${cxx20} -o "allot/*:mpi=True")
    # The recipe of ConanCenter, with its test package.
    archive_headers(${SCRATCH}/allot.tar.gz)
    file(SHA256 ${SCRATCH}/allot.tar.gz hash)
    file(COPY ${SOURCE}/.conan/recipes DESTINATION ${SCRATCH})
    file(WRITE ${SCRATCH}/recipes/allot/all/conandata.yml
         "sources:\n  \"${VERSION}\":\n    url: \"file://${SCRATCH}/allot.tar.gz\"\n    sha256: \"${hash}\"\n")
    run(${CONAN} create ${SCRATCH}/recipes/allot/all --version ${VERSION} --no-remote ${cxx20})
    expect_requirements("info_invalid: [^\n]* lower than the required" "" -s compiler.cppstd=17)
    expect_requirements("boost/1.88.0#platform" "(opencl|vulkan|mpi)[^\n]*#platform" ${cxx20}
                        -o "allot/*:with_boost=True")
    foreach(backend opencl vulkan mpi)
        execute_process(COMMAND ${CONAN} graph info --requires=allot/${VERSION} --no-remote ${cxx20}
                                -o "allot/*:with_${backend}=True" OUTPUT_VARIABLE output ERROR_VARIABLE output)
        if(NOT output MATCHES "Package '(open)?${backend}[^']*' not resolved")
            message(FATAL_ERROR "the option with_${backend} does not require its package of ConanCenter:\n${output}")
        endif()
    endforeach()

elseif(WAY STREQUAL "vcpkg")
    # vcpkg itself is not necessary to find the most frequent error: different versions in its manifest and in the
    # project.
    file(READ ${SOURCE}/.vcpkg/ports/allot/vcpkg.json manifest)
    string(JSON version GET "${manifest}" version)
    if(NOT version STREQUAL VERSION)
        message(FATAL_ERROR ".vcpkg/ports/allot/vcpkg.json says version ${version}, CMakeLists.txt ${VERSION}")
    endif()

elseif(WAY STREQUAL "vcpkg_scripts")
    # Runs both ports with the scripts of vcpkg, without its program and without downloads, and builds a consumer.
    set(root "$ENV{VCPKG_ROOT}")
    if(NOT EXISTS "${root}/scripts/ports.cmake")
        message("skipped: VCPKG_ROOT does not name a clone of vcpkg")
        return()
    endif()
    archive_headers(${SCRATCH}/downloads/allot-${VERSION}.tar.gz)
    file(SHA512 ${SCRATCH}/downloads/allot-${VERSION}.tar.gz ALLOT_ARCHIVE_SHA512)
    set(ALLOT_ARCHIVE_URL https://localhost/allot-${VERSION}.tar.gz) # never asked, because the file is there
    set(overlay ${SOURCE}/.vcpkg/ports/allot)
    configure_file(${SOURCE}/.vcpkg/registry/portfile.cmake.in ${SCRATCH}/registry/portfile.cmake @ONLY)
    file(COPY ${overlay}/install.cmake ${overlay}/usage ${overlay}/vcpkg.json DESTINATION ${SCRATCH}/registry)
    foreach(helper vcpkg-cmake vcpkg-cmake-config)
        run_port(${helper} ${root}/ports/${helper})
        file(COPY ${SCRATCH}/packages/${helper}/ DESTINATION ${SCRATCH}/installed/x64-linux)
        file(APPEND ${SCRATCH}/helpers.cmake
             "include(${SCRATCH}/installed/x64-linux/share/${helper}/vcpkg-port-config.cmake)\n")
    endforeach()
    foreach(port ${overlay} ${SCRATCH}/registry)
        run_port(allot ${port} -DVCPKG_PORT_CONFIGS=${SCRATCH}/helpers.cmake)
        if(NOT EXISTS ${SCRATCH}/packages/allot/share/allot/usage OR EXISTS ${SCRATCH}/packages/allot/share/cmake)
            message(FATAL_ERROR "${port} installs other files than a port of vcpkg should")
        endif()
        build_and_run_consumer(-DCMAKE_PREFIX_PATH=${SCRATCH}/packages/allot -DALLOT_VERSION=${VERSION})
        file(REMOVE_RECURSE ${SCRATCH}/build)
    endforeach()

elseif(WAY STREQUAL "debian")
    # Builds the packages of .debian from a source archive, checks them, and builds examples with the unpacked package.
    if(NOT "$ENV{ALLOT_LONG}")
        message("skipped: ./dev test --all builds the Debian package")
        return()
    endif()
    find_program(BUILDPACKAGE dpkg-buildpackage)
    find_program(DEBHELPER dh)
    find_program(LINTIAN lintian)
    if(NOT BUILDPACKAGE OR NOT DEBHELPER OR NOT LINTIAN)
        message("skipped: Debian's tools are not installed (dpkg-dev, debhelper, lintian)")
        return()
    endif()
    file(READ ${SOURCE}/.debian/changelog changelog LIMIT 100)
    if(NOT changelog MATCHES "^allot .${VERSION}-1. ")
        message(FATAL_ERROR ".debian/changelog does not begin with version ${VERSION}-1 of allot")
    endif()
    set(tree ${SCRATCH}/allot-${VERSION})
    foreach(part CMakeLists.txt LICENSE README.md CHANGELOG.md include docs examples)
        file(COPY ${SOURCE}/${part} DESTINATION ${tree})
    endforeach()
    file(COPY ${SOURCE}/bindings/debuggers ${SOURCE}/bindings/module DESTINATION ${tree}/bindings)
    execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf allot_${VERSION}.orig.tar.gz allot-${VERSION}
                    WORKING_DIRECTORY ${SCRATCH} COMMAND_ERROR_IS_FATAL ANY)
    file(COPY ${SOURCE}/.debian/ DESTINATION ${tree}/debian)
    run(sh -e -c "${BUILDPACKAGE} -us -uc && cd .. && dpkg-deb -x liballot-dev_${VERSION}-1_all.deb root
        ${LINTIAN} --allow-root --fail-on error,warning,info *.changes" WORKING_DIRECTORY ${tree})
    run(${tree}/debian/tests/examples ${SCRATCH}/root)

elseif(WAY STREQUAL "older_cmake")
    # The oldest supported CMake. ./dev test --wide installs it.
    set(CMAKE_COMMAND ${SOURCE}/build/tools/cmake-3.22/cmake/data/bin/cmake)
    if(NOT EXISTS ${CMAKE_COMMAND})
        message("skipped: CMake 3.22 is not installed (./dev test --wide installs it)")
        return()
    endif()
    run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/allot -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} -DALLOT_TESTS=OFF
        -DALLOT_EXAMPLES=OFF)
    run(${CMAKE_COMMAND} --install ${SCRATCH}/allot --prefix ${SCRATCH}/prefix)
    build_and_run_consumer(-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DALLOT_VERSION=${VERSION})
    file(REMOVE_RECURSE ${SCRATCH}/build)
    build_and_run_consumer(-DALLOT_SOURCE=${SOURCE})
endif()
