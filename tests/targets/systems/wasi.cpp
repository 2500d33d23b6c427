// The file streams that doctest names. Zig's libc++ has none for WASI.
#include <fstream>

template class std::basic_filebuf<char>;
