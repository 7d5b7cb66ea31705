// rungs::DeviceTopK: cub::DeviceTopK's calls, for the greatest or least k keys of an array. rungs::DeviceBatchedTopK:
// the same for every row of a matrix.
//
//   rungs::DeviceTopK::MaxKeys(d_temp_storage, temp_storage_bytes, d_keys_in, d_keys_out, num_items, k, stream);
//   rungs::DeviceTopK::MaxPairs(d_temp_storage, temp_storage_bytes, d_keys_in, d_keys_out, d_values_in, d_values_out,
//                               num_items, k, stream);
//   rungs::DeviceTopK::MaxKeys(workspace, d_keys_in, d_keys_out, num_items, k, stream);  // simpler
//   rungs::DeviceTopK::MaxKeys(d_keys_in, d_keys_out, num_items, k, environment);
//
//   using rungs::rows::matrix;
//   rungs::DeviceBatchedTopK::MaxPairs(workspace, matrix{d_keys_in, num_rows, num_columns, stride},
//                                      matrix{d_keys_out, num_rows, k}, rungs::columns_as_values{},
//                                      matrix{d_columns, num_rows, k}, k, stream);
//
// keys          float, double, __half, __nv_bfloat16, or integers of up to 64 bits, bool among them, in the device's
//               memory at any address. d_keys_in is a pointer or a contiguous iterator, such as
//               thrust::device_vector's. An array or a row has fewer than 2^32 - 8,192. d_keys_out is any random-access
//               iterator.
// values        random-access iterators, for matrices those that matrix holds; or columns_as_values for the indices of
//               the keys, as any integer.
// k             any. Where there are fewer keys, all of them are the result, as in CUB.
// order         top_k_order::sorted, the default: the first of the order first. top_k_order::unsorted: in any order,
//               which may change from call to call, without the time for sorting.
// Output may not overlap with input.
//
// The result is exact. Of equal keys the smaller index comes first, and is chosen first. NaN is greater than any
// number: it comes first among the greatest and last among the least, as in torch.topk. All NaN are equal, and -0
// equals 0. Keys come out with the bits that they came in with.
//
// The forms of storage, errors and capture are as in <rungs/device/device_reduce.cuh>. In two phases an environment may
// stand in place of the stream; its stream alone counts. Storage is needed where a
// row has more than 1,024 keys, or more than 256 and k exceeds 32:
//   few rows, k to 4,096    8 k bytes for each part of a row; of all rows up to two parts a multiprocessor
//                           None where a block or a cluster takes the row as a whole (docs/top_k.md)
//   greater k               8 bytes a result, 16 where sorted, and 1 KB for each such part, or for each row
// Keys of 64 bits:
//   one row up to 16 Ki     16 bytes a key, and two launches
//   a longer row            up to 440 KB to 256 Ki keys, then up to 2 bytes a key; 32 a result more where it is sorted
//                           and k exceeds 4,096. Four to ten launches, and those that sort.
//   several rows            16 bytes a result, 32 where sorted, and about thirty launches
// The first kind ends at a smaller k where a block has less than 74 KB of shared memory: at 3,062 on sm_75.
//
// Keys are read once up to that k, and up to nine times beyond. Rows with many equal keys are read two or three times.
// One row of 64-bit keys is read once, whatever its keys, and up to ten times more where a sample of it misleads. Its
// places are fixed, so keys can be made that it misleads about. Several such rows are read up to 13 times.
//
// Source: the threshold of a block that takes no sample is the idea of warp selection (Johnson, Douze, Jegou 2017),
// with a radix selection in place of sorting; the digits are those of AIR top-k (Zhang et al. 2023), which CUB uses.
#pragma once

#if !__has_include("rungs/version.cuh") || !__has_include("rungs/cluster/parts/launch.cuh")
#error "rungs needs three include roots: add -I handwritten and -I cluster beside -I best, or use the installed package"
#endif

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rungs/contract.cuh"
#include "rungs/device/parts/contiguous.cuh"
#include "rungs/device/parts/environment.cuh"
#include "rungs/device/parts/storages.cuh"
#include "rungs/device/parts/stream_argument.cuh"
#include "rungs/production/top_k/top_k.cuh"
#include "rungs/rows/matrix.cuh"

namespace rungs::RUNGS_ABI {

enum class top_k_order : unsigned char { sorted, unsorted };

// In place of values: the index of each key in its array or row.
struct columns_as_values {};

namespace device {

// What the workspace knows the storage of these calls by.
struct top_k_calls {
  static constexpr contents temp_storage = contents::uninitialised;
};

template <class Key>
inline constexpr bool is_top_k_key = std::is_same_v<Key, float> || std::is_same_v<Key, double> ||
                                     std::is_same_v<Key, __half> || std::is_same_v<Key, __nv_bfloat16> ||
                                     (std::is_integral_v<Key> && sizeof(Key) <= 8);

// The order of Key's bits. Kernels are the same for __half and __nv_bfloat16, for all integers of one size, and for
// both ends.
template <class Key>
using bits_of_key =
    std::conditional_t<sizeof(Key) == 1, std::uint8_t,
                       std::conditional_t<sizeof(Key) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(Key) == 4, std::uint32_t, unsigned long long>>>;
template <class Key>
using order_of = production::key_order<bits_of_key<Key>, !std::is_integral_v<Key>>;

template <class Key>
order_of<Key> key_order_of(bool greatest) {
  using word = typename order_of<Key>::word;
  const word sign = std::is_integral_v<Key> && std::is_signed_v<Key> ? order_of<Key>::sign : 0;
  const word infinity = sizeof(Key) == 8              ? static_cast<word>(0x7ff0000000000000)
                        : std::is_same_v<Key, __half> ? 0x7c000000
                                                      : 0x7f800000;
  return {greatest ? sign : ~sign, infinity};
}

// Where kernels write keys: by their bits to an array, and one by one to any other iterator.
template <class Key, class KeyOutputIteratorT>
auto written_by_bits(KeyOutputIteratorT d_keys_out) {
  if constexpr (std::is_same_v<KeyOutputIteratorT, Key*>)
    return reinterpret_cast<bits_of_key<Key>*>(d_keys_out);
  else
    return production::keys_of_bits<Key, bits_of_key<Key>, KeyOutputIteratorT>{d_keys_out};
}

template <bool greatest, class Storage, class Key, class KeyOutputIteratorT, class Values>
cudaError_t top_k(Storage storage, const rows::matrix<const Key>& in, KeyOutputIteratorT d_keys_out,
                  std::size_t stride_out, const Values& values, std::size_t k, top_k_order order, cudaStream_t stream) {
  static_assert(is_top_k_key<Key>, "keys of top-k are integers, float, double, __half or __nv_bfloat16");
  using bits = bits_of_key<Key>;
  const auto* const keys_in = reinterpret_cast<const bits*>(in.data);
  const production::keys_of_rows<order_of<Key>> keys{keys_in, in.stride, key_order_of<Key>(greatest)};
  const auto keys_out = written_by_bits<Key>(d_keys_out);
  const production::top_k_output<bits, Values, std::decay_t<decltype(keys_out)>> output{keys_in, in.stride, keys_out,
                                                                                        stride_out, values};
  return storage.run(
      [&](auto, void* d_temp_storage, std::size_t& temp_storage_bytes) {
        return production::top_k(d_temp_storage, temp_storage_bytes, keys, output, in.num_rows, in.num_columns,
                                 parts::at_most(k, in.num_columns), order == top_k_order::sorted, stream);
      },
      stream);
}

// The single-phase form: call(storage..., arguments..., stream, order).
template <std::size_t num_arguments, class Call, class... Arguments>
cudaError_t top_k_in_one_phase(Call call, Arguments&... arguments) {
  constexpr std::size_t count = sizeof...(Arguments);
  if constexpr (std::is_same_v<argument_of<count - 1, Arguments...>, top_k_order>)
    return with_last_first<count - 1>(
        [&](top_k_order order, auto&... others) {
          return in_one_phase<num_arguments>(
              [&](auto required, auto&... all) {
                return call(all..., required.value == determinism::not_guaranteed ? order : top_k_order::sorted);
              },
              others...);
        },
        arguments...);
  else
    return in_one_phase<num_arguments>([&](auto, auto&... all) { return call(all..., top_k_order::sorted); },
                                       arguments...);
}

}  // namespace device

class DeviceTopK {
 public:
  static constexpr const char* name = "rungs::DeviceTopK";  // of its ranges (parts/range.cuh)

  // d_keys_out[0 … k) = the greatest keys.
  template <class KeyInputIteratorT, class KeyOutputIteratorT, class NumItemsT, class NumOutItemsT>
  static cudaError_t MaxKeys(void* d_temp_storage, std::size_t& temp_storage_bytes, KeyInputIteratorT d_keys_in,
                             KeyOutputIteratorT d_keys_out, NumItemsT num_items, NumOutItemsT k,
                             device::stream_argument stream = {}, top_k_order order = top_k_order::sorted) {
    return choose<true>(pair{d_temp_storage, temp_storage_bytes}, d_keys_in, d_keys_out, production::no_values{},
                        num_items, k, order, stream);
  }
  template <class KeyInputIteratorT, class KeyOutputIteratorT, class NumItemsT, class NumOutItemsT>
  static cudaError_t MaxKeys(workspace& workspace, KeyInputIteratorT d_keys_in, KeyOutputIteratorT d_keys_out,
                             NumItemsT num_items, NumOutItemsT k, cudaStream_t stream = nullptr,
                             top_k_order order = top_k_order::sorted) {
    return choose<true>(kept{workspace}, d_keys_in, d_keys_out, production::no_values{}, num_items, k, order, stream);
  }

  // d_keys_out[0 … k) = the least keys.
  template <class KeyInputIteratorT, class KeyOutputIteratorT, class NumItemsT, class NumOutItemsT>
  static cudaError_t MinKeys(void* d_temp_storage, std::size_t& temp_storage_bytes, KeyInputIteratorT d_keys_in,
                             KeyOutputIteratorT d_keys_out, NumItemsT num_items, NumOutItemsT k,
                             device::stream_argument stream = {}, top_k_order order = top_k_order::sorted) {
    return choose<false>(pair{d_temp_storage, temp_storage_bytes}, d_keys_in, d_keys_out, production::no_values{},
                         num_items, k, order, stream);
  }
  template <class KeyInputIteratorT, class KeyOutputIteratorT, class NumItemsT, class NumOutItemsT>
  static cudaError_t MinKeys(workspace& workspace, KeyInputIteratorT d_keys_in, KeyOutputIteratorT d_keys_out,
                             NumItemsT num_items, NumOutItemsT k, cudaStream_t stream = nullptr,
                             top_k_order order = top_k_order::sorted) {
    return choose<false>(kept{workspace}, d_keys_in, d_keys_out, production::no_values{}, num_items, k, order, stream);
  }

  // The same, and the values that lie beside the keys.
  template <class KeyInputIteratorT, class KeyOutputIteratorT, class ValueInputIteratorT, class ValueOutputIteratorT,
            class NumItemsT, class NumOutItemsT>
  static cudaError_t MaxPairs(void* d_temp_storage, std::size_t& temp_storage_bytes, KeyInputIteratorT d_keys_in,
                              KeyOutputIteratorT d_keys_out, ValueInputIteratorT d_values_in,
                              ValueOutputIteratorT d_values_out, NumItemsT num_items, NumOutItemsT k,
                              device::stream_argument stream = {}, top_k_order order = top_k_order::sorted) {
    return choose<true>(pair{d_temp_storage, temp_storage_bytes}, d_keys_in, d_keys_out,
                        values(d_values_in, d_values_out), num_items, k, order, stream);
  }
  template <class KeyInputIteratorT, class KeyOutputIteratorT, class ValueInputIteratorT, class ValueOutputIteratorT,
            class NumItemsT, class NumOutItemsT>
  static cudaError_t MaxPairs(workspace& workspace, KeyInputIteratorT d_keys_in, KeyOutputIteratorT d_keys_out,
                              ValueInputIteratorT d_values_in, ValueOutputIteratorT d_values_out, NumItemsT num_items,
                              NumOutItemsT k, cudaStream_t stream = nullptr, top_k_order order = top_k_order::sorted) {
    return choose<true>(kept{workspace}, d_keys_in, d_keys_out, values(d_values_in, d_values_out), num_items, k, order,
                        stream);
  }
  template <class KeyInputIteratorT, class KeyOutputIteratorT, class ValueInputIteratorT, class ValueOutputIteratorT,
            class NumItemsT, class NumOutItemsT>
  static cudaError_t MinPairs(void* d_temp_storage, std::size_t& temp_storage_bytes, KeyInputIteratorT d_keys_in,
                              KeyOutputIteratorT d_keys_out, ValueInputIteratorT d_values_in,
                              ValueOutputIteratorT d_values_out, NumItemsT num_items, NumOutItemsT k,
                              device::stream_argument stream = {}, top_k_order order = top_k_order::sorted) {
    return choose<false>(pair{d_temp_storage, temp_storage_bytes}, d_keys_in, d_keys_out,
                         values(d_values_in, d_values_out), num_items, k, order, stream);
  }
  template <class KeyInputIteratorT, class KeyOutputIteratorT, class ValueInputIteratorT, class ValueOutputIteratorT,
            class NumItemsT, class NumOutItemsT>
  static cudaError_t MinPairs(workspace& workspace, KeyInputIteratorT d_keys_in, KeyOutputIteratorT d_keys_out,
                              ValueInputIteratorT d_values_in, ValueOutputIteratorT d_values_out, NumItemsT num_items,
                              NumOutItemsT k, cudaStream_t stream = nullptr, top_k_order order = top_k_order::sorted) {
    return choose<false>(kept{workspace}, d_keys_in, d_keys_out, values(d_values_in, d_values_out), num_items, k, order,
                         stream);
  }

  // The single-phase form of each call: no storage, the same arguments, and behind them an environment or nothing, and
  // an order or nothing (parts/environment.cuh). Where bits have to repeat, the order is sorted.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t MaxKeys(Arguments&&... arguments) {
    return device::top_k_in_one_phase<4>([](auto&&... all) { return MaxKeys(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t MinKeys(Arguments&&... arguments) {
    return device::top_k_in_one_phase<4>([](auto&&... all) { return MinKeys(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t MaxPairs(Arguments&&... arguments) {
    return device::top_k_in_one_phase<6>([](auto&&... all) { return MaxPairs(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t MinPairs(Arguments&&... arguments) {
    return device::top_k_in_one_phase<6>([](auto&&... all) { return MinPairs(all...); }, arguments...);
  }

 private:
  using pair = device::storage_pair<device::top_k_calls, DeviceTopK>;
  using kept = device::kept_storage<device::top_k_calls, DeviceTopK>;

  template <class ValueInputIteratorT, class ValueOutputIteratorT>
  static auto values(ValueInputIteratorT d_values_in, ValueOutputIteratorT d_values_out) {
    return beside_keys(device::array_of(d_values_in), device::array_of(d_values_out));
  }
  template <class ValueOutputIteratorT>
  static auto values(columns_as_values, ValueOutputIteratorT d_values_out) {
    return columns(device::array_of(d_values_out));
  }
  template <class ValueInputIteratorT, class ValueOutputIteratorT>
  static production::values_beside_keys<ValueInputIteratorT, ValueOutputIteratorT> beside_keys(
      ValueInputIteratorT d_values_in, ValueOutputIteratorT d_values_out) {
    return {d_values_in, 0, d_values_out, 0};
  }
  template <class Index>
  static production::columns_of_keys<Index> columns(Index* d_values_out) {
    return {d_values_out, 0};
  }

  template <bool greatest, class Storage, class KeyInputIteratorT, class KeyOutputIteratorT, class Values,
            class NumItemsT, class NumOutItemsT>
  static cudaError_t choose(Storage storage, KeyInputIteratorT d_keys_in, KeyOutputIteratorT d_keys_out,
                            const Values& values, NumItemsT num_items, NumOutItemsT k, top_k_order order,
                            cudaStream_t stream) {
    const auto keys_in = device::array_of(d_keys_in);
    constexpr bool is_array = std::is_pointer_v<std::decay_t<decltype(keys_in)>>;
    static_assert(is_array, "d_keys_in of DeviceTopK has to be a pointer or a contiguous iterator");
    if constexpr (is_array) {
      using key = std::decay_t<decltype(*keys_in)>;
      return device::top_k<greatest>(storage, rows::matrix<const key>{keys_in, 1, static_cast<std::size_t>(num_items)},
                                     device::array_of(d_keys_out), 0, values, static_cast<std::size_t>(k), order,
                                     stream);
    }
    return cudaErrorInvalidValue;
  }
};

// keys_out and values_out have as many rows as keys_in, and at least min(k, columns of keys_in) columns; those behind
// stay as they are. values_in has the shape of keys_in. What does not fit is cudaErrorInvalidValue, and so are rows of
// outputs that overlap.
class DeviceBatchedTopK {
 public:
  static constexpr const char* name = "rungs::DeviceBatchedTopK";  // of its ranges (parts/range.cuh)

  // keys_out[row][0 … k) = the greatest keys of the row.
  template <class In, class Key>
  static cudaError_t MaxKeys(void* d_temp_storage, std::size_t& temp_storage_bytes, const rows::matrix<In>& keys_in,
                             const rows::matrix<Key>& keys_out, std::size_t k, device::stream_argument stream = {},
                             top_k_order order = top_k_order::sorted) {
    return keys<true, Key>(pair{d_temp_storage, temp_storage_bytes}, keys_in, keys_out, k, order, stream);
  }
  template <class In, class Key>
  static cudaError_t MaxKeys(workspace& workspace, const rows::matrix<In>& keys_in, const rows::matrix<Key>& keys_out,
                             std::size_t k, cudaStream_t stream = nullptr, top_k_order order = top_k_order::sorted) {
    return keys<true, Key>(kept{workspace}, keys_in, keys_out, k, order, stream);
  }

  // keys_out[row][0 … k) = the least keys of the row.
  template <class In, class Key>
  static cudaError_t MinKeys(void* d_temp_storage, std::size_t& temp_storage_bytes, const rows::matrix<In>& keys_in,
                             const rows::matrix<Key>& keys_out, std::size_t k, device::stream_argument stream = {},
                             top_k_order order = top_k_order::sorted) {
    return keys<false, Key>(pair{d_temp_storage, temp_storage_bytes}, keys_in, keys_out, k, order, stream);
  }
  template <class In, class Key>
  static cudaError_t MinKeys(workspace& workspace, const rows::matrix<In>& keys_in, const rows::matrix<Key>& keys_out,
                             std::size_t k, cudaStream_t stream = nullptr, top_k_order order = top_k_order::sorted) {
    return keys<false, Key>(kept{workspace}, keys_in, keys_out, k, order, stream);
  }

  // The same, and the values beside the keys: values_in is a matrix or columns_as_values.
  template <class In, class Key, class ValuesIn, class Value>
  static cudaError_t MaxPairs(void* d_temp_storage, std::size_t& temp_storage_bytes, const rows::matrix<In>& keys_in,
                              const rows::matrix<Key>& keys_out, const ValuesIn& values_in,
                              const rows::matrix<Value>& values_out, std::size_t k, device::stream_argument stream = {},
                              top_k_order order = top_k_order::sorted) {
    return pairs<true, Key>(pair{d_temp_storage, temp_storage_bytes}, keys_in, keys_out, values_in, values_out, k,
                            order, stream);
  }
  template <class In, class Key, class ValuesIn, class Value>
  static cudaError_t MaxPairs(workspace& workspace, const rows::matrix<In>& keys_in, const rows::matrix<Key>& keys_out,
                              const ValuesIn& values_in, const rows::matrix<Value>& values_out, std::size_t k,
                              cudaStream_t stream = nullptr, top_k_order order = top_k_order::sorted) {
    return pairs<true, Key>(kept{workspace}, keys_in, keys_out, values_in, values_out, k, order, stream);
  }
  template <class In, class Key, class ValuesIn, class Value>
  static cudaError_t MinPairs(void* d_temp_storage, std::size_t& temp_storage_bytes, const rows::matrix<In>& keys_in,
                              const rows::matrix<Key>& keys_out, const ValuesIn& values_in,
                              const rows::matrix<Value>& values_out, std::size_t k, device::stream_argument stream = {},
                              top_k_order order = top_k_order::sorted) {
    return pairs<false, Key>(pair{d_temp_storage, temp_storage_bytes}, keys_in, keys_out, values_in, values_out, k,
                             order, stream);
  }
  template <class In, class Key, class ValuesIn, class Value>
  static cudaError_t MinPairs(workspace& workspace, const rows::matrix<In>& keys_in, const rows::matrix<Key>& keys_out,
                              const ValuesIn& values_in, const rows::matrix<Value>& values_out, std::size_t k,
                              cudaStream_t stream = nullptr, top_k_order order = top_k_order::sorted) {
    return pairs<false, Key>(kept{workspace}, keys_in, keys_out, values_in, values_out, k, order, stream);
  }

  // The single-phase form of each call: no storage, the same arguments, and behind them an environment or nothing, and
  // an order or nothing (parts/environment.cuh). Where bits have to repeat, the order is sorted.
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t MaxKeys(Arguments&&... arguments) {
    return device::top_k_in_one_phase<3>([](auto&&... all) { return MaxKeys(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t MinKeys(Arguments&&... arguments) {
    return device::top_k_in_one_phase<3>([](auto&&... all) { return MinKeys(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t MaxPairs(Arguments&&... arguments) {
    return device::top_k_in_one_phase<5>([](auto&&... all) { return MaxPairs(all...); }, arguments...);
  }
  template <class... Arguments, class = device::if_one_phase<Arguments...>>
  [[nodiscard]] static cudaError_t MinPairs(Arguments&&... arguments) {
    return device::top_k_in_one_phase<5>([](auto&&... all) { return MinPairs(all...); }, arguments...);
  }

 private:
  using pair = device::storage_pair<device::top_k_calls, DeviceBatchedTopK>;
  using kept = device::kept_storage<device::top_k_calls, DeviceBatchedTopK>;

  // Whether a matrix has room for the first `columns` of as many rows, and none of its rows lies in another.
  template <class T, class Of>
  static bool has_room(const rows::matrix<T>& out, const rows::matrix<Of>& of, std::size_t columns) {
    return out.num_rows == of.num_rows && out.num_columns >= columns && (out.num_rows <= 1 || out.stride >= columns);
  }

  template <bool greatest, class Key, class Storage>
  static cudaError_t keys(Storage storage, const rows::matrix<const Key>& keys_in, const rows::matrix<Key>& keys_out,
                          std::size_t k, top_k_order order, cudaStream_t stream) {
    return choose<greatest>(storage, keys_in, keys_out, production::no_values{}, k, order, stream);
  }

  template <bool greatest, class Key, class Storage, class In, class Value>
  static cudaError_t pairs(Storage storage, const rows::matrix<const Key>& keys_in, const rows::matrix<Key>& keys_out,
                           const rows::matrix<In>& values_in, const rows::matrix<Value>& values_out, std::size_t k,
                           top_k_order order, cudaStream_t stream) {
    if (!rows::same_shape(values_in, keys_in) || !has_room(values_out, keys_in, parts::at_most(k, keys_in.num_columns)))
      return cudaErrorInvalidValue;
    const production::values_beside_keys<const In*, Value*> values{values_in.data, values_in.stride, values_out.data,
                                                                   values_out.stride};
    return choose<greatest>(storage, keys_in, keys_out, values, k, order, stream);
  }
  template <bool greatest, class Key, class Storage, class Value>
  static cudaError_t pairs(Storage storage, const rows::matrix<const Key>& keys_in, const rows::matrix<Key>& keys_out,
                           columns_as_values, const rows::matrix<Value>& values_out, std::size_t k, top_k_order order,
                           cudaStream_t stream) {
    if (!has_room(values_out, keys_in, parts::at_most(k, keys_in.num_columns))) return cudaErrorInvalidValue;
    const production::columns_of_keys<Value> values{values_out.data, values_out.stride};
    return choose<greatest>(storage, keys_in, keys_out, values, k, order, stream);
  }

  template <bool greatest, class Storage, class Key, class Values>
  static cudaError_t choose(Storage storage, const rows::matrix<const Key>& keys_in, const rows::matrix<Key>& keys_out,
                            const Values& values, std::size_t k, top_k_order order, cudaStream_t stream) {
    if (!has_room(keys_out, keys_in, parts::at_most(k, keys_in.num_columns))) return cudaErrorInvalidValue;
    return device::top_k<greatest>(storage, keys_in, keys_out.data, keys_out.stride, values, k, order, stream);
  }
};

}  // namespace rungs::RUNGS_ABI
