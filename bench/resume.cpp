#include "resume.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "check.hpp"
#include "scan_oracle.hpp"

namespace rungs::bench {
namespace {

namespace fs = std::filesystem;

constexpr auto to_call_again = "--resume: ";

// What rows, skipped cases, twins, ceilings and floors are known by in a file.
std::string key_of(const json& entry, std::initializer_list<const char*> fields) {
  json key = json::array();
  for (const char* field : fields) key.push_back(entry.value(field, json()));
  return key.dump();
}
std::string cell_key(const json& entry) {
  return key_of(entry,
                {"operation", "operator", "input_type", "accumulator_type", "items", "shape", "distribution", "mode"});
}
std::string case_key(const json& entry) { return cell_key(entry) + key_of(entry, {"family", "ladder", "rung"}); }
std::string case_key(const bench_case& one, const problem& about) {
  json entry = identify(*one.record, about, one.mode);
  entry["ladder"] = std::string(one.record->ladder);
  return case_key(entry);
}
std::string ceiling_key(const json& entry) { return key_of(entry, {"kind", "mode", "bytes"}); }

double number_or_nan(const json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

json read_json(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw usage_error(to_call_again + path.string() + " cannot be read");
  try {
    return json::parse(file);
  } catch (const json::exception&) {
    throw usage_error(to_call_again + path.string() + " is no JSON; a packed file has to be unpacked");
  }
}

// Of a packed file that may not be there.
json read_packed_json(const fs::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string text;
  char part[1 << 16];
  for (int count; file != nullptr && (count = gzread(file.get(), part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(count));
  return json::parse(text, nullptr, false);
}

// An entry of the first list, or where the second has one of that name, that.
template <class Join>
json joined(const json& first, const json& second, const Join& join) {
  std::map<std::string, const json*> later;
  for (const json& one : second) later[ceiling_key(one)] = &one;
  json all = json::array();
  for (const json& one : first) {
    const auto again = later.find(ceiling_key(one));
    all.push_back(again == later.end() ? one : join(one, *again->second));
    later.erase(ceiling_key(one));
  }
  for (const json& one : second)
    if (later.contains(ceiling_key(one))) all.push_back(one);
  return all;
}

// A roof that both parts visited drifts from its first visit to its last.
json one_ceiling(const json& first, json last) {
  last["before_us"] = first["before_us"];
  const double before = number_or_nan(last["before_us"]), after = number_or_nan(last["after_us"]);
  if (const double drift = std::abs(after - before) / before; std::isfinite(drift)) {
    last["drift_percent"] = 100 * drift;
    last["marked"] = drift > largest_drift;
  }
  return last;
}

}  // namespace

unfinished_run::unfinished_run(fs::path results, const fs::path& samples)
    : path_(std::move(results)), file_(read_json(path_)) {
  bool sound = file_.is_object() && file_.value("schema", json()) == "rungs.results/1" &&
               file_.value("complete", json()).is_boolean() && file_.value("context", json()).is_object();
  for (const char* text : {"run", "gpu", "commit"}) sound = sound && file_.value(text, json()).is_string();
  for (const char* list : {"arguments", "rows", "skipped", "twins", "ceilings", "floors"})
    sound = sound && file_.value(list, json()).is_array();
  if (!sound) throw usage_error(to_call_again + path_.string() + " is no file of results (rungs.results/1)");
  if (json kept = read_packed_json(samples); kept.is_object() && kept.value("run", json()) == file_["run"])
    samples_ = kept["rows"];
}

void unfinished_run::must_be_of(const std::string& gpu, const std::string& commit, const json& device,
                                const json& versions) const {
  const auto same = [&](const std::string& what, const json& there, const json& here) {
    if (there == here) return;
    const auto told = [](const json& value) {
      return value.is_null() ? "none" : value.is_string() ? value.get<std::string>() : value.dump();
    };
    throw usage_error(to_call_again + path_.string() + " was measured with " + what + " " + told(there) +
                      ", not with " + told(here) + "; begin a new run");
  };
  same("the GPU", file_["gpu"], gpu);
  same("the commit", file_["commit"], commit);
  const json& context = file_["context"];
  const json there = context.value("device", json()), built = context.value("versions", json());
  // Older files do not tell the card.
  if (there.is_object() && there.contains("card"))
    same("the card", there["card"], device.is_object() ? device["card"] : json());
  for (const auto& [name, value] : versions.items()) {
    if (name == "program" && !built.contains(name)) continue;
    same("the " + (name == "program" ? "build" : name), built.value(name, json()), value);
  }
}

std::vector<twin_pair> unfinished_run::take_from(run_plan& plan) {
  std::set<std::string> known;
  std::set<std::string> stuck;
  for (const char* list : {"rows", "skipped"})
    for (const json& one : file_[list]) {
      known.insert(case_key(one));
      if (one.value("reason", "").starts_with(did_not_end)) stuck.insert(case_key(one));
    }
  std::map<std::string, const json*> twins;
  for (const json& one : file_["twins"]) twins[cell_key(one)] = &one;

  std::set<std::pair<std::size_t, mode>> lacking;
  for (const bench_case& one : plan.cases)
    if (!known.contains(case_key(one, plan.problems[one.problem]))) lacking.insert({one.problem, one.mode});

  std::vector<twin_pair> kept_twins;
  std::set<std::string> kept;
  run_plan rest{.problems = {}, .cases = {}, .omissions = std::move(plan.omissions)};
  for (std::size_t i = 0; i < plan.problems.size(); ++i) {
    problem about = plan.problems[i];
    for (const mode how : about.modes) {
      if (lacking.contains({i, how})) continue;
      ++num_cells_;
      const auto twin = twins.find(cell_key(identify(about, how)));
      if (twin == twins.end()) continue;
      const json& of = *twin->second;
      kept_twins.push_back(
          {about, how, {number_or_nan(of["ratio"]), number_or_nan(of["low"]), number_or_nan(of["high"])}, 0});
    }
    std::erase_if(about.modes, [&](mode how) { return !lacking.contains({i, how}); });
    about.contenders.clear();
    for (bench_case& one : plan.cases) {
      if (one.problem != i) continue;
      if (!lacking.contains({i, one.mode}) || stuck.contains(case_key(one, plan.problems[i]))) {
        kept.insert(case_key(one, plan.problems[i]));
        continue;
      }
      if (std::ranges::count(about.contenders, one.record) == 0) about.contenders.push_back(one.record);
      rest.cases.push_back(one);
      rest.cases.back().problem = rest.problems.size();
    }
    if (!about.contenders.empty()) rest.problems.push_back(std::move(about));
  }
  plan = std::move(rest);
  for (const json& one : file_["rows"])
    if (kept.contains(case_key(one))) rows_.push_back(one);
  for (const json& one : file_["skipped"])
    if (kept.contains(case_key(one))) skipped_.push_back(one);
  return kept_twins;
}

bool unfinished_run::any_wrong() const {
  return std::ranges::any_of(rows_, [](const json& one) {
    return (one.value("verified", "") != "yes" && !one.contains("fault")) || one.value("implausible", false);
  });
}

json unfinished_run::united_with(json later) const {
  std::map<std::string, double> floors;
  for (const json& one : later["twins"]) floors[cell_key(one)] = number_or_nan(one["noise_floor"]);
  json rows = rows_;
  for (json& one : rows) {
    const auto floor = floors.find(cell_key(one));
    if (floor == floors.end() || one.value("speedup_over_cub", json()).is_null()) continue;
    const ratio speedup{number_or_nan(one["speedup_over_cub"]), number_or_nan(one["speedup_low"]),
                        number_or_nan(one["speedup_high"])};
    one["verdict"] = std::string(verdict(speedup, floor->second));
  }
  rows.insert(rows.end(), later["rows"].begin(), later["rows"].end());
  later["rows"] = std::move(rows);
  later["skipped"].insert(later["skipped"].end(), skipped_.begin(), skipped_.end());
  later["ceilings"] = joined(file_["ceilings"], later["ceilings"], one_ceiling);
  later["floors"] = joined(file_["floors"], later["floors"], [](const json&, const json& last) { return last; });
  later["seconds"] = file_.value("seconds", 0.0) + later["seconds"].get<double>();
  const json& before = file_["context"];
  json& context = later["context"];
  context["environment"]["before"] = before.value("environment", json::object()).value("before", json());
  for (const json& one : before.value("banners", json::array()))
    if (std::ranges::count(context["banners"], one) == 0) context["banners"].push_back(one);
  json times = before.value("resumed", json::array());
  times.insert(times.end(), context["resumed"].begin(), context["resumed"].end());
  context["resumed"] = std::move(times);
  return later;
}

json unfinished_run::samples_united_with(json later) const {
  json all = json::array();
  std::set<std::string> again;
  const auto name = [](const json& one) { return key_of(one, {"case", "twin"}); };
  for (const json& one : later["rows"]) again.insert(name(one));
  for (const json& one : samples_)
    if (!again.contains(name(one))) all.push_back(one);
  all.insert(all.end(), later["rows"].begin(), later["rows"].end());
  later["rows"] = std::move(all);
  return later;
}

std::string program_fingerprint() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (file < 0 || fstat(file, &about) != 0) return "unknown";
  const auto bytes = static_cast<std::size_t>(about.st_size);
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return "unknown";
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash(mapped, bytes)));
  munmap(mapped, bytes);
  return text;
}

}  // namespace rungs::bench
