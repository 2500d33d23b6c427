# Sets `compile`, the command that checks a file. Needs COMPILER, NO_CARETS, INCLUDES, IMPLICIT_INCLUDES.
# An -I option for an implicit include directory would reorder the search and break #include_next.
list(REMOVE_ITEM INCLUDES ${IMPLICIT_INCLUDES})
list(TRANSFORM INCLUDES PREPEND -I)
# LC_ALL=C selects plain quotes. NO_CARETS hides source text, so that the sentence can only come from a diagnostic.
set(compile ${CMAKE_COMMAND} -E env LC_ALL=C ${COMPILER} -std=c++20 -fsyntax-only ${NO_CARETS} ${INCLUDES})
