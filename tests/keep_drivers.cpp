// Linked into every test program that makes a Vulkan instance. Vulkan's loader unloads the drivers with the last
// instance, and with a driver go the pointers to whatever it allocated once and keeps: the leak sanitizer then reports
// that memory, in a module it cannot name. Mesa's drivers keep such memory on some processors and none on others. No
// driver is unloaded here, so its pointers stay where the sanitizer looks for them, and every other leak of the program
// is still reported (unit/vulkan/leaks_test.cpp).
extern "C" int dlclose(void*) { return 0; }

// Asked by the leak sanitizer. The validation layer does not free what it keeps about the synchronization of submitted
// commands.
extern "C" const char* __lsan_default_suppressions() { return "leak:libVkLayer_khronos_validation.so\n"; }
