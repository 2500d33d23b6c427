# Builds the firmware for BOARD (its name in config.hpp) and runs it in QEMU. The firmware must need no heap, no stdio and no
# guard variable, exit with 0, and print the same digest as the program HOST, which runs the same network on this machine.
# Run by CTest with BOARD, HOST, FLAGS (of the compiler) and SCRATCH (a directory).
cmake_minimum_required(VERSION 3.25)

find_program(COMPILER arm-none-eabi-g++)
find_program(QEMU qemu-system-arm)
if(NOT COMPILER OR NOT QEMU)
    message("skipped: arm-none-eabi-g++ or qemu-system-arm is missing (Debian: gcc-arm-none-eabi, libstdc++-arm-none-eabi-newlib, qemu-system-arm)")
    return()
endif()

function(run result)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 120)
    message("${output}")
    if(NOT status EQUAL 0)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "failed (${status}): ${command}")
    endif()
    set(${result} "${output}" PARENT_SCOPE)
endfunction()
function(digest_of output result)
    if(NOT output MATCHES "digest ([a-z_]+ [0-9a-f]+)\n")
        message(FATAL_ERROR "the output contains no digest")
    endif()
    set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

run(ignored ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${SCRATCH} -G Ninja
    --toolchain ${CMAKE_CURRENT_LIST_DIR}/cortex-m.cmake -DFIRMWARE_BOARD=${BOARD}
    -DCMAKE_CXX_FLAGS=${FLAGS})
run(ignored ${CMAKE_COMMAND} --build ${SCRATCH})

run(symbols arm-none-eabi-nm ${SCRATCH}/firmware.elf)
string(REGEX MATCHALL " (_?malloc[a-z_]*|_?free|_sbrk[a-z_]*|_Zn[wa][A-Za-z0-9_]*|_Zd[la][A-Za-z0-9_]*|_?v?f?printf[a-z_]*|f?puts|abort|__cxa_[a-z_]+|_ZGV[A-Za-z0-9_]*|_impure_[a-z]+)\n"
       unwanted "${symbols}")
if(unwanted)
    message(FATAL_ERROR "the firmware uses functions that need an operating system: ${unwanted}")
endif()
run(ignored arm-none-eabi-size -A ${SCRATCH}/firmware.elf)

string(REPLACE "_" "-" machine ${BOARD})
run(on_board ${QEMU} -M ${machine} -nographic -semihosting-config enable=on,target=native
    -kernel ${SCRATCH}/firmware.elf)
run(on_host ${HOST})
digest_of("${on_board}" board)
digest_of("${on_host}" host)
if(NOT board STREQUAL host)
    message(FATAL_ERROR "the digests differ: ${board} on the board, ${host} on this machine")
endif()
