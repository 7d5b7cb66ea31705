#include "scan_oracle.hpp"

#include <algorithm>
#include <cstring>

namespace rungs::bench {

scan_question question_of(catalog::operation operation, catalog::op op, catalog::scalar output_type,
                          const workload& from) {
  const std::size_t chunk_items = std::max(fewest_chunk_items, (from.num_items + max_chunks - 1) / max_chunks);
  return {.from = from,
          .op = op,
          .output_type = output_type,
          .output_size = static_cast<int>(catalog::size_of(output_type)),
          .exclusive = operation == catalog::operation::exclusive_scan,
          .chunk_items = chunk_items | 1};  // odd, else all threads of a warp read from the same sets of the caches
}

scan_question question_of_rows(catalog::op op, catalog::scalar output_type, const workload& from,
                               std::size_t num_columns) {
  scan_question of = question_of(catalog::operation::row_reduce, op, output_type, from);
  of.chunk_items = num_columns;
  of.of_rows = true;
  return of;
}

std::vector<running> fold_chunks(const scan_question& of) {
  std::vector<running> chunks(of.num_chunks());
  with_type(of.from.type, [&]<class T>(T) {
    for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) chunks[chunk] = fold_chunk<T>(of, chunk);
  });
  return chunks;
}

void scan_chunks(const scan_question& of, running before, std::vector<running>& chunks) {
  with_type(of.from.type, [&]<class T>(T) {
    for (running& chunk : chunks) {
      const running own = chunk;
      chunk = before;
      append<T>(before, of.op, own);
    }
  });
}

tally check_scan(const scan_question& of, const tolerance& within, const std::vector<running>& befores,
                 const void* output) {
  tally found;
  with_type(of.from.type, [&]<class T>(T) {
    for (std::size_t row = 0; of.of_rows && row < of.num_chunks(); ++row)
      check_row<T>(of, within, befores[0], fold_chunk<T>(of, row), row, output, found);
    for (std::size_t chunk = 0; !of.of_rows && chunk < befores.size(); ++chunk)
      merge(found, check_chunk<T>(of, within, befores[chunk], chunk, output));
  });
  return found;
}

running running_at(const scan_question& of, const std::vector<running>& befores, std::size_t i) {
  const std::size_t chunk = of.of_rows ? 0 : i / of.chunk_items;
  running all = befores[chunk];
  with_type(of.from.type, [&]<class T>(T) {
    if (of.of_rows) return append<T>(all, of.op, fold_chunk<T>(of, i));
    for (std::size_t k = chunk * of.chunk_items; k < i + !of.exclusive; ++k) include(all, of.op, item<T>(of.from, k));
  });
  return all;
}

std::uint64_t hash(const void* bytes, std::size_t num_bytes) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; 4 * i < num_bytes; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, static_cast<const unsigned char*>(bytes) + 4 * i, std::min<std::size_t>(4, num_bytes - 4 * i));
    all += hash_of_word(word, i);
  }
  return all;
}

}  // namespace rungs::bench
