#include "chain_oracle.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "rungs/parts/chains.cuh"

namespace rungs::bench {
namespace {

using catalog::operation;
using parts::collective_chain;

long long folded(catalog::op op, long long a, long long b) { return op == catalog::op::plus ? a + b : std::max(a, b); }

// The chained thread comes last of a scan, and its place in a reduction makes no difference to these operators. So the
// others' values are scanned once, and what the chained one brings joins them.
std::vector<std::uint32_t> notes_of(const chain_question& of) {
  const collective_chain chain{of.seed};
  const std::size_t chained = of.operation == operation::collective_scan ? of.num_threads - 1 : 0;
  std::vector<unsigned> others;
  for (std::size_t i = 0; i < of.num_threads; ++i) {
    if (i != chained) others.push_back(chain.word_of(static_cast<unsigned>(i)));
  }
  long long carried = chain.value_of(chain.word_of(static_cast<unsigned>(chained)), 0);
  std::vector<std::uint32_t> notes(of.operation == operation::collective_scan ? of.num_threads : 1);
  for (std::size_t link = 0; link < of.num_links; ++link) {
    const bool sums = of.op == catalog::op::plus;
    long long all = sums ? 0 : std::numeric_limits<int>::min();
    for (std::size_t i = 0; i < others.size(); ++i) {
      all = folded(of.op, all, chain.value_of(others[i], static_cast<unsigned>(link)));
      if (notes.size() > 1) notes[i] = chain.noted(notes[i], static_cast<int>(all));
    }
    all = folded(of.op, all, carried);
    notes.back() = chain.noted(notes.back(), static_cast<int>(all));
    carried = -all;
  }
  return notes;
}

// Every phase is the same function of a word, and moves words by the same distances: so are all phases together.
std::vector<std::uint32_t> last_words(const chain_question& of) {
  const parts::phase_chain chain{static_cast<unsigned>(of.num_blocks), static_cast<unsigned>(of.num_threads), of.seed};
  std::uint32_t slope = 1, offset = 0;
  for (std::size_t phase = 1; phase <= of.num_links; ++phase) {
    slope *= parts::golden;
    offset = offset * parts::golden + static_cast<std::uint32_t>(phase);
  }
  std::vector<std::uint32_t> words(of.num_blocks * of.num_threads);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t block = (i / of.num_threads + of.num_links) % of.num_blocks;
    const std::size_t thread = (i + of.num_links * parts::phase_chain::distance) % of.num_threads;
    words[i] = chain.first_word(static_cast<unsigned>(block * of.num_threads + thread)) * slope + offset;
  }
  return words;
}

}  // namespace

bool has_oracle_of_chains(const catalog::record& record) {
  if (record.operation == operation::barrier) return true;
  const bool studied = record.input_type == catalog::scalar::i32 || record.input_type == catalog::scalar::f32;
  return studied && (record.op == catalog::op::plus || record.op == catalog::op::maximum);
}

std::vector<std::uint32_t> words_of(const chain_question& of) {
  return of.operation == operation::barrier ? last_words(of) : notes_of(of);
}

std::string find_wrong(const chain_question& of, std::span<const std::uint32_t> expected, const void* words) {
  std::vector<std::uint32_t> got(expected.size());
  if (!got.empty()) std::memcpy(got.data(), words, got.size() * sizeof got[0]);
  std::size_t num_wrong = 0, first_wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] != expected[i] && num_wrong++ == 0) first_wrong = i;
  }
  if (num_wrong == 0) return "";
  return "word " + std::to_string(first_wrong) + " of " + std::to_string(expected.size()) + " after " +
         std::to_string(of.num_links) + ": expected " + std::to_string(expected[first_wrong]) + ", got " +
         std::to_string(got[first_wrong]) + "; wrong words: " + std::to_string(num_wrong);
}

}  // namespace rungs::bench
