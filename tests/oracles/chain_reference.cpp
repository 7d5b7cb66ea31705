#include "oracles/chain_reference.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "text.hpp"

namespace rungs::tests {
namespace {

template <class T>
std::vector<std::uint32_t> notes_after(const chain_call& call) {
  const parts::collective_chain chain{call.seed};
  const bool scans = call.operation == catalog::operation::collective_scan;
  const std::size_t chained = scans ? call.num_threads - 1 : 0;
  std::vector<T> values(call.num_threads), results(call.num_threads);
  std::vector<std::uint32_t> notes(call.num_threads);
  for (unsigned link = 0; link < call.num_links; ++link) {
    for (unsigned i = 0; i < call.num_threads; ++i)
      values[i] = link > 0 && i == chained ? -results[chained] : static_cast<T>(chain.value_of(chain.word_of(i), link));
    T all = values[0];
    for (std::size_t i = 0; i < call.num_threads; ++i) {
      if (i > 0) all = call.op == catalog::op::plus ? all + values[i] : std::max(all, values[i]);
      results[i] = all;
    }
    if (!scans) results[0] = all;
    for (std::size_t i = 0; i < notes.size(); ++i) notes[i] = chain.noted(notes[i], static_cast<int>(results[i]));
  }
  notes.resize(call.num_words());
  return notes;
}

std::vector<std::uint32_t> last_words(const chain_call& call) {
  const parts::phase_chain chain{static_cast<unsigned>(call.num_blocks), static_cast<unsigned>(call.num_threads),
                                 call.seed};
  std::vector<std::uint32_t> words(call.num_words()), next(words.size());
  std::vector<unsigned> neighbours(words.size());
  for (unsigned i = 0; i < words.size(); ++i) {
    words[i] = chain.first_word(i);
    neighbours[i] = chain.neighbour_of(i);
  }
  for (unsigned phase = 1; phase <= call.num_links; ++phase) {
    for (std::size_t i = 0; i < words.size(); ++i) next[i] = chain.next_word(words[neighbours[i]], phase);
    std::swap(words, next);
  }
  return words;
}

}  // namespace

bool has_reference(const chain_call& call) {
  if (call.operation == catalog::operation::barrier) return true;
  const bool is_studied = call.type == catalog::scalar::i32 || call.type == catalog::scalar::f32;
  return is_studied && (call.op == catalog::op::plus || call.op == catalog::op::maximum);
}

std::vector<std::uint32_t> words_after(const chain_call& call) {
  if (call.operation == catalog::operation::barrier) return last_words(call);
  return call.type == catalog::scalar::f32 ? notes_after<float>(call) : notes_after<int>(call);
}

std::vector<unsigned char> bytes_after(const chain_call& call) {
  const std::vector<std::uint32_t> words = words_after(call);
  std::vector<unsigned char> bytes(words.size() * sizeof words[0]);
  if (!bytes.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::optional<std::string> disagreement(const chain_call& call, const std::vector<unsigned char>& expected,
                                        const void* words) {
  const std::size_t num_words = expected.size() / sizeof(std::uint32_t);
  std::vector<std::uint32_t> right(num_words), got(num_words);
  std::memcpy(right.data(), expected.data(), expected.size());
  std::memcpy(got.data(), words, expected.size());
  std::size_t num_wrong = 0, first_wrong = 0;
  for (std::size_t i = 0; i < num_words; ++i)
    if (got[i] != right[i] && num_wrong++ == 0) first_wrong = i;
  if (num_wrong == 0) return std::nullopt;
  return text("word ", first_wrong, " of ", num_words, " after ", call.num_links, ": expected ", right[first_wrong],
              ", got ", got[first_wrong], "; wrong words: ", num_wrong);
}

}  // namespace rungs::tests
