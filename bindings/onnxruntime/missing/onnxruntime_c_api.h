// SPDX-License-Identifier: BSL-1.0
// The part of ONNX Runtime's C interface that the adapter and its tests use, with declarations only. ONNX Runtime's
// wheel has no headers. An installed onnxruntime_c_api.h comes first in the search (-idirafter).
//
// The interface is a table of functions, which only grows at its end. The members that this folder does not use are
// reserved words, and the assertions at the end state the positions of the others. It needs ONNX Runtime 1.23.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ORT_API_VERSION 23
#define ORT_API_CALL

extern "C" {

struct OrtEnv;
struct OrtStatus;
struct OrtMemoryInfo;
struct OrtSession;
struct OrtValue;
struct OrtRunOptions;
struct OrtSessionOptions;
struct OrtTensorTypeAndShapeInfo;
struct OrtArenaCfg;
struct OrtKeyValuePairs;
struct OrtSyncStream;
using OrtStatusPtr = OrtStatus*;

enum OrtLoggingLevel { ORT_LOGGING_LEVEL_ERROR = 3 };
enum OrtErrorCode { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2 };
enum OrtAllocatorType { OrtDeviceAllocator = 0, OrtArenaAllocator = 1 };
enum OrtMemType { OrtMemTypeDefault = 0 };
enum ONNXTensorElementDataType {
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 = 6,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7
};

struct OrtAllocator {
    uint32_t version;
    void* (*Alloc)(OrtAllocator*, size_t);
    void (*Free)(OrtAllocator*, void*);
    const OrtMemoryInfo* (*Info)(const OrtAllocator*);
    void* (*Reserve)(OrtAllocator*, size_t);
    OrtStatusPtr (*GetStats)(const OrtAllocator*, OrtKeyValuePairs**) noexcept;
    void* (*AllocOnStream)(OrtAllocator*, size_t, OrtSyncStream*);
};

struct OrtApi {
    OrtStatusPtr (*CreateStatus)(OrtErrorCode, const char*) noexcept;
    void* reserved_1;
    const char* (*GetErrorMessage)(const OrtStatus*) noexcept;
    OrtStatusPtr (*CreateEnv)(OrtLoggingLevel, const char*, OrtEnv**) noexcept;
    void* reserved_4[3];
    OrtStatusPtr (*CreateSession)(const OrtEnv*, const char*, const OrtSessionOptions*, OrtSession**) noexcept;
    void* reserved_8;
    OrtStatusPtr (*Run)(OrtSession*, const OrtRunOptions*, const char* const*, const OrtValue* const*, size_t,
                        const char* const*, size_t, OrtValue**) noexcept;
    OrtStatusPtr (*CreateSessionOptions)(OrtSessionOptions**) noexcept;
    void* reserved_11[13];
    OrtStatusPtr (*SetIntraOpNumThreads)(OrtSessionOptions*, int) noexcept;
    void* reserved_25[24];
    OrtStatusPtr (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo*, void*, size_t, const int64_t*, size_t,
                                                   ONNXTensorElementDataType, OrtValue**) noexcept;
    void* reserved_50;
    OrtStatusPtr (*GetTensorMutableData)(OrtValue*, void**) noexcept;
    void* reserved_52[12];
    OrtStatusPtr (*GetTensorShapeElementCount)(const OrtTensorTypeAndShapeInfo*, size_t*) noexcept;
    OrtStatusPtr (*GetTensorTypeAndShape)(const OrtValue*, OrtTensorTypeAndShapeInfo**) noexcept;
    void* reserved_66[3];
    OrtStatusPtr (*CreateCpuMemoryInfo)(OrtAllocatorType, OrtMemType, OrtMemoryInfo**) noexcept;
    void* reserved_70[22];
    void (*ReleaseEnv)(OrtEnv*);
    void (*ReleaseStatus)(OrtStatus*);
    void (*ReleaseMemoryInfo)(OrtMemoryInfo*);
    void (*ReleaseSession)(OrtSession*);
    void (*ReleaseValue)(OrtValue*);
    void* reserved_97[2];
    void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo*);
    void (*ReleaseSessionOptions)(OrtSessionOptions*);
    void* reserved_101[29];
    OrtStatusPtr (*AddSessionConfigEntry)(OrtSessionOptions*, const char*, const char*) noexcept;
    OrtStatusPtr (*CreateAllocator)(const OrtSession*, const OrtMemoryInfo*, OrtAllocator**) noexcept;
    void (*ReleaseAllocator)(OrtAllocator*);
    void* reserved_133[11];
    OrtStatusPtr (*CreateAndRegisterAllocator)(OrtEnv*, const OrtMemoryInfo*, const OrtArenaCfg*) noexcept;
    void* reserved_145[12];
    void (*ReleaseArenaCfg)(OrtArenaCfg*);
    void* reserved_158[6];
    OrtStatusPtr (*CreateArenaCfgV2)(const char* const*, const size_t*, size_t, OrtArenaCfg**) noexcept;
    void* reserved_165[11];
    OrtStatusPtr (*RegisterAllocator)(OrtEnv*, OrtAllocator*) noexcept;
    OrtStatusPtr (*UnregisterAllocator)(OrtEnv*, const OrtMemoryInfo*) noexcept;
    void* reserved_178[117];
    void (*CreateKeyValuePairs)(OrtKeyValuePairs**);
    void (*AddKeyValuePair)(OrtKeyValuePairs*, const char*, const char*);
    const char* (*GetKeyValue)(const OrtKeyValuePairs*, const char*);
    void* reserved_298[2];
    void (*ReleaseKeyValuePairs)(OrtKeyValuePairs*);
};

struct OrtApiBase {
    const OrtApi* (*GetApi)(uint32_t) noexcept;
    const char* (*GetVersionString)() noexcept;
};

const OrtApiBase* OrtGetApiBase() noexcept;

}  // extern "C"

#define ALLOT_POSITION(member, position) static_assert(offsetof(OrtApi, member) == (position) * sizeof(void*))
ALLOT_POSITION(CreateSession, 7);
ALLOT_POSITION(SetIntraOpNumThreads, 24);
ALLOT_POSITION(CreateTensorWithDataAsOrtValue, 49);
ALLOT_POSITION(GetTensorMutableData, 51);
ALLOT_POSITION(GetTensorTypeAndShape, 65);
ALLOT_POSITION(CreateCpuMemoryInfo, 69);
ALLOT_POSITION(ReleaseSessionOptions, 100);
ALLOT_POSITION(ReleaseAllocator, 132);
ALLOT_POSITION(CreateAndRegisterAllocator, 144);
ALLOT_POSITION(ReleaseArenaCfg, 157);
ALLOT_POSITION(CreateArenaCfgV2, 164);
ALLOT_POSITION(UnregisterAllocator, 177);
ALLOT_POSITION(GetKeyValue, 297);
ALLOT_POSITION(ReleaseKeyValuePairs, 300);
#undef ALLOT_POSITION
