// DeviceScan's calls by key: sums, sums that saturate, and an operator that does not commute. Outputs may replace the
// values.
#include "fuzz/by_key_of.cuh"
#include "rungs/device/device_scan.cuh"

namespace rungs::fuzz {
namespace {

template <class Key, class Value, class Op, class Meaning, bool is_inclusive>
class scanned final : public by_key_kind<values_of<Value, Meaning::taken>, runs_of<Key>, Value, void, false> {
 public:
  using base = by_key_kind<values_of<Value, Meaning::taken>, runs_of<Key>, Value, void, false>;
  using base::base;
  static constexpr bool is_sum = std::is_same_v<Op, plus>;

  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    const Key* const keys = base::second_of(one, at);
    const Value* const values = base::first_of(one, at);
    Value* const out = base::first_out_of(one, at);
    const rungs::device::equal_items equal;
    return with_storage(by, [&](auto&... storage) {
      if constexpr (is_sum && is_inclusive)
        return DeviceScan::InclusiveSumByKey(storage..., keys, values, out, one.n, equal, stream);
      else if constexpr (is_sum)
        return DeviceScan::ExclusiveSumByKey(storage..., keys, values, out, one.n, equal, stream);
      else if constexpr (is_inclusive)
        return DeviceScan::InclusiveScanByKey(storage..., keys, values, out, Op{}, one.n, equal, stream);
      else
        return DeviceScan::ExclusiveScanByKey(storage..., keys, values, out, Op{}, init_of(one), one.n, equal, stream);
    });
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const override {
    const std::vector<Value> values = base::first_items(one, shot);
    std::vector<Value> outputs;
    for_each_run(base::second_items(one, shot), [&](std::size_t begin, std::size_t length) {
      auto total = widened(is_inclusive ? values[begin] : init_of(one));
      for (std::size_t i = begin; i < begin + length; ++i) {
        if (!is_inclusive) outputs.push_back(narrowed<Value>(total));
        if (!is_inclusive || i > begin) total = Meaning{}(total, widened(values[i]));
        if (is_inclusive) outputs.push_back(narrowed<Value>(total));
      }
    });
    return base::region(one, filler, outputs, {}, 0);
  }

 private:
  static Value init_of(const fuzz_case& one) {
    if constexpr (is_sum)
      return Value{};
    else
      return make<Value>(recipe{mixed(one.seed, 302), random_values, 1000, 0, Meaning::taken}, 7);
  }
};

}  // namespace

void add_scans_by_key(kind_table& table) {
  add_by_key<scanned<i32, i32, plus, sums, true>>(table, "scan_by_key.inclusive_sum.i32.i32", true);
  add_by_key<scanned<i64, float, plus, sums, false>>(table, "scan_by_key.exclusive_sum.i64.f32", true);
  add_by_key<scanned<u8, double, plus, sums, true>>(table, "scan_by_key.inclusive_sum.u8.f64", true);
  add_by_key<scanned<i32, affine, compose, composed, true>>(table, "scan_by_key.inclusive.i32.affine", true);
  add_by_key<scanned<u16, affine, compose, composed, false>>(table, "scan_by_key.exclusive.u16.affine", true);
  add_by_key<scanned<i32, i16, saturating_plus, saturated_sums<i16>, true>>(
      table, "scan_by_key.inclusive_saturating.i32.i16", true);
  add_by_key<scanned<i32, u128, plus, sums, false>>(table, "scan_by_key.exclusive_sum.i32.u128", true);
}

}  // namespace rungs::fuzz
