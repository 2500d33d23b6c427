// Linked into every test program that creates a Vulkan instance. Vulkan's loader unloads the drivers with the last
// instance. The pointers of a driver to memory that it keeps are then gone, and the leak sanitizer reports that memory
// without the name of a module. Mesa's drivers keep such memory on some processors. Here no driver is unloaded, so that
// the sanitizer finds its pointers. It still reports all other leaks (unit/vulkan/leaks_test.cpp).
extern "C" int dlclose(void*) { return 0; }

// Asked by the leak sanitizer. The validation layer does not free what it keeps about the synchronization of submitted
// commands.
extern "C" const char* __lsan_default_suppressions() { return "leak:libVkLayer_khronos_validation.so\n"; }
