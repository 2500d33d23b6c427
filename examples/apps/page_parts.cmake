# page_parts(NAMESPACE FOLDER PARTS...): writes page_parts.hpp to the build folder of the caller. It has parts of a page as
# C++ strings: page_html, page_style and page_script for the files page.html, page.css and page.js of the folder.
function(page_parts namespace folder)
    set(names page.html page_html page.css page_style page.js page_script)
    set(strings "")
    foreach(part IN LISTS ARGN)
        list(FIND names ${part} at)
        math(EXPR at "${at} + 1")
        list(GET names ${at} name)
        file(READ ${folder}/${part} text)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${part})
        string(APPEND strings "inline constexpr std::string_view ${name} = R\"page(${text})page\";\n")
    endforeach()
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/page_parts.hpp CONTENT
         "#include <string_view>\nnamespace ${namespace} {\n${strings}}  // namespace ${namespace}\n")
endfunction()
