// Turns a variant's struct into catalog records. The only file that knows both templates and records; it is compiled
// once per variant, in the unit that cmake/variants.cmake writes.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "catalog.hpp"
#include "enrol/collector.hpp"
#include "rungs/operators.cuh"

// Names suffice here. A unit that enrols them includes what defines them, which would cost all others a second each.
struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;
namespace rungs::RUNGS_ABI {
struct minus;
struct increment;
struct bit_and;
struct bit_or;
struct bit_xor;
struct exchange;
}  // namespace rungs::RUNGS_ABI

namespace rungs::catalog {

// The spellings that CMake lines use.
using i8 = std::int8_t;
using u8 = std::uint8_t;
using i16 = std::int16_t;
using u16 = std::uint16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = long long;
using u64 = unsigned long long;
using f16 = __half;
using bf16 = __nv_bfloat16;
using f32 = float;
using f64 = double;
using f16x2 = __half2;
using bf16x2 = __nv_bfloat162;
using rungs::affine;

template <class Input, class Accumulator = Input>
struct element {
  using input = Input;
  using accumulator = Accumulator;
};
template <class... Elements>
struct elements {};
template <class... Operators>
struct operators {};

// What stands among a histogram's operators: which levels it takes.
struct even {};
struct range {};
struct multi_even {};

// What stands among the operators of extrema: the least and the greatest item of one call.
struct both {};

template <class T>
constexpr scalar scalar_of() {
  if constexpr (std::is_same_v<T, f16>)
    return scalar::f16;
  else if constexpr (std::is_same_v<T, bf16>)
    return scalar::bf16;
  else if constexpr (std::is_same_v<T, f32>)
    return scalar::f32;
  else if constexpr (std::is_same_v<T, f64>)
    return scalar::f64;
  else if constexpr (std::is_same_v<T, affine>)
    return scalar::affine;
  else if constexpr (std::is_same_v<T, f16x2>)
    return scalar::f16x2;
  else if constexpr (std::is_same_v<T, bf16x2>)
    return scalar::bf16x2;
  else {
    static_assert(std::is_integral_v<T>, "give the type a name in catalog.hpp");
    constexpr scalar signed_by_size[] = {scalar::i8, scalar::i16, scalar::i32, scalar::i64};
    constexpr scalar unsigned_by_size[] = {scalar::u8, scalar::u16, scalar::u32, scalar::u64};
    constexpr int size_class = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? signed_by_size[size_class] : unsigned_by_size[size_class];
  }
}

template <class Operator>
constexpr op op_of() {
  if constexpr (std::is_same_v<Operator, plus>)
    return op::plus;
  else if constexpr (std::is_same_v<Operator, minimum>)
    return op::minimum;
  else if constexpr (std::is_same_v<Operator, compose>)
    return op::compose;
  else if constexpr (std::is_same_v<Operator, minus>)
    return op::minus;
  else if constexpr (std::is_same_v<Operator, increment>)
    return op::increment;
  else if constexpr (std::is_same_v<Operator, bit_and>)
    return op::bit_and;
  else if constexpr (std::is_same_v<Operator, bit_or>)
    return op::bit_or;
  else if constexpr (std::is_same_v<Operator, bit_xor>)
    return op::bit_xor;
  else if constexpr (std::is_same_v<Operator, exchange>)
    return op::exchange;
  else {
    static_assert(std::is_same_v<Operator, maximum>, "give the operator a name in catalog.hpp");
    return op::maximum;
  }
}

// What every record of a variant shares: the flags of contract.cuh, with their defaults.
template <class Variant>
record describe(record about) {
  static_assert(
      requires {
        { Variant::idea } -> std::convertible_to<const char*>;
      },
      "a variant says its idea in one sentence: static constexpr auto idea = \"...\"");
  static_assert(
      requires {
        { Variant::deterministic } -> std::convertible_to<bool>;
      },
      "a variant says whether it repeats bit for bit: static constexpr bool deterministic");
  static_assert(
      requires {
        { Variant::block_threads } -> std::convertible_to<int>;
        { Variant::items_per_thread } -> std::convertible_to<int>;
      },
      "a variant names its launch shape: static constexpr int block_threads, items_per_thread");
  about.idea = Variant::idea;
  about.block_threads = Variant::block_threads;
  about.items_per_thread = Variant::items_per_thread;
  about.deterministic = Variant::deterministic;
  if constexpr (requires { Variant::blocks_per_multiprocessor; })
    about.blocks_per_multiprocessor = Variant::blocks_per_multiprocessor;
  if constexpr (requires { Variant::waits_for_host; }) about.waits_for_host = Variant::waits_for_host;
  if constexpr (requires { Variant::propagates_nan; }) about.propagates_nan = Variant::propagates_nan;
  if constexpr (requires { Variant::min_cc; }) about.min_cc = Variant::min_cc;
  if constexpr (requires { Variant::temp_storage; }) about.temp_storage = Variant::temp_storage;
  if constexpr (requires { Variant::forward_progress; }) about.forward_progress = Variant::forward_progress;
  if constexpr (requires { Variant::executes_on; }) about.executes_on = Variant::executes_on;
  if constexpr (requires { Variant::max_items; }) about.max_items = Variant::max_items;
  if constexpr (requires { Variant::max_bins; }) about.max_bins = Variant::max_bins;
  if constexpr (requires { Variant::max_columns; }) about.max_columns = Variant::max_columns;
  if constexpr (requires { Variant::max_k; }) about.max_k = Variant::max_k;
  if constexpr (requires { Variant::max_addresses; }) about.max_addresses = Variant::max_addresses;
  if constexpr (requires(std::size_t n) {
                  { Variant::summation_height(n) } -> std::convertible_to<std::size_t>;
                })
    about.summation_height = [](std::size_t num_items) -> std::size_t { return Variant::summation_height(num_items); };
  return about;
}

template <class Variant, class Element, class Operator>
record reduction(record about) {
  using input = typename Element::input;
  using accumulator = typename Element::accumulator;
  about.operation = operation::reduce;
  about.op = op_of<Operator>();
  about.input_type = scalar_of<input>();
  about.accumulator_type = about.output_type = scalar_of<accumulator>();
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    return Variant::reduce(d_temp_storage, temp_storage_bytes, static_cast<const input*>(a.d_in),
                           static_cast<accumulator*>(a.d_out), a.num_items, Operator{},
                           *static_cast<const accumulator*>(a.init), stream);
  };
  return about;
}

// An inclusive scan is called as CUB's users call it: without an init where the accumulator is the input's type, with
// one where it is wider, because the init is what says so.
template <class Variant, class Element, class Operator>
record inclusive_scan(record about) {
  using input = typename Element::input;
  using accumulator = typename Element::accumulator;
  about.operation = operation::inclusive_scan;
  about.op = op_of<Operator>();
  about.input_type = scalar_of<input>();
  about.accumulator_type = about.output_type = scalar_of<accumulator>();
  about.takes_init = !std::is_same_v<input, accumulator>;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    const auto d_in = static_cast<const input*>(a.d_in);
    const auto d_out = static_cast<accumulator*>(a.d_out);
    if constexpr (std::is_same_v<input, accumulator>)
      return Variant::inclusive_scan(d_temp_storage, temp_storage_bytes, d_in, d_out, Operator{}, a.num_items, stream);
    else
      return Variant::inclusive_scan_init(d_temp_storage, temp_storage_bytes, d_in, d_out, Operator{},
                                          *static_cast<const accumulator*>(a.init), a.num_items, stream);
  };
  return about;
}

template <class Variant, class Element, class Operator>
record exclusive_scan(record about) {
  using input = typename Element::input;
  using accumulator = typename Element::accumulator;
  about.operation = operation::exclusive_scan;
  about.op = op_of<Operator>();
  about.input_type = scalar_of<input>();
  about.accumulator_type = about.output_type = scalar_of<accumulator>();
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    return Variant::exclusive_scan(d_temp_storage, temp_storage_bytes, static_cast<const input*>(a.d_in),
                                   static_cast<accumulator*>(a.d_out), Operator{},
                                   *static_cast<const accumulator*>(a.init), a.num_items, stream);
  };
  return about;
}

// Whether the variant reduces the rows of a matrix.
template <class Variant>
concept reduces_rows = requires(std::size_t& bytes, const f32* d_in, f32* d_out) {
  Variant::reduce_rows(nullptr, bytes, d_in, d_out, std::size_t{}, std::size_t{}, plus{}, 0.0f, cudaStream_t{});
};

template <class Variant, class Element, class Operator>
record row_reduction(record about) {
  using input = typename Element::input;
  using accumulator = typename Element::accumulator;
  about.operation = operation::row_reduce;
  about.op = op_of<Operator>();
  about.input_type = scalar_of<input>();
  about.accumulator_type = about.output_type = scalar_of<accumulator>();
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    return Variant::reduce_rows(d_temp_storage, temp_storage_bytes, static_cast<const input*>(a.d_in),
                                static_cast<accumulator*>(a.d_out), a.num_rows, a.num_columns, Operator{},
                                *static_cast<const accumulator*>(a.init), stream);
  };
  return about;
}

// Whether the variant scales the rows of a matrix to a mean square of 1.
template <class Variant>
concept normalises_rows = requires(std::size_t& bytes, const f32* d_in, f32* d_out) {
  Variant::rms_norm(nullptr, bytes, d_in, d_in, d_out, std::size_t{}, std::size_t{}, 0.0f, cudaStream_t{});
};

template <class Variant, class T>
record row_norm(record about) {
  about.operation = operation::row_norm;
  about.input_type = about.accumulator_type = about.output_type = scalar_of<T>();
  about.takes_init = false;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    return Variant::rms_norm(d_temp_storage, temp_storage_bytes, static_cast<const T*>(a.d_in),
                             static_cast<const T*>(a.d_second), static_cast<T*>(a.d_out), a.num_rows, a.num_columns,
                             norm_epsilon, stream);
  };
  return about;
}

// Whether the variant adds up the products of pairs.
template <class Variant>
concept adds_products = requires(std::size_t& bytes, const f32* d_in, f32* d_out) {
  Variant::dot(nullptr, bytes, d_in, d_in, d_out, std::size_t{}, cudaStream_t{});
};

template <class Variant, class Element>
record dot(record about) {
  using input = typename Element::input;
  using accumulator = typename Element::accumulator;
  about.operation = operation::dot;
  about.op = op::plus;
  about.input_type = scalar_of<input>();
  about.accumulator_type = about.output_type = scalar_of<accumulator>();
  about.takes_init = false;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    return Variant::dot(d_temp_storage, temp_storage_bytes, static_cast<const input*>(a.d_in),
                        static_cast<const input*>(a.d_second), static_cast<accumulator*>(a.d_out), a.num_items, stream);
  };
  return about;
}

// Whether the variant looks for the least and the greatest item, and says where they stand.
template <class Variant>
concept finds_extrema = requires(std::size_t& bytes, const f32* d_in, f32* d_item, long long* d_index) {
  Variant::arg_extremum(nullptr, bytes, d_in, d_item, d_index, std::size_t{}, minimum{}, cudaStream_t{});
};

template <class Variant, class Element, class Operator>
record arg_extremum(record about) {
  using input = typename Element::input;
  about.operation = operation::arg_extremum;
  about.op = op_of<Operator>();
  about.input_type = about.accumulator_type = scalar_of<input>();
  about.output_type = scalar::i64;
  about.takes_init = false;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    const auto d_index = static_cast<long long*>(a.d_out);
    return Variant::arg_extremum(d_temp_storage, temp_storage_bytes, static_cast<const input*>(a.d_in),
                                 reinterpret_cast<input*>(d_index + 1), d_index, a.num_items, Operator{}, stream);
  };
  return about;
}

template <class Variant, class T>
record arg_extrema(record about) {
  about.operation = operation::arg_extremum;
  about.op = op::both;
  about.input_type = about.accumulator_type = scalar_of<T>();
  about.output_type = scalar::i64;
  about.takes_init = false;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    const auto d_min_index = static_cast<long long*>(a.d_out), d_max_index = d_min_index + 2;
    return Variant::arg_extrema(d_temp_storage, temp_storage_bytes, static_cast<const T*>(a.d_in),
                                reinterpret_cast<T*>(d_min_index + 1), d_min_index,
                                reinterpret_cast<T*>(d_max_index + 1), d_max_index, a.num_items, stream);
  };
  return about;
}

// What selections choose.
template <class T>
struct below {
  T threshold;
  __host__ __device__ bool operator()(const T& item) const { return item < threshold; }
};

// Whether the variant brings chosen items to the front.
template <class Variant>
concept selects = requires(std::size_t& bytes, const f32* d_in, f32* d_out, long long* d_num_selected_out) {
  Variant::select_if(nullptr, bytes, d_in, d_out, d_num_selected_out, std::size_t{}, below<f32>{}, cudaStream_t{});
};

template <class Variant, class T>
record selection(record about) {
  about.operation = operation::select_if;
  about.input_type = about.accumulator_type = about.output_type = scalar_of<T>();
  about.takes_init = false;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    return Variant::select_if(d_temp_storage, temp_storage_bytes, static_cast<const T*>(a.d_in),
                              static_cast<T*>(a.d_out), count_behind(a.d_out, a.num_items, sizeof(T)), a.num_items,
                              below<T>{*static_cast<const T*>(a.levels)}, stream);
  };
  return about;
}

// Whether the variant chooses the greatest items of each row of a matrix.
template <class Variant>
concept chooses_greatest = requires(std::size_t& bytes, const f32* d_in, f32* d_keys_out, u32* d_columns_out) {
  Variant::top_k(nullptr, bytes, d_in, d_keys_out, d_columns_out, std::size_t{}, std::size_t{}, std::size_t{},
                 cudaStream_t{});
};

template <class Variant, class T>
record top_k(record about) {
  about.operation = operation::top_k;
  about.input_type = about.accumulator_type = scalar_of<T>();
  about.output_type = scalar::u32;
  about.takes_init = false;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    const auto d_columns_out = static_cast<u32*>(a.d_out);
    return Variant::top_k(d_temp_storage, temp_storage_bytes, static_cast<const T*>(a.d_in),
                          reinterpret_cast<T*>(d_columns_out + a.num_rows * a.k), d_columns_out, a.num_rows,
                          a.num_columns, a.k, stream);
  };
  return about;
}

// Whether the variant scans: then it has CUB's calls for that.
template <class Variant>
concept scans = requires(std::size_t& bytes, const f32* d_in, f32* d_out) {
  Variant::exclusive_scan(nullptr, bytes, d_in, d_out, plus{}, 0.0f, std::size_t{}, cudaStream_t{});
};

// The type of a histogram's levels: as wide as the samples, and wide enough for 65536 bins.
template <class Sample>
using level_of = std::conditional_t<std::is_same_v<Sample, f16> || std::is_same_v<Sample, bf16>, f32,
                                    std::conditional_t<sizeof(Sample) < 4, i32, Sample>>;

// Levels is even or range.
template <class Variant, class Sample, class Levels>
record histogram(record about) {
  using level = level_of<Sample>;
  constexpr bool is_even = std::is_same_v<Levels, even>;
  about.operation = is_even ? operation::histogram_even : operation::histogram_range;
  about.input_type = scalar_of<Sample>();
  about.accumulator_type = about.output_type = scalar::u32;
  about.level_type = scalar_of<level>();
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    const auto d_samples = static_cast<const Sample*>(a.d_in);
    const auto d_histogram = static_cast<u32*>(a.d_out);
    const auto levels = static_cast<const level*>(a.levels);
    if constexpr (is_even)
      return Variant::histogram_even(d_temp_storage, temp_storage_bytes, d_samples, d_histogram, a.num_levels,
                                     levels[0], levels[1], a.num_items, stream);
    else
      return Variant::histogram_range(d_temp_storage, temp_storage_bytes, d_samples, d_histogram, a.num_levels, levels,
                                      a.num_items, stream);
  };
  return about;
}

// The case that images are: pixels of four channels, of which three are counted, all with the same levels.
template <class Variant, class Sample>
record multi_histogram_even(record about) {
  using level = level_of<Sample>;
  constexpr int num_channels = 4, num_active_channels = 3;
  about.operation = operation::multi_histogram_even;
  about.input_type = scalar_of<Sample>();
  about.accumulator_type = about.output_type = scalar::u32;
  about.level_type = scalar_of<level>();
  about.num_channels = num_channels;
  about.num_active_channels = num_active_channels;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    const auto levels = static_cast<const level*>(a.levels);
    u32* d_histogram[num_active_channels];
    int num_levels[num_active_channels];
    level lower_level[num_active_channels], upper_level[num_active_channels];
    for (int channel = 0; channel < num_active_channels; ++channel) {
      d_histogram[channel] = static_cast<u32*>(a.d_out) + channel * (a.num_levels - 1);
      num_levels[channel] = a.num_levels;
      lower_level[channel] = levels[0];
      upper_level[channel] = levels[1];
    }
    return Variant::template multi_histogram_even<num_channels, num_active_channels>(
        d_temp_storage, temp_storage_bytes, static_cast<const Sample*>(a.d_in), d_histogram, num_levels, lower_level,
        upper_level, a.num_items / num_channels, stream);
  };
  return about;
}

// Whether the variant is one of the study of atomics: then it says what it can do on which type.
template <class Variant>
concept updates_addresses = requires {
  Variant::template takes<plus, u32>;
};

template <class Variant, class T, class Operator>
record atomics(record about) {
  about.operation = operation::atomics;
  about.op = op_of<Operator>();
  about.input_type = about.accumulator_type = about.output_type = scalar_of<T>();
  if constexpr (requires { Variant::template max_operations_per_address<Operator>; })
    about.max_operations_per_address = Variant::template max_operations_per_address<Operator>;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    return Variant::update(d_temp_storage, temp_storage_bytes, static_cast<T*>(a.d_out), a.num_addresses, a.num_items,
                           a.seed, Operator{}, stream);
  };
  return about;
}

// Whether the variant is one of the study of collectives, or of that of barriers.
template <class Variant>
concept chains_collectives = requires {
  typename Variant::groups;
};
template <class Variant>
concept passes_phases = requires(std::size_t& bytes, u32* d_words) {
  Variant::pass(nullptr, bytes, d_words, std::size_t{}, std::size_t{}, std::size_t{}, 0u, cudaStream_t{});
};

// What comes out are notes of the results, words of 32 bits whatever the type of the values.
template <class Variant, class T, class Operator>
record collectives(record about) {
  about.operation = Variant::is_scan ? operation::collective_scan : operation::collective_reduce;
  about.op = op_of<Operator>();
  about.input_type = about.accumulator_type = scalar_of<T>();
  about.output_type = scalar::u32;
  about.takes_group = Variant::takes_group;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    return Variant::template chain<T>(d_temp_storage, temp_storage_bytes, static_cast<u32*>(a.d_out), a.num_threads,
                                      a.num_items, a.seed, Operator{}, stream);
  };
  return about;
}

template <class Variant>
record barriers(record about) {
  about.operation = operation::barrier;
  about.input_type = about.accumulator_type = about.output_type = scalar::u32;
  about.takes_group = Variant::takes_group;
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    return Variant::pass(d_temp_storage, temp_storage_bytes, static_cast<u32*>(a.d_out), a.num_blocks, a.num_threads,
                         a.num_items, a.seed, stream);
  };
  return about;
}

// What makes sense: affine maps compose, numbers do not.
template <class Element, class Operator>
inline constexpr bool belong_together =
    std::is_same_v<typename Element::input, affine> == std::is_same_v<Operator, compose>;

// A roof moves items and computes nothing: it bounds what any variant can reach. What stands for an accumulator is its
// output's type.
template <class Variant, class Element>
record roof(record about) {
  using input = typename Element::input;
  using output = typename Element::accumulator;
  about.operation = Variant::operation;
  about.input_type = scalar_of<input>();
  about.output_type = scalar_of<output>();
  about.call = [](void* d_temp_storage, std::size_t& temp_storage_bytes, const arguments& a, cudaStream_t stream) {
    return Variant::move(d_temp_storage, temp_storage_bytes, static_cast<const input*>(a.d_in),
                         static_cast<output*>(a.d_out), a.num_items, stream);
  };
  return about;
}

template <class Variant, class... Elements, class... Operators>
void enrol(collector& records, const record& listed, elements<Elements...>, operators<Operators...>) {
  const record about = describe<Variant>(listed);
  if constexpr (requires { Variant::operation; }) {
    (records.add(roof<Variant, Elements>(about)), ...);
  } else if constexpr (passes_phases<Variant>) {
    records.add(barriers<Variant>(about));
  } else {
    const auto with_both = [&]<class Element, class Operator>(Element, Operator) {
      using input = typename Element::input;
      if constexpr (std::is_same_v<Operator, even> || std::is_same_v<Operator, range>) {
        records.add(histogram<Variant, input, Operator>(about));
      } else if constexpr (std::is_same_v<Operator, multi_even>) {
        records.add(multi_histogram_even<Variant, input>(about));
      } else if constexpr (std::is_same_v<Operator, both>) {
        records.add(arg_extrema<Variant, input>(about));
      } else if constexpr (updates_addresses<Variant>) {
        if constexpr (Variant::template takes<Operator, input>) records.add(atomics<Variant, input, Operator>(about));
      } else if constexpr (chains_collectives<Variant>) {
        if constexpr (Variant::template takes_type<Operator, input>)
          records.add(collectives<Variant, input, Operator>(about));
      } else if constexpr (!belong_together<Element, Operator>) {
        return;
      } else if constexpr (scans<Variant>) {
        records.add(inclusive_scan<Variant, Element, Operator>(about));
        records.add(exclusive_scan<Variant, Element, Operator>(about));
      } else if constexpr (normalises_rows<Variant>) {
        records.add(row_norm<Variant, input>(about));
      } else if constexpr (adds_products<Variant>) {
        records.add(dot<Variant, Element>(about));
      } else if constexpr (finds_extrema<Variant>) {
        records.add(arg_extremum<Variant, Element, Operator>(about));
      } else if constexpr (selects<Variant>) {
        records.add(selection<Variant, input>(about));
      } else if constexpr (chooses_greatest<Variant>) {
        records.add(top_k<Variant, input>(about));
      } else if constexpr (reduces_rows<Variant>) {
        records.add(row_reduction<Variant, Element, Operator>(about));
      } else {
        records.add(reduction<Variant, Element, Operator>(about));
      }
    };
    const auto with_element = [&]<class Element>(Element element) { (with_both(element, Operators{}), ...); };
    (with_element(Elements{}), ...);
  }
}

}  // namespace rungs::catalog
