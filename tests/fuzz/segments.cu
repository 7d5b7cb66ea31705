// DeviceSegmentedReduce of segments of one size, mostly of few items.
#include "fuzz/kind_of.cuh"
#include "rungs/device/device_segmented_reduce.cuh"

namespace rungs::fuzz {
namespace {

// --- the calls, as those of kind_of.cuh

auto segment_sums() {
  return call_for<outputs::one>([](const fuzz_case& one, const auto&, cudaStream_t stream, auto&... first) {
    return DeviceSegmentedReduce::Sum(first..., one.rows, one.n, stream);
  });
}
auto segment_maxima() {
  return call_for<outputs::one>([](const fuzz_case& one, const auto&, cudaStream_t stream, auto&... first) {
    return DeviceSegmentedReduce::Max(first..., one.rows, one.n, stream);
  });
}
template <class Op>
auto segment_reductions(Op op) {
  return call_for<outputs::one>([op](const fuzz_case& one, const auto& init, cudaStream_t stream, auto&... first) {
    return DeviceSegmentedReduce::Reduce(first..., one.rows, one.n, op, init, stream);
  });
}

// `rows` segments of `n` items each. Init: nothing, where the call has no initial value.
template <class Item, class Output, class Init, class Call, class Meaning>
class segments final : public kind_from<from_memory<Item>, Meaning> {
 public:
  using base = kind_from<from_memory<Item>, Meaning>;
  segments(const traits& about, Call call, Meaning meaning) : base(about), call_(call), meaning_(meaning) {}

  std::size_t in_items(const fuzz_case& one) const override { return one.n * one.rows; }
  std::size_t out_bytes(const fuzz_case& one) const override { return one.rows * sizeof(Output); }
  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    const Item* const d_in = static_cast<const Item*>(at.d_in);
    Output* const d_out = static_cast<Output*>(at.d_out);
    return with_storage(
        by, [&](auto&... storage) { return call_.enqueue(one, init(one), stream, storage..., d_in, d_out); });
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char) const override {
    const recipe recipe = this->recipe_for(one, shot);
    std::vector<Output> outputs;
    for (u64 segment = 0; segment < one.rows; ++segment) {
      auto total = of_nothing(one);
      for (u64 i = segment * one.n; i < (segment + 1) * one.n; ++i)
        total = meaning_(total, widened(make<Item>(recipe, i)));
      outputs.push_back(narrowed<Output>(total));
    }
    std::vector<unsigned char> bytes(out_bytes(one));
    std::memcpy(bytes.data(), outputs.data(), bytes.size());
    return bytes;
  }
  void settle(unsigned char* outputs, std::size_t num_bytes) const override {
    make_nans_alike<Output>(outputs, num_bytes);
  }

 private:
  static constexpr bool has_init = !std::is_same_v<Init, nothing>;
  static Init init(const fuzz_case& one) {
    if constexpr (has_init)
      return init_of<Init>(one, 0, Meaning::taken);
    else
      return {};
  }
  static wide<Item> of_nothing(const fuzz_case& one) {
    if constexpr (has_init)
      return static_cast<wide<Item>>(widened(init(one)));
    else
      return Meaning::template of_nothing<Item>();
  }

  Call call_;
  Meaning meaning_;
};

template <class Item, class Output = Item, class Init = nothing, class Call, class Meaning>
void add_segments_of(kind_table& table, const std::string& name, Call call, Meaning meaning) {
  traits about = traits_of<from_memory<Item>, Output, Meaning>("segments." + name, family::segments);
  about.has_rows = true;
  table.push_back(std::make_unique<segments<Item, Output, Init, Call, Meaning>>(about, call, meaning));
}

}  // namespace

// Of numbers of each size: each takes seven seconds to compile.
void add_segments(kind_table& table) {
  add_segments_of<i8>(table, "sum.i8", segment_sums(), sums{});
  add_segments_of<f16>(table, "sum.f16", segment_sums(), sums{});
  add_segments_of<i32>(table, "sum.i32", segment_sums(), sums{});
  add_segments_of<float>(table, "sum.f32", segment_sums(), sums{});
  add_segments_of<i128>(table, "sum.i128", segment_sums(), sums{});
  add_segments_of<double>(table, "max.f64", segment_maxima(), maxima{});
  add_segments_of<u8, u8, u8>(table, "saturating.u8", segment_reductions(saturating_plus{}), saturated_sums<u8>{});
}

}  // namespace rungs::fuzz
