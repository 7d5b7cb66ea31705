#include "gpu/entries.hpp"

#include <algorithm>
#include <stdexcept>

#include "catalog.hpp"
#include "gpu/histogram_question.hpp"
#include "gpu/library_faults.hpp"
#include "gpu/site.hpp"
#include "oracles/histogram_reference.hpp"
#include "oracles/reference.hpp"
#include "oracles/scan_reference.hpp"
#include "text.hpp"
#include "wrong/wrong.hpp"

namespace rungs::tests {
namespace {

// The device checker against the host oracle, on what the oracle can do: each type, distribution and some sizes.
verdict checker_agrees_with_oracle(catalog::scalar type, const examination& how) {
  verdict v;
  if (!no_gpu_reason().empty()) {
    v.skipped = no_gpu_reason();
    return v;
  }
  guarded_buffer memory(device_site());
  for (const std::size_t n : {std::size_t{1}, std::size_t{257}, std::size_t{4096}, std::size_t{99991}}) {
    for (int d = 0; d < num_distributions; ++d) {
      const sample s = make_sample(static_cast<distribution>(d), how.seed + n, n);
      const std::string case_name = text("n=", n, " distribution=", name(s.kind));
      if (!how.only_case.empty() && how.only_case != case_name) continue;
      how.on_case(case_name);
      ++v.cases;
      try {
        device::zones guards;
        void* const d_items = memory.place(n * catalog::size_of(type), catalog::size_of(type), guards);
        device::paint(guards, 1, nullptr);
        device::generate(type, d_items, s, nullptr);
        const summary on_device = device::summarise(type, d_items, n, nullptr);
        if (device::inspect(guards, 1, nullptr)) v.findings.push_back({case_name, "the generator wrote outside"});
        std::vector<unsigned char> items(n * catalog::size_of(type)), made(items.size());
        device_site().read(items.data(), d_items, items.size(), nullptr);
        host_site().generate(type, made.data(), s, nullptr);
        if (items != made) v.findings.push_back({case_name, "host and device made different items"});
        const bool floating = is_floating(type);
        const catalog::scalar accumulator =
            floating ? (type == catalog::scalar::f64 ? type : catalog::scalar::f32) : type;
        for (const auto which : {catalog::op::plus, catalog::op::minimum, catalog::op::maximum}) {
          const value init =
              with_type(accumulator, [](auto t) { return make_value(from_double<typename decltype(t)::type>(3)); });
          const auto ours = expect(which, type, accumulator, on_device, init);
          const auto oracle = expect(which, type, accumulator, items.data(), n, init);
          if (!ours) continue;  // the checker knows that it does not know
          if (ours->is_nan != oracle.is_nan || (!oracle.is_nan && !(ours->exact == oracle.exact)) ||
              (which == catalog::op::plus && floating && ours->is_exact != oracle.is_exact))
            v.findings.push_back(
                {case_name, text(catalog::name(which), ": checker ", to_string(accumulator, ours->exact), ", oracle ",
                                 to_string(accumulator, oracle.exact))});
        }
      } catch (const std::exception& error) {
        v.findings.push_back({case_name, error.what()});
        v.device_lost = true;
        return v;
      }
    }
  }
  return v;
}

// The checker of scans on the device against outputs that the oracle accepts, and against the same with one of them
// off.
template <class T>
void scan_checker_agrees(verdict& v, const examination& how, catalog::op which, catalog::scalar type) {
  guarded_buffer memory(device_site());
  for (const bool inclusive : {true, false})
    for (const std::size_t n : {std::size_t{1}, std::size_t{257}, std::size_t{4097}, std::size_t{1300001}}) {
      const std::string case_name =
          text(catalog::name(which), " of ", catalog::name(type), " n=", n, inclusive ? " inclusive" : " exclusive");
      if (!how.only_case.empty() && how.only_case != case_name) continue;
      how.on_case(case_name);
      ++v.cases;
      const sample s = make_sample(distribution::exact, how.seed + n, n, sizeof(T) == 8 ? 53 : 24);
      T all;
      if constexpr (std::is_same_v<T, affine>)
        all = {5, 41};
      else
        all = static_cast<T>(-3);
      scan_call call{which, inclusive, type, type, make_value(all)};
      std::vector<T> items(n), outputs(n);
      for (std::size_t i = 0; i < n; ++i) {
        const T next = items[i] = item<T>(s, i);
        if (!inclusive) outputs[i] = all;
        if constexpr (std::is_same_v<T, affine>)
          all = {all.slope * next.slope, all.offset * next.slope + next.offset};
        else if constexpr (std::is_floating_point_v<T>)
          all += next;
        else
          all = which == catalog::op::plus
                    ? static_cast<T>(static_cast<std::uint64_t>(all) + static_cast<std::uint64_t>(next))
                    : std::max(all, next);
        if (inclusive) outputs[i] = all;
      }
      if (n < 1000)
        if (const auto wrong = disagreement(call, items.data(), outputs.data(), n, {}))
          v.findings.push_back({case_name, text("the oracle does not accept a plain scan: ", *wrong)});
      auto task = task_of(call, s, n, {});
      device::zones ignored;
      void* const d_outputs = memory.place(n * sizeof(T), sizeof(T), ignored);
      task->outputs = d_outputs;
      const auto checked = [&] {
        device::check(cudaMemcpy(d_outputs, outputs.data(), n * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
        return device::check_scan(*task, nullptr);
      };
      if (const scan_report found = checked(); found.num_wrong != 0)
        v.findings.push_back({case_name, text("refused a plain scan: ", describe(*task, found))});
      for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
        const T right = outputs[place];
        auto* const bytes = reinterpret_cast<unsigned char*>(&outputs[place]);
        bytes[sizeof(T) - 1] = static_cast<unsigned char>(bytes[sizeof(T) - 1] ^ 0x40);
        const scan_report found = checked();
        outputs[place] = right;
        if (found.num_wrong != 1 || found.first != place)
          v.findings.push_back({case_name, text("output ", place, " is off, but: ", describe(*task, found))});
      }
    }
}
verdict scan_checker_agrees_with_oracle(const examination& how) {
  verdict v;
  if (!no_gpu_reason().empty()) {
    v.skipped = no_gpu_reason();
    return v;
  }
  try {
    using catalog::op, catalog::scalar;
    scan_checker_agrees<std::int32_t>(v, how, op::plus, scalar::i32);
    scan_checker_agrees<std::int64_t>(v, how, op::maximum, scalar::i64);
    scan_checker_agrees<float>(v, how, op::plus, scalar::f32);
    scan_checker_agrees<double>(v, how, op::plus, scalar::f64);
    scan_checker_agrees<affine>(v, how, op::compose, scalar::affine);
  } catch (const std::exception& error) {
    v.findings.push_back({"device", error.what()});
    v.device_lost = true;
  }
  return v;
}

// The checker of histograms on the device against the oracle, whose counters it must accept, and refuse with one of
// them off.
void histogram_checker_agrees(verdict& v, const examination& how, const histogram_call& call, levels_kind kind,
                              distribution drawn) {
  const std::string case_name = text(catalog::name(call.sample), call.even ? " even " : " any edges ", name(kind), ' ',
                                     call.num_bins, " bins ", name(drawn));
  if (!how.only_case.empty() && how.only_case != case_name) return;
  how.on_case(case_name);
  ++v.cases;
  site& where = device_site();
  const histogram_question question(call);
  const auto table = question.table(table_of(drawn), where);
  const std::size_t size = catalog::size_of(call.sample);
  sample made = make_sample(drawn, how.seed, 40000);
  made.table = table.items;
  made.table_items = static_cast<std::uint32_t>(table.num_items);
  made.group = static_cast<std::uint32_t>(call.num_channels);
  guarded_buffer samples(where), counts(where), counters(where);
  device::zones ignored;
  histogram_task task{.sample = call.sample, .num_items = made.num_items};
  task.num_channels = call.num_channels;
  task.num_active_channels = call.num_active_channels;
  task.num_bins = call.num_bins;
  task.boundaries = static_cast<const std::uint64_t*>(question.boundaries(where).items);
  void* const d_samples = samples.place(made.num_items * size, size, ignored);
  task.samples = d_samples;
  task.counts = static_cast<unsigned long long*>(counts.place(task.num_counts() * 8, 0, ignored));
  auto* const d_counters = static_cast<std::uint32_t*>(counters.place(task.num_counters() * 4, 4, ignored));
  device::generate(call.sample, d_samples, made, nullptr);
  device::count(task, nullptr);
  std::vector<unsigned char> items(made.num_items * size);
  where.read(items.data(), d_samples, items.size(), nullptr);
  const counted expected = count(call, items.data(), made.num_items);
  std::vector<unsigned long long> got(task.num_counts());
  where.read(got.data(), task.counts, got.size() * sizeof got[0], nullptr);
  std::vector<unsigned long long> all(expected.bins.begin(), expected.bins.end());
  all.insert(all.end(), {expected.below, expected.above, expected.nans});
  if (got != all) v.findings.push_back({case_name, "the checker counts otherwise than the oracle"});
  std::vector<std::uint32_t> right(expected.bins.begin(), expected.bins.end());
  const auto checked = [&] {
    where.write(d_counters, right.data(), right.size() * sizeof right[0]);
    return device::check_counts(task, d_counters, nullptr);
  };
  if (checked().num_wrong != 0) v.findings.push_back({case_name, "refused what the oracle counted"});
  for (const std::size_t place : {std::size_t{0}, right.size() / 2, right.size() - 1}) {
    right[place] += 5;
    const histogram_report found = checked();
    if (found.num_wrong != 1 || found.first != place || found.got != right[place] ||
        found.expected != right[place] - 5 || found.sum != found.inside + 5)
      v.findings.push_back({case_name, text("counter ", place, " is off, but it found ", found.num_wrong,
                                            " wrong, first ", found.first)});
    right[place] -= 5;
  }
}
verdict histogram_checker_agrees_with_oracle(const examination& how) {
  verdict v;
  if (!no_gpu_reason().empty()) {
    v.skipped = no_gpu_reason();
    return v;
  }
  try {
    using catalog::scalar;
    for (const auto& [type, level] :
         {std::pair{scalar::u8, scalar::i32}, std::pair{scalar::i16, scalar::i32}, std::pair{scalar::i32, scalar::i32},
          std::pair{scalar::u32, scalar::u32}, std::pair{scalar::f16, scalar::f32}, std::pair{scalar::f32, scalar::f32},
          std::pair{scalar::f64, scalar::f64}})
      for (const bool even : {true, false})
        for (const levels_kind kind : {levels_kind::unit, levels_kind::ragged, levels_kind::whole})
          for (const int bins : {1, 256, 65536}) {
            histogram_call call = make_levels(kind, even, type, level, bins);
            if (bins == 256) call.num_channels = 4, call.num_active_channels = 3;
            for (const distribution drawn : {distribution::edges, distribution::any_bits})
              histogram_checker_agrees(v, how, call, kind, drawn);
          }
  } catch (const std::exception& error) {
    v.findings.push_back({"device", error.what()});
    v.device_lost = true;
  }
  return v;
}

// The other records of the same variant.
std::vector<const catalog::record*> peers_of(const catalog::record& r) {
  std::vector<const catalog::record*> peers;
  for (const catalog::record& other : catalog::all())
    if (&other != &r && other.source == r.source && other.rung == r.rung && other.ladder == r.ladder)
      peers.push_back(&other);
  return peers;
}

// The very cases that guard the catalog must refuse a planted bug, and pass it where the bug does not show.
verdict refuses(const wrong::exhibit& exhibit, const examination& how) {
  verdict all;
  const auto examined = [&](const char* only) {
    examination part = how;
    part.only_case = only;
    verdict v = examine(exhibit.what, part);
    all.cases += v.cases;
    all.device_lost |= v.device_lost;
    if (!v.skipped.empty()) all.skipped = v.skipped;
    return v;
  };
  const verdict passing = examined(exhibit.passes);
  if (!all.skipped.empty()) return all;
  if (passing.cases == 0) all.findings.push_back({exhibit.passes, "there is no such case"});
  for (const finding& f : passing.findings) all.findings.push_back({f.case_name, text("meant to pass, but: ", f.what)});
  if (*exhibit.refused_by == '\0' || all.device_lost) return all;
  const verdict refusing = examined(exhibit.refused_by);
  if (refusing.cases == 0)
    all.findings.push_back({exhibit.refused_by, "there is no such case"});
  else if (refusing.findings.empty())
    all.findings.push_back({exhibit.refused_by, "the planted bug survived"});
  else
    all.notes.push_back(text("refused by ", refusing.findings[0].case_name, ": ", refusing.findings[0].what));
  return all;
}

}  // namespace

std::vector<entry> all_entries(const std::function<bool(const std::string&)>& wanted) {
  std::vector<entry> entries;
  using catalog::scalar;
  for (const scalar type : {scalar::i8, scalar::u8, scalar::i16, scalar::u16, scalar::i32, scalar::u32, scalar::i64,
                            scalar::u64, scalar::f16, scalar::bf16, scalar::f32, scalar::f64})
    entries.push_back({"checker", std::string(catalog::name(type)),
                       [type](const examination& how) { return checker_agrees_with_oracle(type, how); }});
  entries.push_back({"checker", "scans", scan_checker_agrees_with_oracle});
  entries.push_back({"checker", "histograms", histogram_checker_agrees_with_oracle});
  for (const catalog::record& r : catalog::all())
    if (wanted(full_name(r)))
      entries.push_back({"catalog", full_name(r), [&r](const examination& how) {
                           examination with_peers = how;
                           with_peers.peers = peers_of(r);
                           return examine(r, with_peers);
                         }});
  for (const library_fault& fault : library_faults())
    for (const catalog::record& r : catalog::all())
      if (fault.concerns(r) && wanted(full_name(r)))
        entries.push_back({"library_fault", text(fault.name, '/', full_name(r)),
                           [&r, &fault](const examination& how) { return examine(r, fault, how); }});
  for (const auto exhibits : {wrong::all(), wrong::chains()})
    for (const wrong::exhibit& e : exhibits)
      entries.push_back({"wrong", std::string(e.what.rung), [&e](const examination& how) { return refuses(e, how); }});
  return entries;
}

}  // namespace rungs::tests
