#include "fuzz/draw.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace rungs::fuzz {
namespace {

constexpr u64 any = ~u64{0};
constexpr field all_fields[] = {
    {"companion", &fuzz_case::companion, 0, any},
    {"before", &fuzz_case::before, 0, any},
    {"repeated", &fuzz_case::repeated, 0, 1},
    {"replays", &fuzz_case::replays, 0, most_replays},
    {"fresh", &fuzz_case::fresh, 0, 1},
    {"refusal", &fuzz_case::refusal, 0, 1},
    {"stream", &fuzz_case::stream, 0, per_thread},
    {"form", &fuzz_case::form, 0, shared_workspace},
    {"contents", &fuzz_case::contents, 0, left_over_but_for_its_head},
    {"storage_offset", &fuzz_case::storage_offset, 0, 15},
    {"in_place", &fuzz_case::in_place, 0, 1},
    {"in_offset", &fuzz_case::in_offset, 0, 15},
    {"out_offset", &fuzz_case::out_offset, 0, 15},
    {"rows", &fuzz_case::rows, 1, 1 << 15},
    {"gap", &fuzz_case::gap, 0, 64},
    {"bins", &fuzz_case::bins, 1, 1 << 17},
    {"runs", &fuzz_case::runs, 0, 20},
    {"n", &fuzz_case::n, 0, (u64{64} << 20) + 64},
    {"values", &fuzz_case::values, 0, special_values},
    {"levels", &fuzz_case::levels, 0, 2},
};

// Numbers from one seed, one after the other.
class dice {
 public:
  explicit dice(u64 seed) : seed_(mixed(seed, 0x66757a7a)) {}
  u64 next() { return mixed(seed_, counter_++); }
  u64 below(u64 end) { return next() % end; }
  bool one_in(u64 many) { return below(many) == 0; }
  u64 between_powers(unsigned least, unsigned most) {  // log-uniform in [2^least, 2^most)
    const u64 power = least + below(most - least);
    return (u64{1} << power) + below(u64{1} << power);
  }

 private:
  u64 seed_, counter_ = 0;
};

u64 near(dice& dice, u64 number) {
  const u64 away = dice.below(5);
  return number + away < 2 ? 0 : number + away - 2;
}

// The edges of tiles: threads of a block by items of a thread.
u64 at_tile_edge(dice& dice) {
  constexpr u64 threads[] = {32, 64, 128, 256, 384, 512, 1024};
  const u64 tile = threads[dice.below(std::size(threads))] * (1 + dice.below(24));
  return near(dice, tile * (1 + dice.below(dice.one_in(16) ? 140 : 8)));
}

u64 num_items(dice& dice) {
  const u64 choice = dice.below(1000);
  if (choice < 15) return 0;
  if (choice < 30) return 1;
  if (choice < 300) return dice.between_powers(1, 11);
  if (choice < 480) return near(dice, u64{1} << dice.below(18));
  if (choice < 650) return at_tile_edge(dice);
  if (choice < 965) return dice.between_powers(6, 17);
  if (choice < 985) return dice.between_powers(16, 20);
  if (choice < 990) return dice.between_powers(19, 22);
  if (choice < 998) return dice.between_powers(1, 14);
  return near(dice, u64{1} << (17 + dice.below(6)));
}

u64 num_bins(dice& dice) {
  const u64 choice = dice.below(100);
  if (choice < 8) return 1;
  if (choice < 50) return 1 + dice.below(300);
  if (choice < 70) return std::max<u64>(1, near(dice, u64{1} << dice.below(13)));
  if (choice < 97) return dice.between_powers(8, 13);
  return dice.between_powers(13, 17);
}

constexpr std::size_t most_bytes = 32u << 20, most_bytes_replayed = 8u << 20;  // of an input or an output, usually
constexpr std::size_t huge_from = std::size_t{1} << 25;                        // items: then of at most 4 bytes

// Few long rows, some, or many short ones, which share their vectors with what is beside them.
void draw_region(dice& dice, fuzz_case& drawn) {
  const u64 shape = dice.below(3);
  drawn.rows = 1 + dice.below(shape == 0 ? 3 : shape == 1 ? 300 : 4096);
  drawn.n = shape == 2 ? 1 + dice.below(64) : drawn.n / drawn.rows;
  drawn.gap = dice.one_in(3) ? 0 : dice.below(65);
}

// Up to 64 items each. Sometimes there are few segments, of as many items as other calls have.
void draw_segments(dice& dice, fuzz_case& drawn) {
  const bool are_long = dice.one_in(16);
  drawn.rows = are_long || dice.one_in(8) ? 1 + dice.below(8) : dice.between_powers(0, 15);
  drawn.n = are_long ? drawn.n / drawn.rows : dice.below(65);
}

void draw_common(dice& dice, fuzz_case& drawn, const traits& of) {
  drawn.values = dice.one_in(2) ? u64{random_values} : dice.below(special_values + 1);
  if (of.family == family::histogram) {
    drawn.bins = num_bins(dice);
    drawn.levels = dice.below(3);
    if (of.has_rows) draw_region(dice, drawn);
  }
  if (of.family == family::segments) draw_segments(dice, drawn);
  if (of.family == family::by_key) drawn.runs = dice.one_in(3) ? 0 : dice.below(21);
  if (!dice.one_in(3)) drawn.in_offset = dice.below(16);
  if (!dice.one_in(3)) drawn.out_offset = dice.below(16);
  drawn.in_place = dice.one_in(3);
  drawn.form = dice.below(2);
  drawn.contents = dice.below(3);
  drawn.storage_offset = dice.one_in(4) ? 0 : dice.below(16);
}

}  // namespace

std::span<const field> fields() { return all_fields; }

fuzz_case valid(fuzz_case drawn, std::span<const traits> kinds) {
  drawn.kind %= kinds.size();
  const traits& of = kinds[drawn.kind];
  for (const field& each : all_fields) drawn.*each.member = std::clamp(drawn.*each.member, each.least, each.most);
  if (!of.may_be_in_place) drawn.in_place = 0;
  if (of.is_in_place) drawn.in_place = 1;
  if (!of.has_special_values && drawn.values == special_values) drawn.values = random_values;
  if (!of.has_rows) drawn.rows = 1;
  if (!of.has_rows || of.family != family::histogram) drawn.gap = 0;
  if (of.family != family::histogram) {
    drawn.bins = 1;
    drawn.levels = 0;
  }
  if (of.family != family::by_key) drawn.runs = 0;
  if (of.in_bytes == 0) drawn.in_offset = 0;
  if (drawn.in_place) drawn.in_offset = 0;  // it begins where the output does
  const std::size_t out_bytes = of.family == family::scan || of.family == family::by_key ? of.out_bytes : 0;
  const std::size_t item_bytes = std::max({of.in_bytes * of.channels, out_bytes, std::size_t{1}});
  const bool is_huge = drawn.n >= huge_from && item_bytes <= 4 && drawn.rows == 1;
  if (!is_huge)
    drawn.n = std::min<u64>(drawn.n, (drawn.replays > 0 ? most_bytes_replayed : most_bytes) / item_bytes / drawn.rows);
  if (is_huge) {
    drawn.before = drawn.companion = drawn.fresh = 0;
    drawn.replays = std::min<u64>(drawn.replays, 1);
  }
  if (drawn.replays > 0 || drawn.before != 0) drawn.companion = 0;
  if (drawn.before == 0) {
    drawn.repeated = 0;
    if (drawn.contents >= left_over) drawn.contents = random_bytes;
  }
  if (drawn.form == two_phases)
    drawn.fresh = 0;
  else
    drawn.contents = drawn.storage_offset = drawn.refusal = 0;
  return drawn;
}

fuzz_case draw(u64 seed, std::span<const traits> kinds) {
  dice dice(seed);
  fuzz_case drawn;
  drawn.seed = seed;
  drawn.kind = dice.below(kinds.size());
  const traits& of = kinds[drawn.kind];
  drawn.n = num_items(dice);
  if (dice.one_in(20'000)) drawn.n = (u64{64} << 20) - 32 + dice.below(64);
  draw_common(dice, drawn, of);
  if (dice.one_in(3)) {
    drawn.before = dice.next() | 1;
    drawn.repeated = dice.one_in(3);
    drawn.contents = dice.one_in(3) ? left_over_but_for_its_head : left_over;
  }
  drawn.stream = dice.one_in(2) ? u64{non_blocking} : dice.below(3);
  if (dice.one_in(10))
    drawn.replays = 1 + dice.below(most_replays);
  else if (dice.one_in(8))
    drawn.companion = dice.next() | 1;
  drawn.fresh = dice.one_in(64);
  drawn.refusal = dice.one_in(16);
  return valid(drawn, kinds);
}

fuzz_case draw_simple(u64 seed, std::span<const traits> kinds) {
  dice dice(seed);
  fuzz_case drawn;
  drawn.seed = seed;
  drawn.kind = dice.below(kinds.size());
  drawn.n = std::min<u64>(num_items(dice), 1 << 16);
  draw_common(dice, drawn, kinds[drawn.kind]);
  drawn.form = two_phases;
  return valid(drawn, kinds);
}

std::string text_of(const fuzz_case& one, std::span<const traits> kinds) {
  char seed[16];
  std::string text = "0x";
  text.append(seed, std::to_chars(seed, std::end(seed), one.seed, 16).ptr);
  text.append(",kind=").append(kinds[one.kind].name);
  const fuzz_case drawn = draw(one.seed, kinds);
  for (const field& each : all_fields)
    if (one.*each.member != drawn.*each.member || each.member == &fuzz_case::n)
      text.append(",").append(each.name).append("=").append(std::to_string(one.*each.member));
  return text;
}

fuzz_case case_of(std::string_view text, std::span<const traits> kinds) {
  const auto number = [](std::string_view digits) {
    const bool is_hex = digits.starts_with("0x");
    const std::string_view bare = is_hex ? digits.substr(2) : digits;
    u64 value = 0;
    const auto read = std::from_chars(bare.data(), bare.data() + bare.size(), value, is_hex ? 16 : 10);
    if (bare.empty() || read.ec != std::errc{} || read.ptr != bare.data() + bare.size())
      throw std::invalid_argument("'" + std::string(digits) + "' is not a number");
    return value;
  };
  const auto next = [&text] {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
    return part;
  };
  if (text.ends_with(',')) throw std::invalid_argument("nothing comes after the last comma");
  fuzz_case read = draw(number(next()), kinds);
  while (!text.empty()) {
    const std::string_view part = next();
    const std::size_t equals = part.find('=');
    if (equals == part.npos) throw std::invalid_argument("'" + std::string(part) + "' is not key=value");
    const std::string_view key = part.substr(0, equals), value = part.substr(equals + 1);
    if (key == "kind") {
      const auto named = std::ranges::find(kinds, value, &traits::name);
      if (named == kinds.end()) throw std::invalid_argument("no kind is called '" + std::string(value) + "'");
      read.kind = static_cast<u64>(named - kinds.begin());
      continue;
    }
    const auto named = std::ranges::find(all_fields, key, &field::name);
    if (named == std::end(all_fields)) throw std::invalid_argument("no member is called '" + std::string(key) + "'");
    read.*named->member = number(value);
  }
  return valid(read, kinds);
}

// Each step makes one member less and leaves the others, or makes them less, too: so it ends.
fuzz_case shrunk(fuzz_case failing, std::span<const traits> kinds, const std::function<bool(const fuzz_case&)>& fails,
                 int attempts) {
  const auto is_simpler = [](const fuzz_case& a, const fuzz_case& b) {
    return a != b && std::ranges::all_of(all_fields, [&](const field& f) { return a.*f.member <= b.*f.member; });
  };
  for (bool has_shrunk = true; has_shrunk && attempts > 0;) {
    has_shrunk = false;
    for (const field& each : all_fields) {
      const u64 value = failing.*each.member;
      for (const u64 less : {each.least, each.least + 1, value / 2, value - value / 4, value - value / 16, value - 1}) {
        if (less >= value || less < each.least || attempts <= 0) continue;
        fuzz_case simpler = failing;
        simpler.*each.member = less;
        simpler = valid(simpler, kinds);
        if (!is_simpler(simpler, failing)) continue;
        --attempts;
        if (!fails(simpler)) continue;
        failing = simpler;
        has_shrunk = true;
        break;
      }
    }
  }
  return failing;
}

}  // namespace rungs::fuzz
