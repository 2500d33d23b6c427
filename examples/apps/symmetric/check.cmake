# Runs PROGRAM with LAUNCHER on each number of RANKS. The output must be the one in the README. Then one rank makes a call
# that the others do not make: the program must fail and report that. The variables configure Open MPI.
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{OMPI_MCA_btl} ^uct)
set(ENV{OMPI_MCA_sshmem_base_start_address} 0x200000000000) # outside the address sanitizer's shadow
set(ENV{MPIEXEC_TIMEOUT} 120) # ends ranks that wait for each other
set(ENV{ASAN_OPTIONS} detect_leaks=0) # MPI does not free its memory
file(READ ${CMAKE_CURRENT_LIST_DIR}/README.md readme)
foreach(ranks IN LISTS RANKS)
    execute_process(COMMAND ${LAUNCHER} -n ${ranks} ${PROGRAM} OUTPUT_VARIABLE output RESULT_VARIABLE status)
    string(FIND "${readme}" "```\n${output}```\n" place)
    if(NOT status EQUAL 0 OR output STREQUAL "" OR place EQUAL -1)
        message(FATAL_ERROR "on ${ranks} ranks, with status ${status}, the output differs from the README:\n${output}")
    endif()
    if(ranks EQUAL 1)
        continue()
    endif()
    execute_process(COMMAND ${LAUNCHER} -n ${ranks} ${PROGRAM} --diverge OUTPUT_VARIABLE output ERROR_VARIABLE errors
                    RESULT_VARIABLE status)
    if(status EQUAL 0 OR NOT output STREQUAL "" OR NOT errors MATCHES "some ranks made more calls than others")
        message(FATAL_ERROR "on ${ranks} ranks, one of which diverges, with status ${status}:\n${output}\n${errors}")
    endif()
endforeach()
