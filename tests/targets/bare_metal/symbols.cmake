# Symbols that allot must not bring into a program for a microcontroller. Each entry is a kind and a regular expression.
set(forbidden
    heap "^_*(malloc|calloc|realloc|free|memalign|aligned_alloc|posix_memalign|sbrk)(_r)?$"
    operators_new_and_delete "^_Z(nw|na|dl|da)"
    stdio "printf|^_*(puts|fputs|putc|fputc|putchar|fwrite|fflush|stdout|stderr|impure_ptr|sinit)(_r)?$"
    iostream "^_ZNK?S[tios].*(ios_base|basic_.stream|locale)|^_ZSt4c(out|err|in)|^_ZNS[oi]"
    guard_variable "^_ZGV|^__cxa_guard_"
    exceptions "^__cxa_(throw|rethrow|begin_catch|allocate_exception)|^__gxx_personality|^_Unwind_|^_ZSt[0-9]+__throw_|^_ZSt9terminate"
    typeinfo "^_ZT[IS]|^__dynamic_cast|^_ZTVN10__cxxabiv1")

# Finds the forbidden symbols of programs and objects, defined or not, as a list of "kind: symbol in file".
function(find_forbidden result nm) # RESULT NM FILE...
    set(found)
    foreach(file IN LISTS ARGN)
        execute_process(COMMAND ${nm} --format=posix ${file} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
        string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
        if(NOT symbols)
            message(FATAL_ERROR "${file} has no symbols")
        endif()
        list(TRANSFORM symbols REPLACE " .*" "")
        set(kinds ${forbidden})
        while(kinds)
            list(POP_FRONT kinds kind expression)
            set(matching ${symbols})
            list(FILTER matching INCLUDE REGEX "${expression}")
            list(TRANSFORM matching REPLACE "(.+)" "${kind}: \\1 in ${file}")
            list(APPEND found ${matching})
        endwhile()
    endforeach()
    set(${result} "${found}" PARENT_SCOPE)
endfunction()
