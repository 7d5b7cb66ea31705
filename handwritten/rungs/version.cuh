// The version of the library, and the inline namespaces that carry it into every symbol. Users write `rungs::`.
//
// rungs::v0 holds what no compiler flag changes: contracts, operators, the workspace. Two versions in one program do
// not collide, and a workspace passes between files. rungs::RUNGS_ABI holds everything else. It names the architectures
// of the file being compiled, as CUB's namespace does: files of one program that are compiled for different ones would
// else share each other's host functions, and launch kernels that were never compiled.
#pragma once

#if defined(__cplusplus) && __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "rungs needs C++17: compile with -std=c++17 or newer"
#endif

namespace rungs {
inline namespace v0 {

inline constexpr int version_major = 0, version_minor = 1, version_patch = 0;

}  // namespace v0

#ifdef __CUDA_ARCH_LIST__  // such as 800,900
#define RUNGS_ABI_OF(...) RUNGS_ABI_JOINED(__VA_ARGS__, , , , , , , , , , , , , , , , )
#define RUNGS_ABI_JOINED(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ...) \
  v0_sm_##a##b##c##d##e##f##g##h##i##j##k##l##m##n##o##p
#define RUNGS_ABI RUNGS_ABI_OF(__CUDA_ARCH_LIST__)
#else  // a C++ compiler, or one that keeps no such list
#define RUNGS_ABI v0_host
#endif

inline namespace RUNGS_ABI {}

}  // namespace rungs
