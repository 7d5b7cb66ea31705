#include "tables.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "sizes.hpp"

namespace rungs::bench {
namespace {

const std::vector<std::string> columns{"family",
                                       "rung",
                                       "operation",
                                       "operator",
                                       "input_type",
                                       "accumulator_type",
                                       "output_type",
                                       "items",
                                       "shape",
                                       "distribution",
                                       "mode",
                                       "median_us",
                                       "low_us",
                                       "high_us",
                                       "samples",
                                       "set_aside",
                                       "bytes",
                                       "gb_per_s",
                                       "percent_of_ceiling",
                                       "percent_of_peak",
                                       "speedup_over_cub",
                                       "speedup_low",
                                       "speedup_high",
                                       "verdict",
                                       "verified",
                                       "error",
                                       "repeatable",
                                       "kernels",
                                       "workspace_bytes",
                                       "workspace_contract",
                                       "gpu",
                                       "commit",
                                       "run"};

std::vector<const json*> rows_of(const json& file) {
  std::vector<const json*> rows;
  for (const json& row : file["rows"])
    if (!row.value("twin", false)) rows.push_back(&row);
  return rows;
}

bool any_has(const std::vector<const json*>& rows, const char* column) {
  return std::ranges::any_of(rows, [&](const json* row) { return row->contains(column); });
}

// Names hold neither quotes nor commas nor ends of lines; what was wrong with a row is no column.
std::string plain(const json& value) {
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
}

std::string fixed(const json& row, const char* column, const char* format, double factor = 1) {
  const json value = row.value(column, json());
  if (!value.is_number()) return "";
  char text[48];
  std::snprintf(text, sizeof text, format, factor * value.get<double>());
  return text;
}

// Three digits or more, as many as a reader takes in.
std::string short_number(const json& row, const char* column) {
  const json value = row.value(column, json());
  const double number = value.is_number() ? value.get<double>() : 0;
  return fixed(row, column, number < 10 ? "%.3f" : number < 1000 ? "%.1f" : "%.0f");
}

std::string spread(const json& row) {
  if (!row["median_us"].is_number() || row["median_us"] == 0) return "";
  char text[48];
  std::snprintf(text, sizeof text, "%.2f",
                50 * (row["high_us"].get<double>() - row["low_us"].get<double>()) / row["median_us"].get<double>());
  return text;
}

std::string heading(const json& row) {
  std::string text = row["operation"];
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += ", " + part;
  };
  add(row["operator"]);
  const std::string input = row["input_type"], accumulator = row["accumulator_type"];
  add(accumulator.empty() || accumulator == input ? input : input + ":" + accumulator);
  add(row["shape"]);
  if (const std::string shape = row["shape"]; !shape.empty()) add(row["distribution"]);
  add(row["mode"]);
  return text;
}

std::string line(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + cell + " |";
  return text + "\n";
}

std::string name_of_gpu(const json& file) {
  const json device = file["context"].value("device", json());
  return device.is_object() ? plain(device.value("name", json())) : plain(file["gpu"]);
}

}  // namespace

std::string to_csv(const json& file) {
  const auto rows = rows_of(file);
  std::vector<std::string> all = columns;
  if (any_has(rows, "energy_uj")) all.push_back("energy_uj");
  std::string text;
  const auto add = [&](const auto& cell_of) {
    for (std::size_t i = 0; i < all.size(); ++i) text += (i == 0 ? "" : ",") + cell_of(all[i]);
    text += "\n";
  };
  add([](const std::string& column) { return column; });
  for (const json* row : rows) add([&](const std::string& column) { return plain(row->value(column, json())); });
  return text;
}

std::string to_markdown(const json& file) {
  const auto rows = rows_of(file);
  const bool energy = any_has(rows, "energy_uj");
  std::vector<std::string> header{"n", "variant", "median us", "+- %", "GB/s", "% of ceiling", "CUB / this", "verdict"};
  std::vector<std::string> rule{"--:", "---", "--:", "--:", "--:", "--:", "--:", "---"};
  if (energy) {
    header.push_back("uJ a call");
    rule.push_back("--:");
  }
  std::string text = "# " + name_of_gpu(file) + ", run " + plain(file["run"]) + "\n";
  if (file["complete"] != true) text += "\nThe run ended before every case was sampled.\n";
  for (const json& banner : file["context"].value("banners", json::array())) text += "\nNote: " + plain(banner) + ".\n";
  std::vector<std::pair<std::string, std::vector<const json*>>> sections;
  std::map<std::string, std::size_t> places;
  for (const json* row : rows) {
    const auto [place, is_new] = places.emplace(heading(*row), sections.size());
    if (is_new) sections.push_back({place->first, {}});
    sections[place->second].second.push_back(row);
  }
  for (auto& [title, own] : sections) {
    std::ranges::stable_sort(own, {}, [](const json* row) { return row->value("items", std::size_t{}); });
    text += "\n## " + title + "\n\n" + line(header) + line(rule);
    for (const json* row : own) {
      const bool timed = (*row)["median_us"].is_number();
      std::vector<std::string> cells{format_size((*row)["items"]),
                                     plain((*row)["family"]) + "/" + plain((*row)["rung"]),
                                     timed ? short_number(*row, "median_us") : "WRONG",
                                     spread(*row),
                                     short_number(*row, "gb_per_s"),
                                     fixed(*row, "percent_of_ceiling", "%.1f"),
                                     fixed(*row, "speedup_over_cub", "%.3f"),
                                     plain((*row)["verdict"])};
      if (energy) cells.push_back(short_number(*row, "energy_uj"));
      text += line(cells);
    }
  }
  return text;
}

}  // namespace rungs::bench
