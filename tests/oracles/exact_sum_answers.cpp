// Answers for exact_sum_check.py: a case a line on standard input, "<sum or dot> <format of the items> <format of the
// result> <items' bits>...", a dot product's in pairs; the bits of the result a line on standard output.
#include <cstdint>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "oracles/exact_sum.hpp"

namespace {

rungs::tests::float_format format_by_name(const std::string& name) {
  if (name == "f16") return rungs::tests::f16_format;
  if (name == "bf16") return rungs::tests::bf16_format;
  if (name == "f32") return rungs::tests::f32_format;
  if (name == "f64") return rungs::tests::f64_format;
  throw std::invalid_argument("no format: " + name);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string operation, of_name, to_name;
    words >> operation >> of_name >> to_name >> std::hex;
    const auto of = format_by_name(of_name), to = format_by_name(to_name);
    rungs::tests::exact_total total;
    for (std::uint64_t a, b; words >> a;) {
      if (operation == "sum")
        total.add(of, a);
      else if (words >> b)
        total.add_product(of, a, b);
    }
    std::cout << std::hex << total.rounded(to) << '\n';
  }
}
