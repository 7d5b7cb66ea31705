// ArgMin and ArgMax, with two outputs and with a pair; and both in one read.
#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {
namespace {

template <bool least, class Wide>
bool comes_before(const Wide& a, const Wide& b) {
  if (b != b) return false;
  if (a != a) return true;
  return least ? a < b : b < a;
}

template <class T, bool least, bool is_pair>
class extremum final : public kind_from<from_memory<T>, extremes<least>> {
 public:
  using kind_from<from_memory<T>, extremes<least>>::kind_from;
  using pair = KeyValuePair<int, T>;
  static constexpr std::size_t index_at = is_pair ? 0 : 8, value_at = is_pair ? 4 : 0;
  static constexpr std::size_t bytes_of_both = is_pair ? 4 + sizeof(T) : 16;
  static_assert(!is_pair || sizeof(pair) == bytes_of_both);

  std::size_t out_bytes(const fuzz_case&) const override { return bytes_of_both; }
  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    const T* const d_in = static_cast<const T*>(at.d_in);
    return with_storage(by, [&](auto&... storage) {
      if constexpr (is_pair) {
        pair* const d_out = static_cast<pair*>(at.d_out);
        if constexpr (least)
          return DeviceReduce::ArgMin(storage..., d_in, d_out, static_cast<int>(one.n), stream);
        else
          return DeviceReduce::ArgMax(storage..., d_in, d_out, static_cast<int>(one.n), stream);
      } else {
        T* const d_value = static_cast<T*>(at.d_out);
        long long* const d_index = reinterpret_cast<long long*>(static_cast<char*>(at.d_out) + index_at);
        if constexpr (least)
          return DeviceReduce::ArgMin(storage..., d_in, d_value, d_index, static_cast<long long>(one.n), stream);
        else
          return DeviceReduce::ArgMax(storage..., d_in, d_value, d_index, static_cast<long long>(one.n), stream);
      }
    });
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const override {
    const recipe recipe = this->recipe_for(one, shot);
    T value = narrowed<T>(extremes<least>::template of_nothing<T>());
    long long index = 1;  // of no items
    for (u64 i = 0; i < one.n; ++i) {
      const T item = make<T>(recipe, i);
      if (i > 0 && !comes_before<least>(widened(item), widened(value))) continue;
      value = item;
      index = static_cast<long long>(i);
    }
    std::vector<unsigned char> bytes(bytes_of_both, filler);
    const int key = static_cast<int>(index);
    std::memcpy(bytes.data() + value_at, &value, sizeof(T));
    if (is_pair)
      std::memcpy(bytes.data() + index_at, &key, sizeof key);
    else
      std::memcpy(bytes.data() + index_at, &index, sizeof index);
    return bytes;
  }
  void settle(unsigned char* outputs, std::size_t num_bytes) const override {
    if (num_bytes == bytes_of_both) make_nans_alike<T>(outputs + value_at, sizeof(T));
  }
};

// Two items and two indices, each in a word of eight bytes.
template <class T, bool is_last>
class both_extrema final : public kind_from<from_memory<T>, extremes<true>> {
 public:
  using kind_from<from_memory<T>, extremes<true>>::kind_from;
  static constexpr std::size_t bytes_of_all = 32, index_at = 8, greatest_at = 16;

  std::size_t out_bytes(const fuzz_case&) const override { return bytes_of_all; }
  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    const T* const d_in = static_cast<const T*>(at.d_in);
    char* const d_out = static_cast<char*>(at.d_out);
    const auto item = [&](std::size_t where) { return reinterpret_cast<T*>(d_out + where); };
    const auto index = [&](std::size_t where) { return reinterpret_cast<long long*>(d_out + where + index_at); };
    const auto n = static_cast<long long>(one.n);
    return with_storage(by, [&](auto&... storage) {
      if constexpr (is_last)
        return DeviceReduce::ArgMinLastMax(storage..., d_in, item(0), index(0), item(greatest_at), index(greatest_at),
                                           n, stream);
      else
        return DeviceReduce::ArgMinMax(storage..., d_in, item(0), index(0), item(greatest_at), index(greatest_at), n,
                                       stream);
    });
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const override {
    const recipe recipe = this->recipe_for(one, shot);
    T least = narrowed<T>(extremes<true>::template of_nothing<T>());
    T greatest = narrowed<T>(extremes<false>::template of_nothing<T>());
    long long least_index = 1, greatest_index = 1;  // of no items
    for (u64 i = 0; i < one.n; ++i) {
      const T item = make<T>(recipe, i);
      if (i == 0 || comes_before<true>(widened(item), widened(least))) {
        least = item;
        least_index = static_cast<long long>(i);
      }
      const bool is_later = is_last && !comes_before<false>(widened(greatest), widened(item));
      if (i == 0 || is_later || comes_before<false>(widened(item), widened(greatest))) {
        greatest = item;
        greatest_index = static_cast<long long>(i);
      }
    }
    std::vector<unsigned char> bytes(bytes_of_all, filler);
    std::memcpy(bytes.data(), &least, sizeof(T));
    std::memcpy(bytes.data() + index_at, &least_index, sizeof least_index);
    std::memcpy(bytes.data() + greatest_at, &greatest, sizeof(T));
    std::memcpy(bytes.data() + greatest_at + index_at, &greatest_index, sizeof greatest_index);
    return bytes;
  }
  void settle(unsigned char* outputs, std::size_t num_bytes) const override {
    if (num_bytes != bytes_of_all) return;
    make_nans_alike<T>(outputs, sizeof(T));
    make_nans_alike<T>(outputs + greatest_at, sizeof(T));
  }
};

template <class T, bool least, bool is_pair>
void add_extremum(kind_table& table, const char* name) {
  using extremum = extremum<T, least, is_pair>;
  traits about = traits_of<from_memory<T>, T, extremes<least>>(name, family::reduction);
  about.out_bytes = extremum::bytes_of_both;  // between two outputs of the same call
  table.push_back(std::make_unique<extremum>(about));
}

template <class T, bool is_last>
void add_both(kind_table& table, const char* name) {
  traits about = traits_of<from_memory<T>, T, extremes<true>>(name, family::reduction);
  about.out_bytes = both_extrema<T, is_last>::bytes_of_all;
  table.push_back(std::make_unique<both_extrema<T, is_last>>(about));
}

}  // namespace

void add_extrema(kind_table& table) {
  add_extremum<i32, true, false>(table, "reduce.arg_min.i32");
  add_extremum<float, false, false>(table, "reduce.arg_max.f32");
  add_extremum<i64, false, false>(table, "reduce.arg_max.i64");
  add_extremum<double, true, false>(table, "reduce.arg_min.f64");
  add_extremum<u8, true, false>(table, "reduce.arg_min.u8");
  add_extremum<f16, false, false>(table, "reduce.arg_max.f16");
  add_extremum<i32, false, true>(table, "reduce.arg_max_pair.i32");
  add_extremum<float, true, true>(table, "reduce.arg_min_pair.f32");
  add_both<float, false>(table, "reduce.arg_min_max.f32");
  add_both<double, true>(table, "reduce.arg_min_last_max.f64");
  add_both<u8, true>(table, "reduce.arg_min_last_max.u8");
  add_both<i64, false>(table, "reduce.arg_min_max.i64");
  add_both<f16, true>(table, "reduce.arg_min_last_max.f16");
}

}  // namespace rungs::fuzz
