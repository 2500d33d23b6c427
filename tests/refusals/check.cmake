# Compiles CASE twice. Without MISUSE the compilation must succeed. With MISUSE it must fail, and the output must contain
# the sentence after '// refused: '. A line '// within: N' requires the sentence in the first N lines of the output. A line
# '// alone' forbids any other sentence that begins with 'allot: '.
# CTest runs this script with CASE, COMPILER, NO_CARETS, INCLUDES, IMPLICIT_INCLUDES.
cmake_minimum_required(VERSION 3.25)

file(READ "${CASE}" text)
string(REGEX MATCH "// refused: *([^\n]*[^ \n])" line "${text}")
set(sentence "${CMAKE_MATCH_1}")
if(NOT line OR NOT text MATCHES "#ifdef MISUSE")
    message(FATAL_ERROR "${CASE} needs a line '// refused: <sentence>' and a part under '#ifdef MISUSE'")
endif()

# An -I option for an implicit include directory would reorder the search and break #include_next.
list(REMOVE_ITEM INCLUDES ${IMPLICIT_INCLUDES})
list(TRANSFORM INCLUDES PREPEND -I)
# LC_ALL=C selects plain quotes. NO_CARETS hides source text, so that the sentence can only come from a diagnostic.
set(compile ${CMAKE_COMMAND} -E env LC_ALL=C ${COMPILER} -std=c++20 -fsyntax-only ${NO_CARETS} ${INCLUDES} "${CASE}")

function(fail reason)
    message("${output}")
    message(FATAL_ERROR "${CASE} ${reason}")
endfunction()

execute_process(COMMAND ${compile} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
    fail("does not compile, even without MISUSE")
endif()

execute_process(COMMAND ${compile} -DMISUSE RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
    fail("compiles with MISUSE, but must be rejected with: ${sentence}")
endif()
string(REPLACE "\\\"" "\"" output "${output}") # clang prints the message of a static_assert as a quoted literal
string(FIND "${output}" "${sentence}" position)
if(position EQUAL -1)
    fail("is rejected with MISUSE, but without the sentence: ${sentence}")
endif()
if(text MATCHES "// alone")
    string(REGEX MATCHALL "allot: [^\n]*" said "${output}")
    foreach(one IN LISTS said)
        string(FIND "${one}" "${sentence}" position)
        if(NOT position EQUAL 0)
            fail("is rejected with MISUSE by the sentence, and by another one: ${one}")
        endif()
    endforeach()
    string(FIND "${output}" "${sentence}" position)
endif()
if(text MATCHES "// within: *([0-9]+)")
    set(lines ${CMAKE_MATCH_1})
    string(SUBSTRING "${output}" 0 ${position} before)
    string(REGEX MATCHALL "\n" before "${before}")
    list(LENGTH before before)
    if(before GREATER_EQUAL lines)
        fail("is rejected with MISUSE by the sentence, but ${before} lines precede it")
    endif()
endif()
