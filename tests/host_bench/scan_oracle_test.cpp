// The check of whole outputs: right ones pass, and planted errors are found where they are. The device compiles the
// same functions; instrument_test.cpp compares the two.
#include "scan_oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "right_scans.hpp"

namespace rungs::bench {
namespace {

using catalog::op;
using catalog::operation;
using catalog::record;
using catalog::scalar;
using fakes::a_scan, fakes::for_each_scan, fakes::name_of;

// A scan, its right output as bytes, and the verdict on any output.
struct examined {
  record about;
  workload from;
  int init_offset;
  std::vector<unsigned char> output;

  examined(record scan, std::size_t num_items, bool whole, int offset = 3)
      : about(scan),
        from{scan.input_type, num_items, 7, whole},
        init_offset(offset),
        output(fakes::right_output(about, from, offset)) {}

  judgement verdict() const {
    const scan_question of = question_of(about.operation, about.op, about.output_type, from);
    auto befores = fold_chunks(of);
    scan_chunks(of, before_all(about, init_offset), befores);
    found = check_scan(of, tolerance_of(about, from), befores, output.data());
    value_bytes got{};
    const std::size_t size = catalog::size_of(about.output_type);
    if (found.num_wrong != 0) std::memcpy(got.data(), output.data() + found.first_wrong * size, size);
    return judge_scan(about, of, befores, found, got);
  }
  mutable tally found;

  template <class T>
  T* as() {
    return reinterpret_cast<T*>(output.data());
  }
};

TEST(ScanOracle, RightOutputsAreRight) {
  for_each_scan([](const record& about) {
    for (const std::size_t n : {1u, 63u, 64u, 65u, 20'000u}) {
      for (const bool whole : {false, true}) {
        for (const int offset : {0, 3}) {
          const examined one(about, n, whole, offset);
          const auto verdict = one.verdict();
          EXPECT_TRUE(verdict.right) << name_of(about) << " n=" << n << ": " << verdict.why;
        }
      }
    }
  });
}

TEST(ScanOracle, OneWrongBitAnywhereIsFound) {
  for_each_scan([](const record& about) {
    for (const std::size_t at : {0u, 1u, 63u, 64u, 4'567u, 9'999u}) {
      examined one(about, 10'000, true);  // whole floats are exact
      fakes::spoil(about, one.output, at);
      const auto verdict = one.verdict();
      EXPECT_FALSE(verdict.right) << name_of(about) << " at " << at;
      EXPECT_EQ(one.found.num_wrong, 1u) << name_of(about);
      EXPECT_EQ(one.found.first_wrong, at) << name_of(about);
      EXPECT_NE(verdict.why.find("element " + std::to_string(at) + " of 10000: expected "), std::string::npos)
          << verdict.why;
    }
  });
}

TEST(ScanOracle, AShiftedOutputIsWrongAlmostEverywhere) {
  for (const auto& of : fakes::all_scan_types) {
    if (of.input == scalar::affine) continue;
    examined one(a_scan(operation::inclusive_scan, op::plus, of), 10'000, true);
    const std::size_t size = catalog::size_of(of.output);
    std::memmove(one.output.data() + size, one.output.data(), one.output.size() - size);
    EXPECT_FALSE(one.verdict().right);
    EXPECT_GT(one.found.num_wrong, 9'000u) << name_of(one.about);
    EXPECT_LE(one.found.first_wrong, 2u);
  }
}

TEST(ScanOracle, TheOtherKindOfScanIsWrongFromTheFirstElement) {
  for_each_scan([](const record& about) {
    record other = about;
    other.operation =
        about.operation == operation::inclusive_scan ? operation::exclusive_scan : operation::inclusive_scan;
    other.takes_init = true;
    examined one(other, 10'000, true);
    one.about = about;
    EXPECT_FALSE(one.verdict().right) << name_of(about);
    if (about.op == op::plus || about.op == op::compose) {
      EXPECT_EQ(one.found.first_wrong, 0u) << name_of(about);
    }
  });
}

TEST(ScanOracle, AMissingInitIsFoundOnChangedInput) {
  for_each_scan([](const record& about) {
    if (!about.takes_init) return;
    examined one(about, 10'000, true, 0);
    EXPECT_TRUE(one.verdict().right) << name_of(about);
    one.init_offset = 3;
    if (about.operation == operation::exclusive_scan || about.op == op::plus) {
      EXPECT_FALSE(one.verdict().right) << name_of(about);
    }
  });
}

TEST(ScanOracle, ABlocksLostPrefixIsFound) {
  for (const auto& of : fakes::all_scan_types) {
    if (of.input == scalar::affine) continue;
    examined one(a_scan(operation::inclusive_scan, op::plus, of), 8'192, true);
    // The last block knows only its own items.
    with_type(of.output, [&]<class T>(T) {
      if constexpr (std::is_arithmetic_v<T>) {
        T* const output = one.as<T>();
        const T prefix = output[6'143];
        ASSERT_NE(prefix, T{}) << name_of(one.about);
        for (std::size_t i = 6'144; i < 8'192; ++i) output[i] = static_cast<T>(output[i] - prefix);
      }
    });
    EXPECT_FALSE(one.verdict().right);
    EXPECT_EQ(one.found.first_wrong, 6'144u) << name_of(one.about);
    EXPECT_EQ(one.found.num_wrong, 2'048u) << name_of(one.about);
  }
}

// With slopes of any parity the last block's answer would be the same without what came before it.
TEST(ScanOracle, AnAffineBlocksLostPrefixIsFound) {
  const record about = a_scan(operation::inclusive_scan, op::compose, {scalar::affine, scalar::affine});
  examined one(about, 8'192, false);
  std::vector<affine> items(8'192);
  generate(one.from, items.data());
  const auto last = fakes::scanned(about, items.data() + 6'144, 2'048, affine{1, 0});
  std::copy(last.begin(), last.end(), one.as<affine>() + 6'144);
  EXPECT_FALSE(one.verdict().right);
  EXPECT_EQ(one.found.first_wrong, 6'144u);
  EXPECT_GT(one.found.num_wrong, 2'000u);
}

TEST(ScanOracle, AnExtremesLostPrefixIsFoundOnGeneralInput) {
  for (const auto& of : fakes::all_scan_types) {
    if (of.input == scalar::affine) continue;
    const record about = a_scan(operation::inclusive_scan, op::maximum, of);
    examined one(about, 8'192, false, 0);
    std::vector<unsigned char> items(8'192 * 8);
    generate(one.from, items.data());
    with_type(of.input, [&]<class In>(In) {
      with_type(of.output, [&]<class Out>(Out) {
        if constexpr (std::is_arithmetic_v<Out> && is_number<In>) {
          record alone = about;
          alone.takes_init = false;
          const auto last = fakes::scanned(alone, reinterpret_cast<const In*>(items.data()) + 6'144, 2'048, Out{});
          std::copy(last.begin(), last.end(), one.as<Out>() + 6'144);
        }
      });
    });
    EXPECT_FALSE(one.verdict().right) << name_of(about);
    EXPECT_GE(one.found.first_wrong, 6'144u);
  }
}

TEST(ScanOracle, GeneralFloatsMayErrWithinTheirHeight) {
  record about = a_scan(operation::inclusive_scan, op::plus, {scalar::f32, scalar::f32});
  about.summation_height = [](std::size_t) -> std::size_t { return 30; };
  examined one(about, 10'000, false);
  std::vector<float> items(10'000);
  generate(one.from, items.data());
  double sum = 0, magnitudes = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    sum += items[i];
    magnitudes += std::abs(items[i]);
    one.as<float>()[i] = static_cast<float>(sum);
    if (i == 5'000) one.as<float>()[i] = static_cast<float>(sum + 0.9 * 31 * 0x1p-24 * magnitudes);
  }
  const auto near = one.verdict();
  EXPECT_TRUE(near.right) << near.why;
  double largest = 0;
  for (const float value : std::vector<float>(one.as<float>(), one.as<float>() + 10'000))
    largest = std::max<double>(largest, std::abs(value));
  const double error = one.found.largest_error;
  EXPECT_NEAR(near.error_ulps, error / std::ldexp(1.0, std::ilogb(largest) - 23), 1e-9);
  EXPECT_GT(near.error_ulps, 1);
  one.as<float>()[5'000] += static_cast<float>(0.4 * 31 * 0x1p-24 * magnitudes);
  EXPECT_FALSE(one.verdict().right);
  EXPECT_EQ(one.found.first_wrong, 5'000u);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    one.as<float>()[17] = bad;
    EXPECT_FALSE(one.verdict().right);
    EXPECT_EQ(one.found.first_wrong, 17u);
  }
}

TEST(ScanOracle, NothingSoFarAllowsNoErrorHoweverHighTheSum) {
  catalog::record record;
  record.op = catalog::op::plus;
  record.output_type = catalog::scalar::f32;  // and no summation height: any, up to the number of items
  const workload from{catalog::scalar::f32, std::size_t{16} << 20, 1, false};
  EXPECT_EQ(tolerance_of(record, from).allowed(0, 0), 0);
}

TEST(ScanOracle, PoisonIsNeverRight) {
  for_each_scan([](const record& about) {
    for (const bool whole : {false, true}) {
      examined one(about, 1'000, whole);
      std::fill(one.output.begin(), one.output.end(), 0xa5);
      EXPECT_FALSE(one.verdict().right) << name_of(about);
      // An extreme of bytes may be the poison.
      if (catalog::size_of(about.output_type) > 1) {
        EXPECT_GT(one.found.num_wrong, 900u) << name_of(about);
      }
    }
  });
}

// 70 rows of 143 items.
struct examined_rows {
  record about;
  bool whole;
  int init_offset;
  workload from{about.input_type, 70 * 143, 7, whole};
  std::vector<unsigned char> output{};
  tally found{};

  // By a scan of each row; its last element is what the row comes to.
  void be_right() {
    const std::size_t size = catalog::size_of(about.output_type);
    std::vector<unsigned char> items(from.num_items * 8);
    generate(from, items.data());
    const value_bytes init = init_of(about.op, about.accumulator_type, init_offset);
    output.resize(70 * size);
    with_type(about.input_type, [&]<class In>(In) {
      with_type(about.output_type, [&]<class Out>(Out) {
        if constexpr (is_number<In> && std::is_arithmetic_v<Out>) {
          Out first;
          std::memcpy(&first, init.data(), sizeof first);
          for (std::size_t row = 0; row < 70; ++row) {
            const auto* const own = reinterpret_cast<const In*>(items.data()) + row * 143;
            const Out last = fakes::scanned(about, own, 143, first).back();
            std::memcpy(output.data() + row * size, &last, size);
          }
        }
      });
    });
  }
  judgement verdict() {
    const scan_question of = question_of_rows(about.op, about.output_type, from, 143);
    workload of_one = from;
    of_one.num_items = 143;
    const std::vector<running> befores = {before_all(about, init_offset)};
    found = check_scan(of, tolerance_of(about, of_one), befores, output.data());
    value_bytes got{};
    const std::size_t size = catalog::size_of(about.output_type);
    if (found.num_wrong != 0) std::memcpy(got.data(), output.data() + found.first_wrong * size, size);
    return judge_scan(about, of, befores, found, got);
  }
};

TEST(ScanOracle, RowsAreJudgedOneByOne) {
  for (const auto& of : fakes::all_scan_types) {
    if (of.input == scalar::affine) continue;
    for (const op combine : {op::plus, op::minimum, op::maximum}) {
      record about = fakes::of_rows(a_scan(operation::inclusive_scan, combine, of));
      about.takes_init = true;
      for (const bool whole : {false, true}) {
        examined_rows one{about, whole, 3};
        one.be_right();
        const auto verdict = one.verdict();
        EXPECT_TRUE(verdict.right) << name_of(about) << ": " << verdict.why;
      }
      for (const std::size_t at : {0u, 1u, 64u, 69u}) {
        examined_rows one{about, true, 3};
        one.be_right();
        fakes::spoil(about, one.output, at);
        const auto verdict = one.verdict();
        EXPECT_EQ(one.found.num_wrong, 1u) << name_of(about);
        EXPECT_EQ(one.found.first_wrong, at) << name_of(about);
        EXPECT_NE(verdict.why.find("element " + std::to_string(at) + " of 70: expected "), std::string::npos)
            << verdict.why;
      }
    }
  }
}

TEST(ScanOracle, ChunksCoverEveryItemOnce) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{64}, max_chunks * fewest_chunk_items,
                              max_chunks * fewest_chunk_items + 1, (std::size_t{1} << 33) + 7}) {
    const auto of = question_of(operation::inclusive_scan, op::plus, scalar::f32, {scalar::f32, n, 1, false});
    EXPECT_LE(of.num_chunks(), max_chunks);
    EXPECT_EQ(of.end_of(of.num_chunks() - 1), n);
    EXPECT_LT((of.num_chunks() - 1) * of.chunk_items, n);
  }
}

TEST(ScanOracle, HashesSeeEveryBitAndTheOrder) {
  std::vector<unsigned char> bytes(1'003);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 37);
  const auto original = hash(bytes.data(), bytes.size());
  EXPECT_EQ(original, hash(bytes.data(), bytes.size()));
  for (const std::size_t at : {0u, 500u, 999u, 1'000u, 1'002u}) {
    bytes[at] ^= 1;
    EXPECT_NE(hash(bytes.data(), bytes.size()), original) << at;
    bytes[at] ^= 1;
  }
  std::swap_ranges(bytes.begin(), bytes.begin() + 4, bytes.begin() + 4);
  EXPECT_NE(hash(bytes.data(), bytes.size()), original);
}

TEST(ScanOracle, TypesThatItCannotJudgeAreSaid) {
  EXPECT_TRUE(has_oracle(a_scan(operation::inclusive_scan, op::plus, {scalar::u8, scalar::u32})));
  EXPECT_FALSE(has_oracle(a_scan(operation::inclusive_scan, op::plus, {scalar::i32, scalar::f32})));
  EXPECT_FALSE(has_oracle(a_scan(operation::inclusive_scan, op::plus, {scalar::u8, scalar::i32})));
  EXPECT_FALSE(has_oracle(a_scan(operation::inclusive_scan, op::compose, {scalar::affine, scalar::u64})));
}

}  // namespace
}  // namespace rungs::bench
