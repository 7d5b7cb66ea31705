// What DeviceBatchedTopK makes of a matrix, against a sort on the host.
#pragma once

#include <rungs/device/device_top_k.cuh>

#include "top_k/support.hpp"

namespace rungs::tests {

struct shape {
  std::size_t num_rows, num_columns, k;
  std::size_t gap = 0, offset = 0;  // items behind each row, and before the first one
};
inline std::string name_of(const shape& of) {
  return std::to_string(of.num_rows) + " x " + std::to_string(of.num_columns) + ", k " + std::to_string(of.k) +
         ", gap " + std::to_string(of.gap) + ", offset " + std::to_string(of.offset);
}

template <class T>
struct TopK : OnAGpu {
  static constexpr std::size_t room_behind = 3;  // columns of outputs that stay as they are

  // What the calls that give keys and columns make of a matrix.
  static void expect_right(const shape& of, keys_are kind, bool greatest) {
    SCOPED_TRACE(name_of(of) + ", " + name_of(kind) + (greatest ? ", greatest" : ", least"));
    const std::size_t stride = of.num_columns + of.gap, k = std::min(of.k, of.num_columns);
    const std::vector<T> items = make_keys<T>(kind, (of.num_rows - 1) * stride + of.num_columns, 1);
    const guarded<T> in(items, of.offset);
    const guarded<T> keys(of.num_rows * (k + room_behind), 1);
    const guarded<int> columns(of.num_rows * (k + room_behind), 1);
    const auto untouched = keys.read();
    const auto call = [&](top_k_order order) {
      const rows::matrix from{static_cast<const T*>(in.data()), of.num_rows, of.num_columns, stride};
      const rows::matrix to{keys.data(), of.num_rows, k + room_behind};
      const rows::matrix places{columns.data(), of.num_rows, k + room_behind};
      return in_two_phases([&](void* d_temp_storage, std::size_t& bytes) {
        return greatest ? DeviceBatchedTopK::MaxPairs(d_temp_storage, bytes, from, to, columns_as_values{}, places,
                                                      of.k, nullptr, order)
                        : DeviceBatchedTopK::MinPairs(d_temp_storage, bytes, from, to, columns_as_values{}, places,
                                                      of.k, nullptr, order);
      });
    };
    std::vector<std::vector<std::size_t>> expected;
    for (std::size_t row = 0; row < of.num_rows; ++row)
      expected.push_back(expected_indices(items.data() + row * stride, of.num_columns, k, greatest));
    for (const top_k_order order : {top_k_order::sorted, top_k_order::unsorted}) {
      ASSERT_EQ(call(order), cudaSuccess);
      const std::vector<T> found_keys = keys.read();
      const std::vector<int> found_columns = columns.read();
      std::size_t wrong = 0;
      for (std::size_t row = 0; row < of.num_rows; ++row) {
        const std::size_t first = row * (k + room_behind);
        std::vector<std::size_t> found(found_columns.begin() + first, found_columns.begin() + first + k);
        for (std::size_t rank = 0; rank < k; ++rank)
          wrong += found[rank] >= of.num_columns ||
                   std::memcmp(&found_keys[first + rank], &items[row * stride + found[rank]], sizeof(T)) != 0;
        if (order == top_k_order::unsorted) {
          std::sort(found.begin(), found.end());
          std::sort(expected[row].begin(), expected[row].end());
        }
        wrong += found != expected[row];
        wrong += std::memcmp(&found_keys[first + k], untouched.data(), room_behind * sizeof(T)) != 0;
      }
      ASSERT_EQ(wrong, 0u) << (order == top_k_order::sorted ? "sorted" : "unsorted");
    }
    const std::vector<T> after = in.read();
    EXPECT_EQ(std::memcmp(after.data(), items.data(), items.size() * sizeof(T)), 0) << "the input has changed";
  }
};

constexpr keys_are all_kinds[] = {keys_are::random,     keys_are::equal,   keys_are::few, keys_are::ascending,
                                  keys_are::descending, keys_are::special, keys_are::bits};

}  // namespace rungs::tests
