// DeviceReduce::ReduceByKey: sums, maxima, sums that saturate, and an operator that does not commute.
#include "fuzz/by_key_of.cuh"
#include "rungs/device/device_reduce.cuh"

namespace rungs::fuzz {
namespace {

template <class Key, class Value, class Op, class Meaning>
class reduced final : public by_key_kind<runs_of<Key>, values_of<Value, Meaning::taken>, Key, Value, true> {
 public:
  using base = by_key_kind<runs_of<Key>, values_of<Value, Meaning::taken>, Key, Value, true>;
  using base::base;

  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    const Key* const keys = base::first_of(one, at);
    const Value* const values = base::second_of(one, at);
    return with_storage(by, [&](auto&... storage) {
      return DeviceReduce::ReduceByKey(storage..., keys, base::first_out_of(one, at), values,
                                       base::second_out_of(one, at), base::count_of(one, at), Op{}, one.n, stream);
    });
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const override {
    const std::vector<Key> keys = base::first_items(one, shot);
    const std::vector<Value> values = base::second_items(one, shot);
    std::vector<Key> firsts;
    std::vector<Value> aggregates;
    for_each_run(keys, [&](std::size_t begin, std::size_t length) {
      auto aggregate = widened(values[begin]);
      for (std::size_t i = begin + 1; i < begin + length; ++i) aggregate = Meaning{}(aggregate, widened(values[i]));
      firsts.push_back(keys[begin]);
      aggregates.push_back(narrowed<Value>(aggregate));
    });
    return base::region(one, filler, firsts, aggregates, firsts.size());
  }
};

}  // namespace

void add_reductions_by_key(kind_table& table) {
  add_by_key<reduced<i32, i32, plus, sums>>(table, "reduce_by_key.sum.i32.i32");
  add_by_key<reduced<i64, float, plus, sums>>(table, "reduce_by_key.sum.i64.f32");
  add_by_key<reduced<u8, double, plus, sums>>(table, "reduce_by_key.sum.u8.f64");
  add_by_key<reduced<i32, u64, maximum, maxima>>(table, "reduce_by_key.max.i32.u64");
  add_by_key<reduced<u16, affine, compose, composed>>(table, "reduce_by_key.compose.u16.affine");
  add_by_key<reduced<i32, u8, saturating_plus, saturated_sums<u8>>>(table, "reduce_by_key.saturating.i32.u8");
  add_by_key<reduced<u16, i128, plus, sums>>(table, "reduce_by_key.sum.u16.i128");
}

}  // namespace rungs::fuzz
