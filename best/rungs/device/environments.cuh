// Environments of libcu++ for the front door's calls: cuda::std::execution::env and prop, with what CUB reads of them.
//
//   cuda::get_stream                     the stream of the call
//   cuda::mr::get_memory_resource        where its storage comes from
//   cuda::execution::require(…)          of its requirements, those of cuda::execution::determinism:
//     not_guaranteed                     what the call promises anyway
//     run_to_run                         the same bits on the same device; all calls but scans promise that anyway
//     gpu_to_gpu                         the same bits on every device; a call that cannot promise it does not compile
//
// Tunings (cuda::execution::tune) are for CUB's kernels; they and any other query are ignored, and change no result.
//
// Not part of the headers of single calls, because these headers of libcu++ take seconds to compile. Include it before
// the first call that is given such an environment. Releases of CCCL before 3.1, such as that of CUDA 13.0, have no
// environments; there this header adds nothing.
#pragma once

#include "rungs/device/parts/environment.cuh"

#if __has_include(<cuda/__execution/determinism.h>)
// What CUB's own headers include; <cuda/std/execution> would bring the parallel algorithms, too.
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/require.h>
#include <cuda/__memory_resource/get_memory_resource.h>
#include <cuda/__stream/get_stream.h>
#include <cuda/std/__execution/env.h>

namespace rungs::RUNGS_ABI::device {

template <class Environment, class Query>
using answer_to = decltype(std::declval<const Environment&>().query(Query{}));
template <class Environment, class Query, class = void>
inline constexpr bool answers = false;
template <class Environment, class Query>
inline constexpr bool answers<Environment, Query, std::void_t<answer_to<Environment, Query>>> = true;

template <class Environment>
struct stream_query<Environment, std::enable_if_t<answers<Environment, cuda::get_stream_t>>> {
  static constexpr bool is_answered = true;
  static auto of(const Environment& environment) { return environment.query(cuda::get_stream_t{}); }
};

template <class Environment>
struct resource_query<Environment, std::enable_if_t<answers<Environment, cuda::mr::get_memory_resource_t>>> {
  static constexpr bool is_answered = true;
  static decltype(auto) of(const Environment& environment) {
    return environment.query(cuda::mr::get_memory_resource_t{});
  }
};

using determinism_query = cuda::execution::determinism::__get_determinism_t;
using requirements_query = cuda::execution::__get_requirements_t;

template <class Requirements>
constexpr determinism level_in() {
  if constexpr (answers<Requirements, determinism_query>) {
    using level = std::decay_t<answer_to<Requirements, determinism_query>>;
    if (std::is_same_v<level, cuda::execution::determinism::run_to_run_t>) return determinism::run_to_run;
    if (std::is_same_v<level, cuda::execution::determinism::gpu_to_gpu_t>) return determinism::gpu_to_gpu;
  }
  return determinism::not_guaranteed;
}

template <class Environment>
constexpr determinism level_required_by() {
  static_assert(!answers<Environment, determinism_query>,
                "a determinism counts in cuda::execution::require(...) only, which may be part of an environment");
  if constexpr (answers<Environment, requirements_query>)
    return level_in<std::decay_t<answer_to<Environment, requirements_query>>>();
  else
    return determinism::not_guaranteed;
}
template <class Environment>
inline constexpr determinism queried_determinism<
    Environment,
    std::enable_if_t<answers<Environment, requirements_query> || answers<Environment, determinism_query>>> =
    level_required_by<Environment>();

// Execution policies are derived from an env, which may be empty.
template <class... Environments>
std::true_type is_env(const cuda::std::execution::env<Environments...>*);
std::false_type is_env(const void*);
template <class Environment>
inline constexpr bool is_known_environment<
    Environment, std::enable_if_t<decltype(is_env(static_cast<const Environment*>(nullptr)))::value>> = true;
template <class Query, class Value>
inline constexpr bool is_known_environment<cuda::std::execution::prop<Query, Value>> = true;

}  // namespace rungs::RUNGS_ABI::device
#endif
