// A case of the fuzzer: a call of the front door with all that surrounds it, drawn from one number.
//
// Every member is an unsigned number with a name, so that one table prints a case, reads it back and shrinks it.
// Smaller is simpler, for each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rungs::fuzz {

using u64 = std::uint64_t;

// The finaliser of splitmix64 over a counter.
inline constexpr u64 mixed(u64 seed, u64 counter) {
  u64 z = seed + (counter + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

enum class family { reduction, scan, histogram, by_key, segments };

// What drawing has to know of a kind of call.
struct traits {
  std::string name;
  fuzz::family family = family::reduction;
  std::size_t in_bytes = 0;   // of an item; 0: the input is computed
  std::size_t out_bytes = 0;  // of an output
  bool may_be_in_place = false;
  bool is_in_place = false;  // always
  bool has_special_values = false;
  bool has_rows = false;
  unsigned channels = 1;
  bool counts_in_int = false;  // ArgMin and ArgMax of pairs
};

// Names of values, for the members below.
enum values : u64 { random_values, small_values, constant_values, one_spike, ascending_values, special_values };
enum form : u64 { two_phases, shared_workspace };
enum contents_before : u64 { zeros, ones, random_bytes, left_over, left_over_but_for_its_head };
enum stream_kind : u64 { non_blocking, legacy, per_thread };

struct fuzz_case {
  u64 seed = 0;  // of the inputs, too
  u64 kind = 0;
  u64 n = 0;                          // items; of a histogram: pixels in a row; of segments: items of each
  u64 in_offset = 0, out_offset = 0;  // items
  u64 values = 0, in_place = 0;
  u64 form = 0, contents = 0, storage_offset = 0;  // of temporary storage, in bytes
  u64 stream = 0;
  u64 replays = 0;                    // of a graph; 0: a plain call
  u64 before = 0;                     // seed of a call that had the same storage or workspace before; 0: none
  u64 repeated = 0;                   // that call is the same but for its items
  u64 companion = 0;                  // seed of a call on another stream at the same time; 0: none
  u64 fresh = 0;                      // a workspace of its own
  u64 refusal = 0;                    // first a call with one byte too few
  u64 rows = 1;                       // of a histogram; or segments
  u64 bins = 1, levels = 0, gap = 0;  // of histograms; the gap between rows, in samples
  u64 runs = 0;                       // of equal keys or flags: they have 2^runs items in the mean

  bool operator==(const fuzz_case&) const = default;
};

using member_of_case = u64 fuzz_case::*;
struct field {
  std::string_view name;
  member_of_case member;
  u64 least, most;
};
std::span<const field> fields();  // all members but seed and kind

inline constexpr u64 most_replays = 3;

// A pure function of its arguments.
fuzz_case draw(u64 seed, std::span<const traits> kinds);
// The call that comes before, or stands beside: a plain one, of a few items.
fuzz_case draw_simple(u64 seed, std::span<const traits> kinds);
// The nearest case that can be made.
fuzz_case valid(fuzz_case drawn, std::span<const traits> kinds);

// "0x1234,kind=reduce.sum.i32,n=17": the seed, the kind, and what differs from what the seed draws.
std::string text_of(const fuzz_case& one, std::span<const traits> kinds);
// Throws std::invalid_argument.
fuzz_case case_of(std::string_view text, std::span<const traits> kinds);

// A simplest case that fails still, found by at most `attempts` calls of fails().
fuzz_case shrunk(fuzz_case failing, std::span<const traits> kinds, const std::function<bool(const fuzz_case&)>& fails,
                 int attempts);

}  // namespace rungs::fuzz
