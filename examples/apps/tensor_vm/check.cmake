# Runs PROGRAM with VM on each of MEMORIES. A program whose first line is
#     # expected: LINE: reason
# is refused with exactly that on each of them; any other gives the same output on each. `shmem` is started by LAUNCHER.
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
    if(memory MATCHES "^(opencl|mpi|shmem|cuda|hip)$") # the driver keeps what it allocated
        set(run ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 ${run})
    endif()
    execute_process(COMMAND ${run} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
    if(status EQUAL 77 AND errors MATCHES "^skipped: ")
        message(NOTICE "${errors}") # skipped: why
        continue()
    endif()
    if(NOT status EQUAL wanted_status)
        message(FATAL_ERROR "${memory}: it exits with ${status}, not ${wanted_status}\n${output}${errors}")
    endif()
    if(NOT errors STREQUAL wanted_errors)
        message(FATAL_ERROR "${memory}: it says\n${errors}and not\n${wanted_errors}")
    endif()
    if(NOT DEFINED wanted_output)
        set(wanted_output "${output}")
    elseif(NOT output STREQUAL wanted_output)
        message(FATAL_ERROR "${memory}: it prints\n${output}and elsewhere\n${wanted_output}")
    endif()
endforeach()
