# Builds program/ for a Hexagon and runs it in qemu-hexagon. Run by CTest with SOURCE (allot's root), SCRATCH (a directory)
# and BOOST (where Boost's headers are).
cmake_minimum_required(VERSION 3.25)

function(skip reason)
    message("skipped: ${reason}")
endfunction()

find_program(CLANG NAMES clang++-14 clang++)
find_program(LINKER NAMES ld.lld-14 ld.lld)
find_program(QEMU qemu-hexagon)
# The headers of a C++ library for bare machines: Debian's for ARM, installed, or unpacked there by ./dev test. Nothing in
# those that are used depends on the machine.
file(GLOB libraries /usr/include/newlib/c++/* ${SOURCE}/build/tools/newlib/usr/include/newlib/c++/*)
foreach(tool CLANG LINKER QEMU)
    if(NOT ${tool})
        skip("there is no clang++, ld.lld or qemu-hexagon (Debian: clang-14, lld-14, qemu-user)")
        return()
    endif()
endforeach()
if(NOT libraries)
    skip("there are no headers of newlib's C++ library (./dev test unpacks Debian's)")
    return()
endif()
execute_process(COMMAND ${CLANG} --print-targets OUTPUT_VARIABLE targets)
if(NOT targets MATCHES "hexagon")
    skip("${CLANG} does not compile for a Hexagon")
    return()
endif()
list(GET libraries 0 library)

function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    message("${output}")
    if(NOT status EQUAL 0)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "failed (${status}): ${command}")
    endif()
endfunction()

# Boost by a directory with nothing else in it: beside it lie the headers of the host's C library.
list(GET BOOST 0 BOOST)
file(MAKE_DIRECTORY ${SCRATCH}/boost)
file(CREATE_LINK ${BOOST}/boost ${SCRATCH}/boost/boost SYMBOLIC)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/program -B ${SCRATCH}/program -G Ninja
    -DCMAKE_TOOLCHAIN_FILE=${CMAKE_CURRENT_LIST_DIR}/toolchain.cmake -DCMAKE_CXX_COMPILER=${CLANG}
    -DHEXAGON_LINKER=${LINKER} -DHEXAGON_LIBRARY=${library} -DALLOT=${SOURCE} -DBOOST=${SCRATCH}/boost
    -DALL_TESTS=$ENV{ALLOT_LONG})
run(${CMAKE_COMMAND} --build ${SCRATCH}/program)
run(${QEMU} ${SCRATCH}/program/hexagon_tests)
message("device: hexagon::vtcm on a fake driver")
