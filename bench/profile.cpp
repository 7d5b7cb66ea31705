#include "profile.hpp"

#include "check.hpp"
#include "places.hpp"

namespace rungs::bench {
namespace {

std::string in_words(const char* what, cudaError_t error) { return std::string(what) + cudaGetErrorString(error); }

// Why a case is not to be believed; sets what else is known of it.
std::string show(device_place& where, const contender& one, const std::string& range, profiled_case& into) {
  const auto wrong = [&](std::string why) {
    into.wrong = true;
    return why;
  };
  where.poison_output(one);
  if (const cudaError_t error = where.call(one); cannot_run_here(error))
    return in_words("refused by the variant: ", error);
  else if (error != cudaSuccess)
    return wrong(in_words("the call failed: ", error));
  if (const judgement before = where.verify(one); !before.right) return wrong("wrong: " + before.why);
  // Of a call that waits for the host it is not known how many kernels are its own.
  into.launches = launches_of(one, where.stream());
  if (!into.launches) return "the call cannot be captured, so its kernels cannot be counted";
  where.poison_output(one);
  if (const cudaError_t error = where.call_in_view(one, range); error != cudaSuccess)
    return wrong(in_words("the call failed: ", error));
  if (const judgement after = where.verify(one); !after.right) return wrong("wrong in the profiler: " + after.why);
  return "";
}

}  // namespace

std::string range_name(std::size_t i) { return "rungs_case_" + std::to_string(i); }

std::vector<profiled_case> profile(const run_plan& plan, const device_facts& device, std::uint64_t seed,
                                   const std::function<void(const std::string&)>& on_progress) {
  std::vector<profiled_case> all;
  for (const bench_case& one : plan.cases) {
    if (one.asked_for && one.mode == mode::cold && !plan.problems[one.problem].on_host) all.push_back({.which = &one});
  }
  if (all.empty()) throw usage_error("--profile: none of these cases runs cold on the GPU");

  device_place where(device, plan.problems);
  where.warm_up();
  for (std::size_t first = 0, last = 0; first < all.size(); first = last) {  // a problem at a time
    const std::size_t index = all[first].which->problem;
    const problem& about = plan.problems[index];
    while (last < all.size() && all[last].which->problem == index) ++last;
    const value_bytes init = init_of(about.op, about.accumulator_type, 0);
    where.fill(about, {about.input_type, about.num_items, seed, true}, 0);  // whole numbers: sums are exact
    std::vector<contender> bound(last - first);
    for (std::size_t i = first; i < last; ++i) {
      bound[i - first].record = all[i].which->record;
      bound[i - first].arguments.num_items = about.num_items;
      bound[i - first].arguments.init = init.data();
    }
    const auto errors = where.bind(bound);
    for (std::size_t i = first; i < last; ++i) {
      on_progress(all[i].which->name);
      const cudaError_t error = errors[i - first];
      if (error == cudaSuccess) {
        all[i].why_not = show(where, bound[i - first], range_name(i), all[i]);
      } else {
        all[i].why_not = in_words("the size query failed: ", error);
        all[i].wrong = !cannot_run_here(error);
      }
    }
  }
  return all;
}

json to_json(const std::vector<profiled_case>& all, const run_plan& plan, const run_facts& about) {
  json file;
  file["schema"] = "rungs.profile/1";
  file["run"] = about.run;
  file["gpu"] = about.gpu;
  file["commit"] = about.commit;
  file["arguments"] = about.arguments;
  file["context"] = about.context;
  file["cases"] = file["skipped"] = json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bench_case& which = *all[i].which;
    json entry;
    entry["range"] = range_name(i);
    entry["ladder"] = which.record->ladder;
    entry.update(identify(*which.record, plan.problems[which.problem], which.mode));
    if (all[i].why_not.empty())
      entry["kernels"] = all[i].launches->kernels;
    else
      entry["reason"] = all[i].why_not;
    file[all[i].why_not.empty() ? "cases" : "skipped"].push_back(entry);
  }
  return file;
}

}  // namespace rungs::bench
