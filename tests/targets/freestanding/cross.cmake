# For scripts that build for another machine and run that in an emulator, with SOURCE (allot's root), SCRATCH (a directory)
# and BOOST (where Boost's headers are).

# Ends a test; CTest reports it as skipped.
macro(skip reason)
    message("skipped: ${reason}")
    return()
endmacro()

macro(need_programs packages) # PACKAGES PROGRAM...
    foreach(program ${ARGN})
        string(MAKE_C_IDENTIFIER "path_of_${program}" variable)
        find_program(${variable} ${program})
        if(NOT ${variable})
            skip("there is no ${program} (Debian: ${packages})")
        endif()
    endforeach()
endmacro()

function(run)
    execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${SCRATCH} RESULT_VARIABLE status OUTPUT_VARIABLE output
                    ERROR_VARIABLE output)
    message("${output}")
    if(NOT status EQUAL 0)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "failed (${status}): ${command}")
    endif()
endfunction()

# Makes a library's headers, which lie in one of some directories, a part of ${SCRATCH}/headers, where nothing else is: beside
# them lie the headers of the host's C library.
function(isolate_headers library) # LIBRARY DIRECTORY...
    find_path(headers_of_${library} NAMES ${library} PATHS ${ARGN} NO_CMAKE_SYSTEM_PATH REQUIRED)
    file(MAKE_DIRECTORY ${SCRATCH}/headers)
    file(CREATE_LINK ${headers_of_${library}}/${library} ${SCRATCH}/headers/${library} SYMBOLIC)
endfunction()
