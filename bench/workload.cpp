#include "workload.hpp"

#include <algorithm>

namespace rungs::bench {

void generate(const workload& from, void* items) {
  with_type(from.type, [&]<class T>(T) {
    for (std::size_t i = 0; i < from.num_items; ++i) static_cast<T*>(items)[i] = item<T>(from, i);
  });
}

summary_of_items summarise_items(catalog::scalar type, const void* items, std::size_t num_items) {
  summary_of_items about;
  with_type(type, [&]<class T>(T) {
    if constexpr (is_number<T>)
      for (std::size_t i = 0; i < num_items; ++i) include(about, static_cast<const T*>(items)[i]);
  });
  return about;
}

summary_of_items summarise_products(catalog::scalar type, const void* x, const void* y, std::size_t num_items) {
  summary_of_items about;
  with_type(type, [&]<class T>(T) {
    if constexpr (is_number<T>)
      for (std::size_t i = 0; i < num_items; ++i)
        include_product(about, static_cast<const T*>(x)[i], static_cast<const T*>(y)[i]);
  });
  return about;
}

std::uint64_t first_extreme(catalog::scalar type, const void* items, std::size_t num_items,
                            const summary_of_items& about, bool least) {
  std::uint64_t first = num_items;
  with_type(type, [&]<class T>(T) {
    if constexpr (is_number<T>) {
      const auto* const all = static_cast<const T*>(items);
      first = static_cast<std::uint64_t>(
          std::find_if(all, all + num_items, [&](T item) { return is_extreme(about, least, item); }) - all);
    }
  });
  return first;
}

}  // namespace rungs::bench
