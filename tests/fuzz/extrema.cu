// ArgMin and ArgMax, with two outputs and with a pair.
#include "fuzz/kind_of.cuh"

namespace rungs::fuzz {
namespace {

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
      if (i > 0 && !comes_before(widened(item), widened(value))) continue;
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

 private:
  template <class Wide>
  static bool comes_before(const Wide& a, const Wide& b) {
    if (b != b) return false;
    if (a != a) return true;
    return least ? a < b : b < a;
  }
};

template <class T, bool least, bool is_pair>
void add_extremum(kind_table& table, const char* name) {
  using extremum = extremum<T, least, is_pair>;
  traits about = traits_of<from_memory<T>, T, extremes<least>>(name, family::reduction);
  about.out_bytes = extremum::bytes_of_both;  // between two outputs of the same call
  table.push_back(std::make_unique<extremum>(about));
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
}

}  // namespace rungs::fuzz
