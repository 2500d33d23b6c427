# Writes page_parts.hpp, the parts of the page as C++ strings, to the build folder of the caller.
set(folder ${CMAKE_CURRENT_LIST_DIR})
file(READ ${folder}/page.html page_html)
file(READ ${folder}/page.js page_script)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/page.html ${folder}/page.js)
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/page_parts.hpp CONTENT
     "#include <string_view>
namespace viewer {
inline constexpr std::string_view page_html = R\"page(${page_html})page\";
inline constexpr std::string_view page_script = R\"page(${page_script})page\";
}  // namespace viewer
")
