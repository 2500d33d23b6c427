# Runs PROGRAM with VM on each of MEMORIES. A program whose first line is
#     # expected: LINE: reason
# must fail with exactly that text on each memory. Any other program must print the same output on each. LAUNCHER starts
# `shmem`.
cmake_minimum_required(VERSION 3.25)

file(READ "${PROGRAM}" text)
set(wanted_status 0)
set(wanted_errors "")
if(text MATCHES "^# expected: ([^\n]*)\n")
    set(wanted_status 1)
    set(wanted_errors "${PROGRAM}:${CMAKE_MATCH_1}\n")
endif()

unset(wanted_output)
foreach(memory IN LISTS MEMORIES)
    set(run "${VM}" ${memory} "${PROGRAM}")
    if(memory STREQUAL "shmem")
        set(run ${LAUNCHER} ${run})
    endif()
    if(memory MATCHES "^(opencl|mpi|shmem|cuda|hip)$") # the driver does not free its memory
        set(run ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 ${run})
    endif()
    execute_process(COMMAND ${run} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
    if(status EQUAL 77 AND errors MATCHES "^skipped: ")
        message(NOTICE "${errors}") # skipped: reason
        continue()
    endif()
    if(NOT status EQUAL wanted_status)
        message(FATAL_ERROR "${memory}: the exit status is ${status}, expected ${wanted_status}\n${output}${errors}")
    endif()
    if(NOT errors STREQUAL wanted_errors)
        message(FATAL_ERROR "${memory}: the error is\n${errors}expected\n${wanted_errors}")
    endif()
    if(NOT DEFINED wanted_output)
        set(wanted_output "${output}")
    elseif(NOT output STREQUAL wanted_output)
        message(FATAL_ERROR "${memory}: the output is\n${output}other memories print\n${wanted_output}")
    endif()
endforeach()
