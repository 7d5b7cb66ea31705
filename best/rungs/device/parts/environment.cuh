// The single-phase form of a call: its arguments and then an environment, which says on which stream it runs, where its
// storage comes from and how far its bits repeat. The form is CUB's, from CCCL 3.1 on. An environment is
//
//   nothing               the default stream
//   a stream              a cudaStream_t, what converts to one, or what has one as get(), stream() or get_stream()
//   rungs::run_to_run{stream}, rungs::gpu_to_gpu{stream}   a stream, and a requirement
//   a rungs::workspace    which keeps the storage, on the default stream
//   a memory resource, or what has one as get_memory_resource()
//   cuda::std::execution::env and prop, where <rungs/device/environments.cuh> is included
//
// Without a resource, cudaMallocAsync and cudaFreeAsync on the call's stream provide the storage. So a call may be
// captured, and the graph holds the memory. A resource is called by allocate(stream, bytes, alignment) and
// deallocate(stream, memory, bytes, alignment), or by the older allocate_async(bytes, alignment, stream) and
// deallocate_async(memory, bytes, alignment, stream). What was allocated is freed whatever the call returns.
//
// Errors: that of the call, else that of freeing. cudaErrorMemoryAllocation: the resource threw or returned null.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "rungs/workspace.cuh"

namespace rungs::RUNGS_ABI {

// How far the bits of a result repeat, for the same input.
//   not_guaranteed  they may differ from call to call
//   run_to_run      the same on the same device, whatever the address, the alignment or the stream
//   gpu_to_gpu      the same on every device; only the bits of a NaN may differ
enum class determinism : unsigned char { not_guaranteed, run_to_run, gpu_to_gpu };

// A stream and a requirement, for programs whose CCCL has no cuda::execution::require.
template <determinism level>
struct requirement {
  static constexpr determinism required = level;
  cudaStream_t call_stream = nullptr;

  cudaStream_t stream() const { return call_stream; }
};
using run_to_run = requirement<determinism::run_to_run>;
using gpu_to_gpu = requirement<determinism::gpu_to_gpu>;

namespace device {

// What <rungs/device/environments.cuh> says of the environments of libcu++. A query that is answered has a function
// of(environment).
template <class Environment, class = void>
struct stream_query {
  static constexpr bool is_answered = false;
};
template <class Environment, class = void>
struct resource_query {
  static constexpr bool is_answered = false;
};
template <class Environment, class = void>
inline constexpr determinism queried_determinism = determinism::not_guaranteed;
template <class Environment, class = void>
inline constexpr bool is_known_environment = false;

template <class T, class = void>
inline constexpr bool has_get = false;
template <class T>
inline constexpr bool
    has_get<T, std::enable_if_t<std::is_same_v<std::decay_t<decltype(std::declval<const T&>().get())>, cudaStream_t>>> =
        true;
template <class T>
inline constexpr bool is_stream = std::is_convertible_v<const T&, cudaStream_t> || has_get<T>;

template <class T>
cudaStream_t as_stream(const T& stream) {
  if constexpr (std::is_convertible_v<const T&, cudaStream_t>)
    return stream;
  else
    return stream.get();
}

template <class Environment, class = void>
inline constexpr bool has_stream = false;
template <class Environment>
inline constexpr bool has_stream<
    Environment, std::enable_if_t<is_stream<std::decay_t<decltype(std::declval<const Environment&>().stream())>>>> =
    true;
template <class Environment, class = void>
inline constexpr bool has_get_stream = false;
template <class Environment>
inline constexpr bool has_get_stream<
    Environment, std::enable_if_t<is_stream<std::decay_t<decltype(std::declval<const Environment&>().get_stream())>>>> =
    true;

template <class Environment>
cudaStream_t stream_of(const Environment& environment) {
  if constexpr (is_stream<Environment>)
    return as_stream(environment);
  else if constexpr (has_stream<Environment>)
    return as_stream(environment.stream());
  else if constexpr (has_get_stream<Environment>)
    return as_stream(environment.get_stream());
  else if constexpr (stream_query<Environment>::is_answered)
    return as_stream(stream_query<Environment>::of(environment));
  else
    return nullptr;
}

template <class T, class = void>
inline constexpr bool allocates = false;
template <class T>
inline constexpr bool
    allocates<T, std::void_t<decltype(std::declval<T&>().allocate(cudaStream_t{}, std::size_t{}, std::size_t{}))>> =
        true;
template <class T, class = void>
inline constexpr bool allocates_async = false;
template <class T>
inline constexpr bool allocates_async<
    T, std::void_t<decltype(std::declval<T&>().allocate_async(std::size_t{}, std::size_t{}, cudaStream_t{}))>> = true;
template <class T>
inline constexpr bool is_resource = allocates<T> || allocates_async<T>;

template <class Environment, class = void>
inline constexpr bool has_resource = false;
template <class Environment>
inline constexpr bool
    has_resource<Environment, std::void_t<decltype(std::declval<const Environment&>().get_memory_resource())>> = true;

struct stream_ordered_memory {
  static cudaError_t allocate(void*& memory, std::size_t bytes, cudaStream_t stream) {
    return cudaMallocAsync(&memory, bytes, stream);
  }
  static cudaError_t free(void* memory, std::size_t, cudaStream_t stream) { return cudaFreeAsync(memory, stream); }
};

// No exception leaves a call.
template <class Resource>
struct memory_of_resource {
  static constexpr std::size_t alignment = alignof(std::max_align_t);  // as CUB asks; calls align by themselves
  Resource resource;

  cudaError_t allocate(void*& memory, std::size_t bytes, cudaStream_t stream) {
    return error_of([&] {
      if constexpr (allocates<std::remove_reference_t<Resource>>)
        memory = resource.allocate(stream, bytes, alignment);
      else
        memory = resource.allocate_async(bytes, alignment, stream);
      return memory != nullptr;
    });
  }
  cudaError_t free(void* memory, std::size_t bytes, cudaStream_t stream) {
    return error_of([&] {
      if constexpr (allocates<std::remove_reference_t<Resource>>)
        resource.deallocate(stream, memory, bytes, alignment);
      else
        resource.deallocate_async(memory, bytes, alignment, stream);
      return true;
    });
  }

 private:
  template <class Call>
  static cudaError_t error_of(Call succeeds) {
#ifdef __cpp_exceptions
    try {
      return succeeds() ? cudaSuccess : cudaErrorMemoryAllocation;
    } catch (...) {
      return cudaErrorMemoryAllocation;
    }
#else
    return succeeds() ? cudaSuccess : cudaErrorMemoryAllocation;
#endif
  }
};

// A resource that an environment answers is copied, as CUB does it. One that is the environment is called itself, or
// copied where it is const.
template <class Environment>
auto memory_of(Environment& environment) {
  if constexpr (has_resource<Environment>)
    return memory_of_resource<std::decay_t<decltype(environment.get_memory_resource())>>{
        environment.get_memory_resource()};
  else if constexpr (is_resource<Environment>)
    return memory_of_resource<Environment&>{environment};
  else if constexpr (is_resource<std::remove_const_t<Environment>>)
    return memory_of_resource<std::remove_const_t<Environment>>{environment};
  else if constexpr (resource_query<Environment>::is_answered)
    return memory_of_resource<std::decay_t<decltype(resource_query<Environment>::of(environment))>>{
        resource_query<Environment>::of(environment)};
  else
    return stream_ordered_memory{};
}

template <class Environment, class = void>
inline constexpr determinism required_by = queried_determinism<Environment>;
template <class Environment>
inline constexpr determinism
    required_by<Environment, std::enable_if_t<std::is_same_v<decltype(Environment::required), const determinism>>> =
        Environment::required;

template <class Environment>
inline constexpr bool is_environment =
    is_stream<Environment> || has_stream<Environment> || has_get_stream<Environment> ||
    stream_query<Environment>::is_answered || has_resource<Environment> || is_resource<Environment> ||
    resource_query<Environment>::is_answered || is_known_environment<Environment>;

// Whether argument i is an environment, and no operator. There may be none.
template <class T>
inline constexpr bool stands_for_environment = is_environment<T> || std::is_convertible_v<T&, workspace&>;
template <>
inline constexpr bool stands_for_environment<void> = false;

// Keeps an environment that stands behind a call, or a stream written as 0, from being taken for an operator.
template <class Op>
using if_no_environment = std::enable_if_t<!is_environment<Op> && !std::is_integral_v<Op>>;

// Whether these are the arguments of the single-phase form. Of two phases, the second argument is a std::size_t that
// can be written. A sum in place has a count there, and at most three arguments.
template <class... Arguments>
inline constexpr bool is_one_phase = true;
template <class First>
inline constexpr bool is_one_phase<First> = !std::is_convertible_v<First, workspace&>;
template <class First, class Second, class... Others>
inline constexpr bool is_one_phase<First, Second, Others...> =
    !std::is_convertible_v<First, workspace&> && !(std::is_same_v<Second, std::size_t&> && sizeof...(Others) >= 2);

template <class... Arguments>
using if_one_phase = std::enable_if_t<is_one_phase<Arguments...>>;

// The type of argument i, void where there is none.
template <std::size_t i, class... Arguments>
struct argument {
  using type = void;
};
template <class First, class... Others>
struct argument<0, First, Others...> {
  using type = std::decay_t<First>;
};
template <std::size_t i, class First, class... Others>
struct argument<i, First, Others...> : argument<i - 1, Others...> {};
template <std::size_t i, class... Arguments>
using argument_of = typename argument<i, Arguments...>::type;
template <std::size_t i, class... Arguments>
inline constexpr bool is_count = std::is_integral_v<argument_of<i, Arguments...>>;
template <std::size_t i, class... Arguments>
inline constexpr bool has_operator =
    !std::is_void_v<argument_of<i, Arguments...>> && !stands_for_environment<argument_of<i, Arguments...>>;

template <class Call, class Environment, class... Arguments>
cudaError_t in_environment(Call call, Environment& environment, Arguments&... arguments) {
  using bare = std::remove_const_t<Environment>;
  if constexpr (std::is_convertible_v<Environment&, workspace&>) {
    workspace& keeper = environment;
    cudaStream_t stream = nullptr;
    return call(std::integral_constant<determinism, determinism::not_guaranteed>{}, keeper, arguments..., stream);
  } else if constexpr (!is_environment<bare>) {
    static_assert(is_environment<bare>,
                  "the argument behind those of the call is no environment: it may be a stream, rungs::run_to_run or "
                  "gpu_to_gpu, a rungs::workspace, a memory resource, or, with <rungs/device/environments.cuh> "
                  "included, an environment of cuda::std::execution");
    return cudaErrorInvalidValue;
  } else {
    cudaStream_t stream = stream_of(environment);
    const auto run = [&](void* d_temp_storage, std::size_t& temp_storage_bytes) {
      return call(std::integral_constant<determinism, required_by<bare>>{}, d_temp_storage, temp_storage_bytes,
                  arguments..., stream);
    };
    std::size_t bytes = 0;
    cudaError_t error = run(nullptr, bytes);
    if (error != cudaSuccess) return error;
    auto memory = memory_of(environment);
    void* d_temp_storage = nullptr;
    error = memory.allocate(d_temp_storage, bytes, stream);
    if (error != cudaSuccess) return error;
    error = run(d_temp_storage, bytes);
    const cudaError_t freed = memory.free(d_temp_storage, bytes, stream);
    return error != cudaSuccess ? error : freed;
  }
}

// call(the last argument, the others...), where num_before arguments precede the last one.
template <std::size_t num_before, class Call, class First, class... Others>
cudaError_t with_last_first(Call call, First& first, Others&... others) {
  if constexpr (num_before == 0)
    return call(first, others...);
  else
    return with_last_first<num_before - 1>(call, others..., first);
}

// Runs call(determinism, storage..., arguments..., stream), where storage... is a pair or a workspace. The arguments
// are num_arguments, and an environment may follow them.
template <std::size_t num_arguments, class Call, class... Arguments>
cudaError_t in_one_phase(Call call, Arguments&... arguments) {
  if constexpr (sizeof...(Arguments) == num_arguments) {
    const cudaStream_t default_stream = nullptr;
    return in_environment(call, default_stream, arguments...);
  } else if constexpr (sizeof...(Arguments) == num_arguments + 1) {
    return with_last_first<num_arguments>(
        [&](auto& environment, auto&... others) { return in_environment(call, environment, others...); }, arguments...);
  } else {
    static_assert(
        sizeof...(Arguments) == num_arguments,
        "wrong number of arguments: before those of the call stand d_temp_storage and a std::size_t variable, "
        "or a rungs::workspace; or nothing stands before, and an environment may stand behind");
    return cudaErrorInvalidValue;
  }
}

}  // namespace device
}  // namespace rungs::RUNGS_ABI
