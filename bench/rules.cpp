#include "rules.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "planner.hpp"
#include "sizes.hpp"
#include "suite_text.hpp"

namespace rungs::bench::rules {
namespace {

using json = nlohmann::ordered_json;
using condition = std::function<bool(const problem&)>;

struct rule {
  std::vector<condition> conditions;
  json decision;  // what is not a condition: "sizes", "modes", "shapes" or "order"
  bool fits(const problem& of) const {
    return std::ranges::all_of(conditions, [&](const condition& each) { return each(of); });
  }
};

// It lives as long as the program: shapes refer to its keys.
const json& suite() {
  static const json all = json::parse(suite_text, nullptr, true, true);  // with comments
  return all;
}

std::vector<std::size_t> numbers_in(const json& list) {
  std::vector<std::size_t> numbers;
  for (const json& each : list) {
    if (each.is_number()) {
      numbers.push_back(each.get<std::size_t>());
      continue;
    }
    const std::string text = each.get<std::string>();
    const int step = text == "powers" ? 1 : text == "fourth" ? 2 : 0;
    if (step == 0) numbers.push_back(parse_size(text));
    for (int exponent = 10; step > 0 && exponent <= 30; exponent += step) numbers.push_back(std::size_t{1} << exponent);
  }
  return numbers;
}

bool contains(const json& names, std::string_view name) {
  return std::ranges::any_of(names, [&](const json& each) { return each.get_ref<const std::string&>() == name; });
}

std::string_view group_of(catalog::operation operation) {
  if (operation == catalog::operation::reduce || catalog::is_scan(operation)) return "flat";
  return catalog::is_histogram(operation) ? "histograms" : catalog::is_chain(operation) ? "chains" : "";
}

bool is_basic(const problem& of) {
  return of.input_type == of.accumulator_type &&
         (of.input_type == catalog::scalar::f32 || of.input_type == catalog::scalar::i32);
}

// Whether samples of the type tell so many bins apart.
bool holds(catalog::scalar type, std::size_t bins) {
  const std::size_t size = catalog::size_of(type);
  return bins <= (type == catalog::scalar::f16 ? 2048u : size == 1 ? 256u : size == 2 ? 65536u : most_bins);
}

condition condition_of(const std::string& key, const json& value) {
  if (key == "operations")
    return [=](const problem& of) {
      return contains(value, name(of.operation)) || contains(value, group_of(of.operation));
    };
  if (key == "operators") return [=](const problem& of) { return contains(value, name(of.op)); };
  if (key == "inputs") return [=](const problem& of) { return contains(value, name(of.input_type)); };
  if (key == "distributions") return [=](const problem& of) { return contains(value, name(of.distribution)); };
  if (key == "basic") return [is = value.get<bool>()](const problem& of) { return is_basic(of) == is; };
  if (key == "host") return [is = value.get<bool>()](const problem& of) { return of.on_host == is; };
  if (key == "held")
    return [is = value.get<bool>()](const problem& of) { return holds(of.input_type, of.shape["bins"]) == is; };
  if (key == "most_n") return [most = value.get<std::size_t>()](const problem& of) { return of.num_items <= most; };
  if (key != "n" && key != "bins" && key != "addresses" && key != "blocks" && key != "rows" && key != "percent" &&
      key != "k" && key != "offset")
    throw std::logic_error("suite.json: unknown key '" + key + "'");
  return [=, wanted = numbers_in(value)](const problem& of) {
    return std::ranges::count(wanted, key == "n" ? of.num_items : of.shape[key]) > 0;
  };
}

using tables = std::map<std::string, std::vector<rule>, std::less<>>;

tables read() {
  tables all;
  for (const auto& [name, rules] : suite().items()) {
    if (name == "ladder") continue;
    for (const json& each : rules) {
      rule& one = all[name].emplace_back();
      for (const auto& [key, value] : each.items()) {
        if (key == "sizes" || key == "modes" || key == "shapes" || key == "order")
          one.decision = value;
        else
          one.conditions.push_back(condition_of(key, value));
      }
    }
  }
  return all;
}

const rule* first_that_fits(const std::string& table, const problem& of) {
  static const tables all = read();
  const auto rules = all.find(table);
  if (rules == all.end()) return nullptr;
  const auto found = std::ranges::find_if(rules->second, [&](const rule& each) { return each.fits(of); });
  return found == rules->second.end() ? nullptr : &*found;
}

const json& decide(const std::string& plan, const char* what, const problem& of) {
  static const json nothing = json::array();
  const rule* found = plan.empty() ? nullptr : first_that_fits(plan + "_" + what, of);
  if (found == nullptr) found = first_that_fits(what, of);
  return found == nullptr ? nothing : found->decision;
}

// The shapes of a line of axes, each with some numbers: the last axis changes first. A shape does not tell of zeros.
std::vector<shape> combined(const json& axes, std::size_t multiprocessors) {
  std::vector<shape> all{{}};
  for (const auto& [axis, numbers] : axes.items()) {
    const bool by_chip = axis == "blocks_per_multiprocessor";
    std::vector<shape> longer;
    for (const shape& one : all) {
      for (const std::size_t number : numbers_in(numbers)) {
        longer.push_back(one);
        if (by_chip)
          longer.back().dimensions.push_back({"blocks", number * multiprocessors});
        else if (number > 0)
          longer.back().dimensions.push_back({axis, number});
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

std::vector<std::size_t> sizes(const std::string& plan, const problem& of) {
  return numbers_in(decide(plan, "sizes", of));
}

std::vector<mode> modes(const std::string& plan, const problem& of) {
  std::vector<mode> modes;
  const json& names = decide(plan, "modes", of);
  for (const mode each : all_modes)
    if (contains(names, name(each))) modes.push_back(each);
  return modes;
}

std::vector<shape> shapes(const std::string& plan, const problem& of, std::size_t multiprocessors) {
  std::vector<shape> all;
  for (const json& axes : decide(plan, "shapes", of))
    for (const shape& one : combined(axes, multiprocessors))
      if (std::ranges::count(all, one) == 0) all.push_back(one);
  return all;
}

int order(const problem& of) { return decide("", "order", of); }
bool wants_every_rung(const problem& of) { return first_that_fits("every_rung", of) != nullptr; }

const std::vector<std::size_t>& ladder() {
  static const auto sizes = numbers_in(suite()["ladder"]);
  return sizes;
}

}  // namespace rungs::bench::rules
