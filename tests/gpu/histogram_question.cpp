#include "gpu/histogram_question.hpp"

#include <tuple>

#include "oracles/histogram_reference.hpp"

namespace rungs::tests {

const histogram_question& histogram_question::of(const catalog::record& subject, const problem& p) {
  const bool even = subject.operation != catalog::operation::histogram_range;
  using key = std::tuple<catalog::scalar, catalog::scalar, bool, int, int, int, levels_kind>;
  static std::mutex guard;
  static auto& all = *new std::map<key, std::unique_ptr<histogram_question>>;
  const std::lock_guard lock(guard);
  auto& wanted = all[{subject.input_type, subject.level_type, even, p.num_bins, subject.num_channels,
                      subject.num_active_channels, p.levels}];
  if (!wanted) {
    histogram_call call = make_levels(p.levels, even, subject.input_type, subject.level_type, p.num_bins);
    call.num_channels = subject.num_channels;
    call.num_active_channels = subject.num_active_channels;
    wanted = std::make_unique<histogram_question>(std::move(call));
  }
  return *wanted;
}

histogram_question::kept histogram_question::keep(int which, site& where,
                                                  const std::function<std::vector<unsigned char>()>& make,
                                                  std::size_t item_bytes) const {
  const std::lock_guard lock(guard_);
  kept& copy = copies_[{&where, which}];
  if (copy.items == nullptr) {
    const std::vector<unsigned char> bytes = make();
    void* const memory = where.allocate(bytes.size(), true);
    where.write(memory, bytes.data(), bytes.size());
    copy = {memory, bytes.size() / item_bytes};
  }
  return copy;
}

histogram_question::kept histogram_question::boundaries(site& where) const {
  return keep(
      -1, where,
      [&] {
        const auto keys = tests::boundaries(call_);
        const auto* const first = reinterpret_cast<const unsigned char*>(keys.data());
        return std::vector<unsigned char>(first, first + keys.size() * sizeof(keys[0]));
      },
      sizeof(std::uint64_t));
}

histogram_question::kept histogram_question::levels(site& where) const {
  return keep(
      -2, where, [&] { return call_.levels; }, catalog::size_of(call_.level));
}

histogram_question::kept histogram_question::table(table_kind kind, site& where) const {
  return keep(
      static_cast<int>(kind), where, [&] { return make_table(call_, kind); }, catalog::size_of(call_.sample));
}

bool histogram_question::leaves_the_last_bin(const histogram_call& call) {
  if (!call.even || !is_floating(call.sample)) return false;
  // The formula never falls: the last sample below the upper level decides.
  const histogram_oracle oracle(call);
  return with_type(call.sample, [&]<class T>(type_tag<T>) {
    const double upper =
        with_type(call.level, [&](auto l) { return to_double(as<typename decltype(l)::type>(call.level_at(1))); });
    T last = from_double<T>(upper);
    if constexpr (is_float<T>)
      if (to_double(last) >= upper) last = neighbour(last, -1);
    return oracle.unclamped(to_double(last)) >= call.num_bins;
  });
}

}  // namespace rungs::tests
