// SPDX-License-Identifier: BSL-1.0
// gdb_printers: makes GDB load the printers of allot with a program.
//
//     #include <allot/inspect/gdb_printers.hpp>   // in any source file of the program
//
//     (gdb) print arena
//     $1 = best_fit in band over host::heap, 65536 bytes in 1 region: 2 blocks, 416 bytes used, …
//
// The header adds a few lines of Python to the section .debug_gdb_scripts of the program. GDB runs them when it opens
// the program, and they load allot_gdb.py, which lies beside this header: in bindings/debuggers of the sources, or in
// share/allot/debuggers of the installation. If the program is debugged on another machine, the lines load the module
// allot_gdb from Python's search path. GDB runs scripts only of trusted programs: add the program's folder to
// `auto-load safe-path` (bindings/debuggers/README.md).
//
// When to use: in programs that are debugged with GDB and for which .gdbinit does not load the printers.
// When not to use: for LLDB and Visual Studio, which have no such section; in programs whose files must not contain the
// path of the headers. Without debug information (-g), the printers show nothing.
//
// Complexity: no code and no data at run time; the section is not loaded.
// Memory: about 500 bytes of the program's file, once for all source files.
// Thread safety: no code.
#pragma once

#if defined(__ELF__) && defined(__GNUC__)
// Type 4: inline text in Python. The first line is the name of the script.
__asm__(
    ".pushsection .debug_gdb_scripts, \"MS\",%progbits,1\n"
    ".byte 4\n"
    ".ascii \"gdb.inlined-script.allot\\n\"\n"
    ".ascii \"def allot_load(header):\\n\"\n"
    ".ascii \"    import os, sys\\n\"\n"
    ".ascii \"    root = os.path.dirname(os.path.abspath(header)) + '/../../..'\\n\"\n"
    ".ascii \"    folders = [root + '/bindings/debuggers', root + '/share/allot/debuggers']\\n\"\n"
    ".ascii \"    sys.path[:0] = [os.path.normpath(each) for each in folders]\\n\"\n"
    ".ascii \"    try:\\n\"\n"
    ".ascii \"        import allot_gdb\\n\"\n"
    ".ascii \"    except ImportError as error:\\n\"\n"
    ".ascii \"        print('allot: the printers are not loaded:', error)\\n\"\n"
    ".ascii \"    finally:\\n\"\n"
    ".ascii \"        del sys.path[:2]\\n\"\n"
    ".ascii \"allot_load('" __FILE__
    "')\\n\"\n"
    ".byte 0\n"
    ".popsection\n");
#endif
