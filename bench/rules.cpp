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

using json = nlohmann::json;
using condition = std::function<bool(const cell&)>;

struct rule {
  std::vector<condition> conditions;
  std::vector<std::size_t> sizes;
  std::vector<mode> modes;
  int order = 0;
  bool fits(const cell& of) const {
    return std::ranges::all_of(conditions, [&](const condition& each) { return each(of); });
  }
};

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

bool is_basic(const cell& of) {
  return of.input == of.accumulator && (of.input == catalog::scalar::f32 || of.input == catalog::scalar::i32);
}

condition condition_of(const std::string& key, const json& value) {
  if (key == "operations")
    return
        [=](const cell& of) { return contains(value, name(of.operation)) || contains(value, group_of(of.operation)); };
  if (key == "operators") return [=](const cell& of) { return contains(value, name(of.combine)); };
  if (key == "inputs") return [=](const cell& of) { return contains(value, name(of.input)); };
  if (key == "distributions") return [=](const cell& of) { return contains(value, name(of.distribution)); };
  if (key == "basic") return [is = value.get<bool>()](const cell& of) { return is_basic(of) == is; };
  if (key == "host") return [is = value.get<bool>()](const cell& of) { return of.on_host == is; };
  if (key == "held")
    return [is = value.get<bool>()](const cell& of) { return holds(of.input, of.shape["bins"]) == is; };
  if (key == "most_n") return [most = value.get<std::size_t>()](const cell& of) { return of.num_items <= most; };
  if (key != "n" && key != "bins" && key != "addresses" && key != "blocks" && key != "offset")
    throw std::logic_error("suite.json: unknown key '" + key + "'");
  return [=, wanted = numbers_in(value)](const cell& of) {
    return std::ranges::count(wanted, key == "n" ? of.num_items : of.shape[key]) > 0;
  };
}

mode mode_named(const std::string& text) {
  for (const mode each : {mode::cold, mode::warm, mode::graph})
    if (name(each) == text) return each;
  throw std::logic_error("suite.json: unknown mode '" + text + "'");
}

struct suite {
  std::map<std::string, std::vector<rule>, std::less<>> tables;
  std::map<std::string, std::vector<std::size_t>, std::less<>> lists;
};

suite read() {
  suite all;
  const json text = json::parse(suite_text, nullptr, true, true);  // with comments
  for (const auto& [name, content] : text.items()) {
    if (content.empty() || !content.front().is_object()) {
      all.lists[name] = numbers_in(content);
      continue;
    }
    for (const json& each : content) {
      rule one;
      for (const auto& [key, value] : each.items()) {
        if (key == "sizes")
          one.sizes = numbers_in(value);
        else if (key == "modes")
          for (const json& mode : value) one.modes.push_back(mode_named(mode));
        else if (key == "order")
          one.order = value;
        else
          one.conditions.push_back(condition_of(key, value));
      }
      all.tables[name].push_back(std::move(one));
    }
  }
  return all;
}

const suite& the_suite() {
  static const suite all = read();
  return all;
}

const rule* first_that_fits(std::string_view table, const cell& of) {
  const auto& rules = the_suite().tables.find(table)->second;
  const auto found = std::ranges::find_if(rules, [&](const rule& each) { return each.fits(of); });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::vector<std::size_t>> sizes(std::string_view table, const cell& of) {
  const rule* const found = first_that_fits(table, of);
  return found == nullptr ? std::nullopt : std::optional(found->sizes);
}
std::vector<mode> modes(std::string_view table, const cell& of) { return first_that_fits(table, of)->modes; }
int order(const cell& of) { return first_that_fits("order", of)->order; }
bool wants_every_rung(const cell& of) { return first_that_fits("every_rung", of) != nullptr; }
const std::vector<std::size_t>& numbers(std::string_view list) { return the_suite().lists.find(list)->second; }

bool holds(catalog::scalar type, std::size_t bins) {
  const std::size_t size = catalog::size_of(type);
  return bins <= (type == catalog::scalar::f16 ? 2048u : size == 1 ? 256u : size == 2 ? 65536u : most_bins);
}

}  // namespace rungs::bench::rules
