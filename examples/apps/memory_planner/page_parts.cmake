# Writes page_parts.hpp, the parts of the page as C++ strings, to the build folder of the caller.
set(folder ${CMAKE_CURRENT_LIST_DIR})
file(READ ${folder}/page.css page_style)
file(READ ${folder}/page.js page_script)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/page.css ${folder}/page.js)
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/page_parts.hpp CONTENT
     "#include <string_view>
namespace planner {
inline constexpr std::string_view page_style = R\"page(${page_style})page\";
inline constexpr std::string_view page_script = R\"page(${page_script})page\";
}  // namespace planner
")
