#include "across/examination.hpp"

#include <algorithm>
#include <set>

#include "across/crew.cuh"
#include "across_catalog.hpp"
#include "rungs/across/parts/plan.cuh"
#include "text.hpp"

namespace rungs::tests::across {
namespace {

using bench::across_record;

// Few blocks, and room for few items: a call takes many steps. And as users have it.
struct size {
  rungs::across::window_options options;
  std::size_t most_items;
};
const size sizes[] = {{{64 << 10, 4 << 10, 4, 0}, 100'003}, {{64 << 10, 64 << 10, 4, 0}, 100'003}, {{}, 4 << 20}};
constexpr int num_sizes = 3;

std::map<std::pair<int, int>, std::unique_ptr<crew>> crews;
std::unique_ptr<library> shelves;

crew& crew_of(int num_ranks, int which) {
  auto& made = crews[{num_ranks, which}];
  if (!made) {
    made =
        std::make_unique<crew>(std::vector<int>(num_ranks, 0), sizes[which].most_items * 4 + 64, sizes[which].options);
  }
  return *made;
}

// Ends of vectors, warps and blocks; and around the counts at which steps come to be more.
std::set<std::size_t> counts_of(const rungs::across::member& member, std::size_t item_bytes, int which) {
  std::set<std::size_t> counts;
  const std::size_t most = sizes[which].most_items, vector_items = 16 / item_bytes;
  const auto around = [&](std::size_t count) {
    for (const std::size_t each : {count - 1, count, count + 1})
      if (each <= most) counts.insert(each);
  };
  if (which + 1 < num_sizes) {
    for (const std::size_t few : {0, 1, 2, 3, 5, 7, 8, 9, 17, 100}) counts.insert(few);
    for (const std::size_t border : {512, 2048, 4096}) around(border);
    counts.insert(most);
  } else {
    for (const std::size_t some : {1, 1000, 65'537, 1'000'003}) counts.insert(some);
    if (member.num_ranks == 2 || member.num_ranks == 3 || member.num_ranks == 8) counts.insert(most);
  }
  const std::size_t blocks = member.num_blocks, peers = rungs::across::parts::sources(member.num_ranks);
  around(blocks * 512 * 8 / item_bytes);                   // a line for each thread
  around(member.tagged_bytes / item_bytes);                // the lines of a step
  around(blocks * 128 * member.num_ranks * vector_items);  // the least parts of all blocks
  for (const std::size_t places : {2 * peers, peers + 1}) {
    const std::size_t room = member.staging_bytes / 2 / blocks / places / 16;
    for (const std::size_t part_bytes : {32 << 10, 64 << 10})
      around(blocks * member.num_ranks * std::min<std::size_t>(room, part_bytes / 16) * vector_items);
  }
  return counts;
}

// How a case differs from a plain call, drawn from its number: every pair of these comes about.
struct twist {
  std::size_t in_offset, out_offset;  // in items, of rank 0; the next rank has others
  bool in_place;
  int late_rank;  // -1: none
};
twist twist_of(int number, int num_ranks) {
  const auto bits = mix(static_cast<std::uint64_t>(number));
  return {bits % 3 == 0 ? 0 : bits % 4, bits % 3 == 0 ? 0 : (bits >> 8) % 4, (bits >> 16) % 4 == 0,
          (bits >> 24) % 6 == 0 ? static_cast<int>((bits >> 32) % num_ranks) : -1};
}

std::string run_case(const across_record& record, const crew& crew, items kind, std::size_t num_items,
                     const twist& twist, const std::string& described) {
  const std::size_t each = bytes_of(record.type), num_bytes = num_items * each;
  const int num_ranks = crew.num_ranks();
  const auto aligned_in = [&](int r) {
    return crew.in(r, twist.in_offset == 0 ? 0 : (twist.in_offset + r) % 4 * each);
  };
  const auto aligned_out = [&](int r) {
    if (twist.in_place) return aligned_in(r);
    return crew.out(r, twist.out_offset == 0 ? 0 : (twist.out_offset + 2 * r) % 4 * each);
  };
  const unsigned char* const expected = shelves->answers_of(record.type, record.op, kind, num_ranks, num_items);
  for (int r = 0; r < num_ranks; ++r) shelves->items_of(record.type, kind, r, num_items);
  crew.each([&](int r) {
    crew.fill(r, aligned_out(r), num_bytes);
    crew.copy(r, aligned_in(r), shelves->items_of(record.type, kind, r, num_items), num_bytes);
  });
  crew.wait(described + ", before the call");
  if (twist.late_rank >= 0) crew.delay(twist.late_rank, 300);
  crew.each([&](int r) {
    check(record.all_reduce(crew.member(r), aligned_in(r), aligned_out(r), num_items, crew.streams[r]));
  });
  crew.wait(described);
  for (int r = 0; r < num_ranks; ++r) {
    const std::string difference = crew.difference(r, aligned_out(r), expected, num_bytes);
    if (!difference.empty()) return described + ": " + difference;
  }
  return {};
}

}  // namespace

verdict examine_all_reduce(std::size_t index) {
  const across_record& record = bench::across_records()[index];
  if (!shelves) shelves = std::make_unique<library>();
  verdict found;
  for (int num_ranks = 1; num_ranks <= rungs::across::max_ranks; ++num_ranks) {
    for (int which = 0; which < num_sizes; ++which) {
      const crew& crew = crew_of(num_ranks, which);
      // What has no fixed order has to be exact in any.
      const items kind = record.fixed_rank_order && which + 1 < num_sizes ? items::rounded : items::whole;
      for (const std::size_t num_items : counts_of(crew.member(0), bytes_of(record.type), which)) {
        const twist twist = twist_of(found.cases, num_ranks);
        const std::string described =
            text(num_ranks, " ranks, size ", which, ", n=", num_items, ", offsets ", twist.in_offset, " and ",
                 twist.out_offset, twist.in_place ? ", in place" : "", ", late ", twist.late_rank);
        std::string wrong = run_case(record, crew, kind, num_items, twist, described);
        ++found.cases;
        if (!wrong.empty()) found.findings.push_back(std::move(wrong));
        if (found.findings.size() == 5) return found;
      }
    }
  }
  return found;
}

// Ranks have different numbers of items, of which some have none. Small whole numbers, whose sums are exact.
verdict examine_reduce(std::size_t index) {
  const across_record& record = bench::across_reductions()[index];
  verdict found;
  const std::size_t each = bytes_of(record.type);
  if (!shelves) shelves = std::make_unique<library>();
  for (int num_ranks = 1; num_ranks <= rungs::across::max_ranks; ++num_ranks) {
    const crew& crew = crew_of(num_ranks, num_sizes - 1);
    for (const std::size_t most : {1, 2, 31, 1000, 4097, 300'001}) {
      const auto count_of = [&](int r) { return r % 3 == 2 ? 0 : most - most * r / (2 * num_ranks); };
      const std::size_t offset = found.cases % 3 * each;
      const std::string described = text(num_ranks, " ranks, up to ", most, " items, offset ", offset);
      const auto answer = with_type(record.type, [&](auto tag) {
        using T = decltype(tag);
        double sum = 0, greatest = -1e9;
        for (int r = 0; r < num_ranks; ++r)
          for (std::size_t i = 0; i < count_of(r); ++i) {
            const double item = widened(item_of<T>(items::whole, r, i, library::seed));
            sum += item;
            greatest = std::max(greatest, item);
          }
        const T value = T(static_cast<float>(record.op == catalog::op::plus ? sum : greatest));
        std::vector<unsigned char> bytes(sizeof(T));
        std::memcpy(bytes.data(), &value, sizeof(T));
        return bytes;
      });
      const memory expected(answer);
      for (int r = 0; r < num_ranks; ++r) shelves->items_of(record.type, items::whole, r, most);
      crew.each([&](int r) {
        crew.fill(r, crew.out(r, offset), each);
        crew.copy(r, crew.in(r, offset), shelves->items_of(record.type, items::whole, r, most), most * each);
      });
      crew.wait(described + ", before the call");
      if (found.cases % 4 == 0) crew.delay(num_ranks / 2, 300);
      crew.each([&](int r) {
        check(record.reduce(crew.member(r), crew.in(r, offset), crew.out(r, offset), count_of(r), crew.streams[r]));
      });
      crew.wait(described);
      ++found.cases;
      for (int r = 0; r < num_ranks; ++r) {
        const std::string difference = crew.difference(r, crew.out(r, offset), expected.get(), each);
        if (!difference.empty()) found.findings.push_back(described + ": " + difference);
      }
      if (found.findings.size() >= 5) return found;
    }
  }
  return found;
}

void clear_examinations() {
  crews.clear();
  shelves.reset();
}

}  // namespace rungs::tests::across
