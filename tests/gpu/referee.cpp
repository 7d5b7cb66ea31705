#include "gpu/referee.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "gpu/histogram_question.hpp"
#include "oracles/histogram_reference.hpp"
#include "oracles/rows_reference.hpp"
#include "oracles/scan_reference.hpp"
#include "text.hpp"

namespace rungs::tests {
namespace {

using catalog::operation;
using catalog::record;

// Small inputs go to the host oracles, which share nothing with the checkers on the device; large ones only if they
// must.
constexpr std::size_t host_judged_items = 4096;
constexpr std::size_t host_judged_outputs = 128;  // the oracle of scans takes the square
constexpr int host_judged_bins = 4096;

class referee_on_site : public referee {
 public:
  referee_on_site(const record& subject, site& where) : subject_(subject), where_(where) {}

 protected:
  std::vector<unsigned char> read(const void* from, catalog::scalar type, std::size_t num_items, cudaStream_t stream) {
    std::vector<unsigned char> items(num_items * catalog::size_of(type) + 8);
    if (num_items > 0) where_.read(items.data(), from, num_items * catalog::size_of(type), stream);
    return items;
  }
  template <class T>
  std::vector<T> read_as(const void* from, std::size_t num_items, cudaStream_t stream) {
    std::vector<T> items(num_items);
    if (num_items > 0) where_.read(items.data(), from, num_items * sizeof(T), stream);
    return items;
  }
  std::string checksum(const judged_call& call) {
    const std::size_t num_outputs = output_items(call.asked);
    if (num_outputs == 0) return "nothing";
    return text("an output with the checksum ",
                where_.checksum(subject_.output_type, call.d_out, num_outputs, call.stream));
  }

  const record& subject_;
  site& where_;
};

// Of reductions, and of dot products: one output.
class referee_of_reductions : public referee_on_site {
 public:
  using referee_on_site::referee_on_site;

  std::size_t output_items(const problem&) const override { return 1; }

  void learn(const judged_call& call, std::uint64_t) override {
    const std::size_t n = call.asked.num_items;
    if (subject_.operation == operation::dot) return learn_dot(call);
    const value init = init_of(subject_, call.asked.init);
    task_.reset();
    if (n > host_judged_items)
      task_ = task_of({subject_.op, true, subject_.input_type, subject_.accumulator_type, init}, call.items, n,
                      allowed_for(subject_, n));
    if (task_) return;
    const auto items = read(call.d_in, subject_.input_type, n, call.stream);
    expected_ = expect(subject_.op, subject_.input_type, subject_.accumulator_type, items.data(), n, init);
  }

  std::optional<std::string> fault(const judged_call& call) override {
    const value got = result(call);
    if (!task_) return disagreement(expected_, got, allowed_for(subject_, call.asked.num_items));
    task_->outputs = &got.bits;
    const scan_report found = where_.check_reduction(*task_, call.stream);
    if (found.num_wrong == 0) return std::nullopt;
    return describe_first(*task_, found);
  }

  std::string fingerprint(const judged_call& call) override { return to_string(subject_.output_type, result(call)); }

 private:
  void learn_dot(const judged_call& call) {
    const std::size_t n = call.asked.num_items;
    task_.reset();
    if (n > host_judged_items)
      task_ = task_of_dot(subject_.input_type, subject_.accumulator_type, call.items, *call.second, n,
                          allowed_for(subject_, n));
    if (task_) return;
    const auto x = read(call.d_in, subject_.input_type, n, call.stream);
    const auto y = read(call.d_second, subject_.input_type, n, call.stream);
    expected_ = expect_dot(subject_.input_type, subject_.accumulator_type, x.data(), y.data(), n);
  }

  value result(const judged_call& call) {
    value v;
    where_.read(&v.bits, call.d_out, catalog::size_of(subject_.output_type), call.stream);
    return v;
  }

  std::optional<scan_task> task_;
  expectation expected_{};  // without a task
};

// Of places of extrema: two words of output for each, the index and one that begins with the item. The host looks at
// all items, at those of the largest inputs once for all records that are asked about them.
class referee_of_places : public referee_on_site {
 public:
  referee_of_places(const record& subject, site& where) : referee_on_site(subject, where) {
    if (subject.op != catalog::op::maximum) ops_.push_back(catalog::op::minimum);
    if (subject.op != catalog::op::minimum) ops_.push_back(catalog::op::maximum);
  }

  std::size_t output_items(const problem&) const override { return 2 * ops_.size(); }

  void learn(const judged_call& call, std::uint64_t) override {
    expected_.clear();
    for (const catalog::op which : ops_) expected_.push_back(place_of(which, call));
  }

  std::optional<std::string> fault(const judged_call& call) override {
    const std::vector<found> got = result(call);
    for (std::size_t i = 0; i < ops_.size(); ++i)
      if (got[i].index != expected_[i].index || got[i].item != expected_[i].item)
        return text("expected the ", name(ops_[i]), " ", to_string(subject_.input_type, expected_[i].item), " at ",
                    expected_[i].index, ", got ", described(got[i]));
    return std::nullopt;
  }

  std::string fingerprint(const judged_call& call) override {
    std::string all;
    for (const found& each : result(call)) all += described(each) + "; ";
    return all;
  }

 private:
  struct found {
    std::uint64_t index;
    value item;
  };
  std::vector<found> result(const judged_call& call) {
    const auto words = read(call.d_out, catalog::scalar::u64, 2 * ops_.size(), call.stream);
    std::vector<found> got(ops_.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const unsigned char* const own = words.data() + 16 * i;
      std::memcpy(&got[i].index, own, sizeof got[i].index);
      std::memcpy(&got[i].item.bits, own + sizeof got[i].index, catalog::size_of(subject_.input_type));
    }
    return got;
  }
  place_of_extremum place_of(catalog::op which, const judged_call& call) {
    constexpr std::size_t many_items = std::size_t{1} << 30, chunk_items = std::size_t{1} << 24;
    static std::map<std::tuple<catalog::op, catalog::scalar, std::size_t, std::uint64_t>, place_of_extremum> of_many;
    const std::size_t n = call.asked.num_items;
    const std::tuple key{which, subject_.input_type, n, call.items.seed};
    if (const auto known = of_many.find(key); n >= many_items && known != of_many.end()) return known->second;
    place_of_extremum expected = no_place(which, subject_.input_type);
    const std::size_t size = catalog::size_of(subject_.input_type);
    std::vector<unsigned char> chunk(std::min(chunk_items, n) * size);
    for (std::size_t first = 0; first < n; first += chunk_items) {
      const std::size_t count = std::min(chunk_items, n - first);
      where_.read(chunk.data(), static_cast<const unsigned char*>(call.d_in) + first * size, count * size, call.stream);
      look_at(expected, which, subject_.input_type, chunk.data(), first, count);
    }
    if (n >= many_items) of_many[key] = expected;
    return expected;
  }
  std::string described(const found& got) const {
    return text(to_string(subject_.input_type, got.item), " at ", got.index);
  }

  std::vector<catalog::op> ops_;
  std::vector<place_of_extremum> expected_;
};

// Of selections: the items, their number, and that no more is written. The host chooses among all items.
class referee_of_selections : public referee_on_site {
 public:
  using referee_on_site::referee_on_site;

  std::size_t output_items(const problem& asked) const override {
    return asked.num_items + catalog::count_room_bytes / size();
  }

  void learn(const judged_call& call, std::uint64_t) override {
    constexpr std::size_t chunk_items = std::size_t{1} << 24;
    const std::size_t n = call.asked.num_items;
    chosen_.clear();
    for (std::size_t first = 0; first < n; first += chunk_items) {
      const std::size_t count = std::min(chunk_items, n - first);
      const auto items =
          read(static_cast<const unsigned char*>(call.d_in) + first * size(), subject_.input_type, count, call.stream);
      append_less(chosen_, subject_.input_type, threshold_of(subject_, call.asked.percent), items.data(), count);
    }
  }

  std::optional<std::string> fault(const judged_call& call) override {
    const std::size_t n = call.asked.num_items, expected = chosen_.size() / size();
    const std::uint64_t count = count_of(call);
    if (count != expected) return text("expected ", expected, " chosen items, got ", count);
    const auto outputs = read(call.d_out, subject_.output_type, n, call.stream);
    const auto differs = std::ranges::mismatch(chosen_, outputs);
    if (differs.in1 != chosen_.end())
      return text("chosen item ", (differs.in1 - chosen_.begin()) / static_cast<std::ptrdiff_t>(size()), " of ", count,
                  " is wrong");
    // The room was filled with one of two bytes before the call.
    const auto behind = outputs.begin() + static_cast<std::ptrdiff_t>(chosen_.size()),
               end = outputs.begin() + static_cast<std::ptrdiff_t>(n * size());
    if (behind == end || ((*behind == 0xff || *behind == 0x55) && std::count(behind, end, *behind) == end - behind))
      return std::nullopt;
    return text("wrote behind the ", count, " chosen items");
  }

  std::string fingerprint(const judged_call& call) override {
    const std::uint64_t count = count_of(call);
    const std::size_t there = std::min<std::size_t>(count, call.asked.num_items);
    return text(count, " items with the checksum ",
                there == 0 ? 0 : where_.checksum(subject_.output_type, call.d_out, there, call.stream));
  }

 private:
  std::size_t size() const { return catalog::size_of(subject_.input_type); }
  std::uint64_t count_of(const judged_call& call) {
    std::uint64_t count = 0;
    auto* const d_out = const_cast<void*>(call.d_out);
    where_.read(&count, catalog::count_behind(d_out, call.asked.num_items, size()), sizeof count, call.stream);
    return count;
  }

  std::vector<unsigned char> chosen_;
};

// Of the rows of a matrix: a reduction each.
class referee_of_rows : public referee_on_site {
 public:
  using referee_on_site::referee_on_site;

  std::size_t output_items(const problem& asked) const override { return asked.num_rows; }

  void learn(const judged_call& call, std::uint64_t) override {
    const std::size_t n = call.asked.num_items, columns = call.asked.num_columns;
    const value init = init_of(subject_, call.asked.init);
    task_.reset();
    expected_.clear();
    if (n > host_judged_items)
      task_ = task_of({subject_.op, true, subject_.input_type, subject_.accumulator_type, init}, call.items, n,
                      allowed_for(subject_, columns));
    if (task_) return;
    const auto items = read(call.d_in, subject_.input_type, n, call.stream);
    const std::size_t row_bytes = columns * catalog::size_of(subject_.input_type);
    for (std::size_t row = 0; row < call.asked.num_rows; ++row)
      expected_.push_back(expect(subject_.op, subject_.input_type, subject_.accumulator_type,
                                 items.data() + row * row_bytes, columns, init));
  }

  std::optional<std::string> fault(const judged_call& call) override {
    if (task_) {
      task_->outputs = call.d_out;
      const scan_report found = where_.check_rows(*task_, call.asked.num_columns, call.stream);
      if (found.num_wrong == 0) return std::nullopt;
      return text("row ", found.first, " of ", call.asked.num_rows, ": ", describe_first(*task_, found), "; ",
                  found.num_wrong, " rows are wrong");
    }
    const auto outputs = read(call.d_out, subject_.output_type, expected_.size(), call.stream);
    const std::size_t size = catalog::size_of(subject_.output_type);
    for (std::size_t row = 0; row < expected_.size(); ++row) {
      value got;
      std::memcpy(&got.bits, outputs.data() + row * size, size);
      if (const auto wrong = disagreement(expected_[row], got, allowed_for(subject_, call.asked.num_columns)))
        return text("row ", row, " of ", expected_.size(), ": ", *wrong);
    }
    return std::nullopt;
  }

  std::string fingerprint(const judged_call& call) override { return checksum(call); }

 private:
  std::optional<scan_task> task_;
  std::vector<expectation> expected_;  // without a task
};

// Of top-k of rows, all outputs by the host.
class referee_of_top_k : public referee_on_site {
 public:
  using referee_on_site::referee_on_site;

  std::size_t output_items(const problem& asked) const override { return 2 * asked.num_rows * asked.k; }

  void learn(const judged_call& call, std::uint64_t) override {
    const auto items = read_as<std::uint32_t>(call.d_in, call.asked.num_items, call.stream);
    expected_ = greatest_of_rows(subject_.input_type, items, call.asked.num_columns, call.asked.k);
  }

  std::optional<std::string> fault(const judged_call& call) override {
    return disagreement(expected_, read_as<std::uint32_t>(call.d_out, expected_.size(), call.stream), call.asked.k);
  }

  std::string fingerprint(const judged_call& call) override { return checksum(call); }

 private:
  std::vector<std::uint32_t> expected_;
};

// Of norms of rows, all outputs by the host.
class referee_of_norms : public referee_on_site {
 public:
  using referee_on_site::referee_on_site;

  std::size_t output_items(const problem& asked) const override { return asked.num_items; }

  void learn(const judged_call& call, std::uint64_t) override {
    items_ = read_as<float>(call.d_in, call.asked.num_items, call.stream);
    weights_ = read_as<float>(call.d_second, std::min(call.asked.num_columns, call.asked.num_items), call.stream);
  }

  std::optional<std::string> fault(const judged_call& call) override {
    return judge_norms(subject_, items_, weights_, read_as<float>(call.d_out, call.asked.num_items, call.stream)).wrong;
  }

  std::string fingerprint(const judged_call& call) override { return checksum(call); }

 private:
  std::vector<float> items_, weights_;
};

class referee_of_scans : public referee_on_site {
 public:
  using referee_on_site::referee_on_site;

  std::size_t output_items(const problem& asked) const override { return asked.num_items; }

  void learn(const judged_call& call, std::uint64_t) override {
    if (call.asked.num_items <= host_judged_outputs)
      items_ = read(call.d_in, subject_.input_type, call.asked.num_items, call.stream);
  }

  std::optional<std::string> fault(const judged_call& call) override {
    const std::size_t n = call.asked.num_items;
    const tolerance allowed = allowed_for(subject_, n);
    scan_call scan{subject_.op, subject_.operation == operation::inclusive_scan, subject_.input_type,
                   subject_.accumulator_type};
    if (subject_.takes_init) scan.init = init_of(subject_, call.asked.init);
    if (n <= host_judged_outputs) {
      const auto outputs = read(call.d_out, subject_.output_type, n, call.stream);
      return disagreement(scan, items_.data(), outputs.data(), n, allowed);
    }
    auto task = task_of(scan, call.items, n, allowed);
    if (!task) return "there is no reference for a scan of these types";
    task->outputs = call.d_out;
    const scan_report found = where_.check_scan(*task, call.stream);
    if (found.num_wrong == 0) return std::nullopt;
    return describe(*task, found);
  }

  std::string fingerprint(const judged_call& call) override { return checksum(call); }

 private:
  std::vector<unsigned char> items_;
};

class referee_of_histograms : public referee_on_site {
 public:
  referee_of_histograms(const record& subject, site& where) : referee_on_site(subject, where), counts_(where) {}

  std::size_t output_items(const problem& asked) const override {
    return static_cast<std::size_t>(asked.num_bins) * static_cast<std::size_t>(subject_.num_active_channels);
  }

  void learn(const judged_call& call, std::uint64_t) override {
    const histogram_question& question = histogram_question::of(subject_, call.asked);
    if (call.asked.num_items <= host_judged_items && call.asked.num_bins <= host_judged_bins) {
      const auto samples = read(call.d_in, subject_.input_type, call.asked.num_items, call.stream);
      expected_ = tests::count(question.call(), samples.data(), call.asked.num_items);
      return;
    }
    histogram_task task{.sample = subject_.input_type,
                        .samples = call.d_in,
                        .num_items = call.asked.num_items,
                        .num_channels = subject_.num_channels,
                        .num_active_channels = subject_.num_active_channels,
                        .num_bins = call.asked.num_bins};
    task.boundaries = static_cast<const std::uint64_t*>(question.boundaries(where_).items);
    zones ignored;
    task.counts = static_cast<unsigned long long*>(counts_.place(task.num_counts() * sizeof(*task.counts), 0, ignored));
    where_.count(task, call.stream);
    const std::size_t num_counters = task.num_counters();
    expected_ = {};
    expected_.bins.resize(num_counters);
    where_.read(expected_.bins.data(), task.counts, num_counters * sizeof(*task.counts), call.stream);
    expected_.inside = std::accumulate(expected_.bins.begin(), expected_.bins.end(), std::uint64_t{0});
  }

  std::optional<std::string> fault(const judged_call& call) override {
    const auto counters = read(call.d_out, subject_.output_type, output_items(call.asked), call.stream);
    return disagreement(histogram_question::of(subject_, call.asked).call(), expected_,
                        reinterpret_cast<const std::uint32_t*>(counters.data()));
  }

  std::string fingerprint(const judged_call& call) override { return checksum(call); }

 private:
  counted expected_{};
  guarded_buffer counts_;
};

// A checksum takes in items as whole numbers, and where they stand: that of what was widened is that of its input.
class referee_of_roofs : public referee_on_site {
 public:
  using referee_on_site::referee_on_site;

  std::size_t output_items(const problem& asked) const override {
    return subject_.operation == operation::fill || brings_items() ? asked.num_items : 0;
  }

  void learn(const judged_call&, std::uint64_t of_input) override { of_input_ = of_input; }

  std::optional<std::string> fault(const judged_call& call) override {
    if (output_items(call.asked) == 0) return std::nullopt;
    const std::size_t n = call.asked.num_items;
    if (brings_items() && where_.checksum(subject_.output_type, call.d_out, n, call.stream) != of_input_)
      return "the output differs from the input";
    if (subject_.operation == operation::fill &&
        !where_.is_all_zeros(call.d_out, n * catalog::size_of(subject_.output_type), call.stream))
      return "the output is not all zeros";
    return std::nullopt;
  }

  std::string fingerprint(const judged_call& call) override { return checksum(call); }

 private:
  bool brings_items() const {
    return subject_.operation == operation::copy || subject_.operation == operation::widen_bytes ||
           subject_.operation == operation::widen_halves;
  }

  std::uint64_t of_input_ = 0;
};

}  // namespace

std::unique_ptr<referee> referee_of(const record& subject, site& where) {
  if (catalog::is_histogram(subject.operation)) return std::make_unique<referee_of_histograms>(subject, where);
  if (catalog::is_scan(subject.operation)) return std::make_unique<referee_of_scans>(subject, where);
  if (subject.operation == operation::row_reduce) return std::make_unique<referee_of_rows>(subject, where);
  if (subject.operation == operation::top_k) return std::make_unique<referee_of_top_k>(subject, where);
  if (subject.operation == operation::row_norm) return std::make_unique<referee_of_norms>(subject, where);
  if (subject.operation == operation::arg_extremum) return std::make_unique<referee_of_places>(subject, where);
  if (subject.operation == operation::select_if) return std::make_unique<referee_of_selections>(subject, where);
  if (subject.operation == operation::reduce || subject.operation == operation::dot)
    return std::make_unique<referee_of_reductions>(subject, where);
  return std::make_unique<referee_of_roofs>(subject, where);
}

}  // namespace rungs::tests
