#include "record/gpu_record.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

namespace rungs::tests::record {

using nlohmann::ordered_json;

std::string identity::name() const {
  std::string types = input_type;
  if (accumulator_type != input_type && !accumulator_type.empty()) types += '_' + accumulator_type;
  std::string name = family + '/' + ladder + '/' + rung + '/';
  if (operation != "reduce") name += operation + '/';
  if (!op.empty()) name += op + '/';
  return name + types;
}

std::string to_json(const lines& all) {
  std::string text = "{\"schema\": \"rungs.gpu_record/1\", \"records\": [";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const line& l = all[i];
    ordered_json entry{{"family", l.what.family},
                       {"ladder", l.what.ladder},
                       {"rung", l.what.rung},
                       {"operation", l.what.operation},
                       {"operator", l.what.op},
                       {"input_type", l.what.input_type},
                       {"accumulator_type", l.what.accumulator_type},
                       {"hash", l.hash},
                       {"outcome", l.outcome},
                       {"cases", l.cases},
                       {"gpu", l.where.gpu},
                       {"driver", l.where.driver},
                       {"toolkit", l.where.toolkit}};
    text += (i == 0 ? "\n" : ",\n") + entry.dump();
  }
  return text + "\n]}\n";
}

lines from_json(const std::string& text, const std::string& file_name) {
  lines all;
  try {
    const auto document = ordered_json::parse(text);
    if (document.at("schema") != "rungs.gpu_record/1")
      throw std::runtime_error("unknown schema " + document.at("schema").dump());
    std::set<identity> seen;
    for (const auto& entry : document.at("records")) {
      const auto word = [&](const char* key) { return entry.at(key).get<std::string>(); };
      line l{{word("family"), word("ladder"), word("rung"), word("operation"), word("operator"), word("input_type"),
              word("accumulator_type")},
             word("hash"),
             word("outcome"),
             entry.at("cases").get<int>(),
             {word("gpu"), word("driver"), word("toolkit")}};
      if (l.outcome != "passed" && l.outcome != "pending")
        throw std::runtime_error("outcome '" + l.outcome + "' of " + l.what.name());
      if (l.outcome == "passed" && (l.cases <= 0 || l.where.gpu.empty()))
        throw std::runtime_error(l.what.name() + " passed no cases, or on no GPU");
      if (!seen.insert(l.what).second) throw std::runtime_error(l.what.name() + " is there twice");
      all.push_back(std::move(l));
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(file_name + ": " + error.what());
  }
  return all;
}

lines read(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return from_json(text.str(), file.string());
}

void write(const std::filesystem::path& file, const lines& all) {
  const std::filesystem::path part = file.string() + ".part";
  {
    std::ofstream out(part);
    out << to_json(all);
    out.close();
    if (!out) throw std::runtime_error("cannot write " + part.string());
  }
  std::filesystem::rename(part, file);
}

namespace {

const line* find(const lines& all, const identity& what) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const line& l) { return l.what == what; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

state compare(const lines& all, const std::vector<subject>& now) {
  state s;
  std::set<identity> present;
  for (const subject& it : now) {
    present.insert(it.what);
    const line* const l = find(all, it.what);
    if (l == nullptr)
      s.missing.push_back(it.what.name());
    else if (l->hash != it.hash)
      s.stale.push_back(it.what.name());
    else if (l->outcome == "pending")
      s.pending.push_back(it.what.name());
    else
      ++s.passed;
  }
  for (const line& l : all)
    if (!present.contains(l.what)) s.superfluous.push_back(l.what.name());
  return s;
}

lines with_pending(const lines& all, const std::vector<subject>& now) {
  lines result;
  for (const subject& it : now) {
    const line* const l = find(all, it.what);
    result.push_back(l != nullptr && l->hash == it.hash ? *l : line{it.what, it.hash, "pending", 0, {}});
  }
  return result;
}

lines with_runs(const lines& all, const std::vector<subject>& now, const std::vector<run>& runs, const machine& where) {
  lines result;
  for (const subject& it : now) {
    const line* const old = find(all, it.what);
    const auto ran = std::find_if(runs.begin(), runs.end(), [&](const run& r) { return r.name == it.what.name(); });
    if (ran == runs.end() || ran->skipped) {
      if (old != nullptr) result.push_back(*old);
    } else if (ran->passed) {
      result.push_back({it.what, it.hash, "passed", ran->cases, where});
    } else {
      result.push_back({it.what, it.hash, "pending", 0, {}});
    }
  }
  return result;
}

}  // namespace rungs::tests::record
