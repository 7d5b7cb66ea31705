#include "top_k_oracle.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace rungs::bench {

std::vector<std::uint32_t> choose_greatest(const workload& from, std::size_t num_columns, std::size_t k) {
  const std::size_t num_rows = num_columns == 0 ? 0 : from.num_items / num_columns, num_results = num_rows * k;
  std::vector<std::uint32_t> chosen(2 * num_results);
  with_type(from.type, [&]<class T>(T) {
    if constexpr (is_number<T> && sizeof(T) == 4) {
      struct placed {
        T item;
        std::uint32_t column;
      };
      const auto comes_first = [](const placed& a, const placed& b) {
        return b.item < a.item || (a.item == b.item && a.column < b.column);
      };
      std::vector<placed> best;  // up to k a heap, whose front is the last of them
      for (std::size_t row = 0; row < num_rows; ++row) {
        best.clear();
        for (std::size_t column = 0; column < num_columns; ++column) {
          const placed each{item<T>(from, row * num_columns + column), static_cast<std::uint32_t>(column)};
          if (best.size() == k) {
            if (!comes_first(each, best.front())) continue;
            std::pop_heap(best.begin(), best.end(), comes_first);
            best.pop_back();
          }
          best.push_back(each);
          std::push_heap(best.begin(), best.end(), comes_first);
        }
        std::sort_heap(best.begin(), best.end(), comes_first);
        for (std::size_t i = 0; i < best.size(); ++i) {
          chosen[row * k + i] = best[i].column;
          chosen[num_results + row * k + i] = std::bit_cast<std::uint32_t>(best[i].item);
        }
      }
    }
  });
  return chosen;
}

judgement judge_top_k(const std::vector<std::uint32_t>& expected, const std::vector<std::uint32_t>& got,
                      std::size_t k) {
  const auto differs = std::ranges::mismatch(expected, got);
  if (differs.in1 == expected.end() && differs.in2 == got.end()) return {.right = true};
  const auto at = static_cast<std::size_t>(differs.in1 - expected.begin()), num_results = expected.size() / 2;
  return {.why = "row " + std::to_string(at % num_results / k) + ": the " + (at < num_results ? "column" : "item") +
                 " in place " + std::to_string(at % num_results % k) + " is wrong"};
}

}  // namespace rungs::bench
