# Builds program/ for a Hexagon and runs it in qemu-hexagon. CTest runs this script with the variables of
# ../freestanding/cross.cmake.
cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/../freestanding/cross.cmake)

find_program(CLANG NAMES clang++-14 clang++)
find_program(LINKER NAMES ld.lld-14 ld.lld)
find_program(QEMU qemu-hexagon)
# The headers of a C++ library for bare machines: Debian's for ARM. The used headers do not depend on the machine.
file(GLOB libraries /usr/include/newlib/c++/*)
foreach(tool CLANG LINKER QEMU)
    if(NOT ${tool})
        skip("there is no clang++, ld.lld or qemu-hexagon (Debian: clang-14, lld-14, qemu-user)")
    endif()
endforeach()
if(NOT libraries)
    skip("there are no headers of newlib's C++ library (Debian: libstdc++-arm-none-eabi-newlib)")
endif()
execute_process(COMMAND ${CLANG} --print-targets OUTPUT_VARIABLE targets)
if(NOT targets MATCHES "hexagon")
    skip("${CLANG} does not compile for a Hexagon")
endif()
list(GET libraries 0 library)

isolate_headers(boost ${BOOST})
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/program -B ${SCRATCH}/program -G Ninja
    -DCMAKE_TOOLCHAIN_FILE=${CMAKE_CURRENT_LIST_DIR}/toolchain.cmake -DCMAKE_CXX_COMPILER=${CLANG}
    -DHEXAGON_LINKER=${LINKER} -DHEXAGON_LIBRARY=${library} -DALLOT=${SOURCE} -DBOOST=${SCRATCH}/headers
    -DALL_TESTS=$ENV{ALLOT_LONG})
run(${CMAKE_COMMAND} --build ${SCRATCH}/program)
run(${QEMU} ${SCRATCH}/program/hexagon_tests)
message("device: hexagon::vtcm on a fake driver")
