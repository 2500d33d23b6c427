# For scripts that build for another machine and run the result in an emulator. Variables: SOURCE (allot's root),
# SCRATCH (a directory), and BOOST (the directory of Boost's headers).

# Ends a test. CTest reports it as skipped.
macro(skip reason)
    message("skipped: ${reason}")
    return()
endmacro()

macro(need_programs packages) # PACKAGES PROGRAM...
    foreach(program ${ARGN})
        string(MAKE_C_IDENTIFIER "path_of_${program}" variable)
        find_program(${variable} ${program})
        if(NOT ${variable})
            skip("no ${program} (Debian: ${packages})")
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

# Links the headers of a library into ${SCRATCH}/headers, which contains nothing else. The original directory may also
# contain the headers of the host's C library.
function(isolate_headers library) # LIBRARY DIRECTORY...
    find_path(headers_of_${library} NAMES ${library} PATHS ${ARGN} NO_CMAKE_SYSTEM_PATH REQUIRED)
    file(MAKE_DIRECTORY ${SCRATCH}/headers)
    file(CREATE_LINK ${headers_of_${library}}/${library} ${SCRATCH}/headers/${library} SYMBOLIC)
endfunction()
