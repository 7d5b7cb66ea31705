// The oracle of the study of atomics against operations done one by one.
#include "update_oracle.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "right_updates.hpp"

namespace rungs::bench {
namespace {

using catalog::op, catalog::scalar;

template <class Op, class T>
std::vector<T> done_one_by_one(const update_question& of) {
  std::vector<T> values(of.num_addresses);
  catalog::arguments a;
  a.d_out = values.data();
  a.num_items = of.num_operations;
  a.num_addresses = of.num_addresses;
  a.seed = of.seed;
  std::size_t num_bytes = 16;
  fakes::update<Op, T>(&num_bytes, num_bytes, a, nullptr);
  return values;
}

TEST(UpdateOracle, AcceptsWhatIsDoneOneByOneAndNothingElse) {
  int combinations = 0;
  for (const op which : fakes::studied_operators) {
    for (const scalar type : fakes::studied_types) {
      with_update(which, type, [&]<class Op, class T>() {
        ++combinations;
        for (const std::size_t num_operations : {0u, 1u, 33u, 1000u, 40000u}) {
          for (const std::size_t num_addresses : {1u, 2u, 32u, 1000u, 65536u}) {
            const update_question of{which, type, num_operations, num_addresses, 11};
            auto values = done_one_by_one<Op, T>(of);
            const updated expected = fold_updates(of);
            EXPECT_EQ(find_wrong(of, expected, values.data()), "")
                << name(which) << ' ' << name(type) << ' ' << num_operations << " on " << num_addresses;
            for (const std::size_t k : {std::size_t{0}, num_addresses - 1}) {
              const T right = values[k];
              auto* const bytes = reinterpret_cast<unsigned char*>(&values[k]);
              bytes[sizeof(T) - 1] = static_cast<unsigned char>(bytes[sizeof(T) - 1] ^ 0x40);
              EXPECT_NE(find_wrong(of, expected, values.data()), "") << name(which) << ' ' << name(type) << ' ' << k;
              values[k] = right;
            }
          }
        }
      });
    }
  }
  EXPECT_EQ(combinations, 3 * 9 + 2 * 3 + 2);
}

TEST(UpdateOracle, AnExchangeLeavesOneOfItsOwnValues) {
  const update_question of{op::exchange, scalar::u32, 1000, 10, 5};
  const updated expected = fold_updates(of);
  auto values = done_one_by_one<exchange, unsigned>(of);
  const auto work = parts::updates::of<exchange, unsigned>(of.num_operations, 10, of.seed);
  for (unsigned i = 0; i < of.num_operations; ++i) {
    const unsigned address = work.address_of(work.bits_of(i)), kept = values[address];
    values[address] = i;
    EXPECT_EQ(find_wrong(of, expected, values.data()), "");
    values[address] = kept;
  }
  values[3] = values[4];
  EXPECT_NE(find_wrong(of, expected, values.data()), "");
  values[3] = ~0u;
  EXPECT_NE(find_wrong(of, expected, values.data()), "") << "the start is no value of an operation";
}

TEST(UpdateOracle, SetsMerge) {
  const update_question of{op::minimum, scalar::i32, 5000, 3, 1};
  const updated whole = fold_updates(of);
  auto words = whole.words;
  std::vector<std::uint32_t> counts = whole.counts;
  words.insert(words.end(), 3, nothing_folded(how_folded(of)));
  counts.insert(counts.end(), 3, 0);
  std::swap(words[1], words[4]);
  std::swap(counts[1], counts[4]);
  const updated merged = merge(of, words, counts);
  EXPECT_EQ(merged.words, whole.words);
  EXPECT_EQ(merged.counts, whole.counts);
}

// Sums stay exact, and every address gets its share, at the sizes that are measured.
TEST(UpdateOracle, SumsStayExactAtTheStudysSizes) {
  for (const scalar type : {scalar::f32, scalar::f16x2, scalar::bf16x2}) {
    for (const std::size_t num_addresses : {1u, 1024u, 1u << 20}) {
      const update_question of{op::plus, type, std::size_t{16} << 20, num_addresses, 3};
      const updated expected = fold_updates(of);
      std::uint64_t least_count = ~0ull, largest = 0;
      for (std::size_t k = 0; k < num_addresses; ++k) {
        least_count = std::min<std::uint64_t>(least_count, expected.counts[k]);
        largest = std::max(largest, std::max(expected.words[k] & 0xffffffff, expected.words[k] >> 32));
      }
      EXPECT_LE(largest, type == scalar::f32 ? 1u << 24 : type == scalar::f16x2 ? 2048u : 256u) << name(type);
      EXPECT_GT(largest, 0u);
      EXPECT_GE(least_count, 1u);
    }
  }
}

}  // namespace
}  // namespace rungs::bench
