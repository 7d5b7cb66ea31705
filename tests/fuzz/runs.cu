// The first items of runs, and their lengths. Keys that are floats may be NaN, which equals nothing, and either zero.
#include "fuzz/by_key_of.cuh"
#include "rungs/device/device_run_length_encode.cuh"
#include "rungs/device/device_select.cuh"

namespace rungs::fuzz {
namespace {

template <class Item>
class unique final : public by_key_kind<runs_of<Item>, no_input, Item, void, true> {
 public:
  using base = by_key_kind<runs_of<Item>, no_input, Item, void, true>;
  using base::base;

  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    const Item* const in = base::first_of(one, at);
    return with_storage(by, [&](auto&... storage) {
      return DeviceSelect::Unique(storage..., in, base::first_out_of(one, at), base::count_of(one, at),
                                  static_cast<long long>(one.n), stream);
    });
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const override {
    const std::vector<Item> items = base::first_items(one, shot);
    std::vector<Item> firsts;
    for_each_run(items, [&](std::size_t begin, std::size_t) { firsts.push_back(items[begin]); });
    return base::region(one, filler, firsts, {}, firsts.size());
  }
};

template <class Key, class Value>
class unique_by_key final : public by_key_kind<runs_of<Key>, values_of<Value>, Key, Value, true> {
 public:
  using base = by_key_kind<runs_of<Key>, values_of<Value>, Key, Value, true>;
  using base::base;

  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    const Key* const keys = base::first_of(one, at);
    const Value* const values = base::second_of(one, at);
    return with_storage(by, [&](auto&... storage) {
      return DeviceSelect::UniqueByKey(storage..., keys, values, base::first_out_of(one, at),
                                       base::second_out_of(one, at), base::count_of(one, at),
                                       static_cast<long long>(one.n), stream);
    });
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const override {
    const std::vector<Key> keys = base::first_items(one, shot);
    const std::vector<Value> values = base::second_items(one, shot);
    std::vector<Key> firsts;
    std::vector<Value> beside;
    for_each_run(keys, [&](std::size_t begin, std::size_t) {
      firsts.push_back(keys[begin]);
      beside.push_back(values[begin]);
    });
    return base::region(one, filler, firsts, beside, firsts.size());
  }
};

template <class Item, class Length>
class encoded final : public by_key_kind<runs_of<Item>, no_input, Item, Length, true> {
 public:
  using base = by_key_kind<runs_of<Item>, no_input, Item, Length, true>;
  using base::base;

  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    const Item* const in = base::first_of(one, at);
    return with_storage(by, [&](auto&... storage) {
      return DeviceRunLengthEncode::Encode(storage..., in, base::first_out_of(one, at), base::second_out_of(one, at),
                                           base::count_of(one, at), one.n, stream);
    });
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const override {
    const std::vector<Item> items = base::first_items(one, shot);
    std::vector<Item> firsts;
    std::vector<Length> lengths;
    for_each_run(items, [&](std::size_t begin, std::size_t length) {
      firsts.push_back(items[begin]);
      lengths.push_back(static_cast<Length>(length));
    });
    return base::region(one, filler, firsts, lengths, firsts.size());
  }
};

template <class Item, class Offset, class Length>
class longer final : public by_key_kind<runs_of<Item>, no_input, Offset, Length, true> {
 public:
  using base = by_key_kind<runs_of<Item>, no_input, Offset, Length, true>;
  using base::base;

  cudaError_t call(const fuzz_case& one, const places& at, const storage& by, cudaStream_t stream) const override {
    const Item* const in = base::first_of(one, at);
    return with_storage(by, [&](auto&... storage) {
      return DeviceRunLengthEncode::NonTrivialRuns(storage..., in, base::first_out_of(one, at),
                                                   base::second_out_of(one, at), base::count_of(one, at), one.n,
                                                   stream);
    });
  }
  std::vector<unsigned char> expected(const fuzz_case& one, u64 shot, unsigned char filler) const override {
    std::vector<Offset> offsets;
    std::vector<Length> lengths;
    for_each_run(base::first_items(one, shot), [&](std::size_t begin, std::size_t length) {
      if (length == 1) return;
      offsets.push_back(static_cast<Offset>(begin));
      lengths.push_back(static_cast<Length>(length));
    });
    return base::region(one, filler, offsets, lengths, offsets.size());
  }
};

}  // namespace

void add_runs(kind_table& table) {
  add_by_key<unique<i32>>(table, "select.unique.i32");
  add_by_key<unique<u8>>(table, "select.unique.u8");
  add_by_key<unique<float>>(table, "select.unique.f32", false, true);
  add_by_key<unique_by_key<i32, float>>(table, "select.unique_by_key.i32.f32");
  add_by_key<unique_by_key<i64, u8>>(table, "select.unique_by_key.i64.u8");
  add_by_key<unique_by_key<i32, pack<u64, 2>>>(table, "select.unique_by_key.i32.2xu64");
  add_by_key<unique_by_key<u8, pack<u32, 3>>>(table, "select.unique_by_key.u8.3xu32");
  add_by_key<unique_by_key<i64, pack<u64, 4>>>(table, "select.unique_by_key.i64.4xu64");
  add_by_key<encoded<i32, i32>>(table, "encode.i32.i32");
  add_by_key<encoded<u8, i64>>(table, "encode.u8.i64");
  add_by_key<encoded<double, i32>>(table, "encode.f64.i32", false, true);
  add_by_key<longer<i32, i32, i32>>(table, "non_trivial_runs.i32.i32.i32");
  add_by_key<longer<i64, i64, u32>>(table, "non_trivial_runs.i64.i64.u32");
}

}  // namespace rungs::fuzz
