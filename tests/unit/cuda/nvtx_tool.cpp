// NVTX finds the tool of nvtx_test.cpp by the name of this variable. The header of NVTX has a weak variable of the same
// name, so that the definition is in a file of its own.
struct nvtxExtModuleInfo_t;
extern "C" int start_nvtx_tool(nvtxExtModuleInfo_t*);
extern "C" {
extern int (*InitializeInjectionNvtxExtension_fnptr)(nvtxExtModuleInfo_t*);
int (*InitializeInjectionNvtxExtension_fnptr)(nvtxExtModuleInfo_t*) = &start_nvtx_tool;
}
