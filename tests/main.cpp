// The one translation unit that holds doctest. A test that finds no device prints 'skipped: reason', and a program in
// which nothing could run exits with 77, which CTest reports as skipped.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
